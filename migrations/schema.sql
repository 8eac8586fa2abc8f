-- The schema after all migrations, written by test/store/schema.test.ts. Read it; never apply it.

CREATE TABLE account_machine_time (
  account_id text NOT NULL,
  served_at timestamp with time zone NOT NULL DEFAULT now(),
  typical_seconds double precision,
  virtual_finish_seconds double precision NOT NULL,
  virtual_start_seconds double precision NOT NULL,
  CONSTRAINT account_machine_time_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT account_machine_time_pkey PRIMARY KEY (account_id)
);

CREATE TABLE accounts (
  approval_status text NOT NULL DEFAULT 'pending'::text,
  closed_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  credits bigint NOT NULL DEFAULT 0,
  id text NOT NULL,
  name text NOT NULL,
  plan text NOT NULL DEFAULT 'standard'::text,
  quotas jsonb NOT NULL DEFAULT '{}'::jsonb,
  retention_days integer NOT NULL DEFAULT 30,
  CONSTRAINT accounts_approval_status_check CHECK ((approval_status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text]))),
  CONSTRAINT accounts_credits_check CHECK ((credits >= 0)),
  CONSTRAINT accounts_id_check CHECK ((id ~ '^acct_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT accounts_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_quotas_check CHECK ((jsonb_typeof(quotas) = 'object'::text)),
  CONSTRAINT accounts_retention_days_check CHECK (((retention_days >= 1) AND (retention_days <= 365)))
);
CREATE INDEX accounts_closed ON public.accounts USING btree (id) WHERE (closed_at IS NOT NULL);
CREATE INDEX accounts_parallel ON public.accounts USING btree (id) WHERE (quotas ? 'parallel_enhancements'::text);
CREATE INDEX accounts_state ON public.accounts USING btree (approval_status, id DESC);

CREATE TABLE api_keys (
  access text NOT NULL DEFAULT 'full'::text,
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone,
  hash bytea NOT NULL,
  id text NOT NULL,
  last_four text NOT NULL,
  last_used_at timestamp with time zone,
  mode text NOT NULL,
  name text NOT NULL DEFAULT ''::text,
  revoked_at timestamp with time zone,
  tier text NOT NULL,
  CONSTRAINT api_keys_access_check CHECK ((access = ANY (ARRAY['full'::text, 'read_only'::text, 'create_only'::text]))),
  CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT api_keys_hash_check CHECK ((octet_length(hash) = 32)),
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_id_check CHECK ((id ~ '^key_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT api_keys_last_four_check CHECK ((length(last_four) = 4)),
  CONSTRAINT api_keys_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT api_keys_name_check CHECK ((length(name) <= 100)),
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_tier_check CHECK ((tier = ANY (ARRAY['standard'::text, 'secure'::text])))
);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account_id);

CREATE TABLE certificates (
  account_id text NOT NULL,
  id text NOT NULL,
  issued_at timestamp with time zone NOT NULL,
  job_id text NOT NULL,
  jws text NOT NULL,
  CONSTRAINT certificates_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT certificates_id_check CHECK ((id ~ '^cert_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT certificates_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT certificates_job_id_key UNIQUE (job_id),
  CONSTRAINT certificates_pkey PRIMARY KEY (id)
);
CREATE INDEX certificates_account ON public.certificates USING btree (account_id, id DESC);
CREATE TRIGGER certificates_immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON public.certificates FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER certificates_issued AFTER INSERT ON public.certificates FOR EACH ROW EXECUTE FUNCTION certificates_issued();

CREATE TABLE console_sessions (
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL,
  id text COLLATE "C" NOT NULL,
  last_seen_at timestamp with time zone NOT NULL DEFAULT now(),
  token_hash bytea NOT NULL,
  user_agent text NOT NULL DEFAULT ''::text,
  user_id text NOT NULL,
  CONSTRAINT console_sessions_id_check CHECK ((id ~ '^sess_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT console_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT console_sessions_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT console_sessions_token_hash_key UNIQUE (token_hash),
  CONSTRAINT console_sessions_user_agent_check CHECK ((length(user_agent) <= 200)),
  CONSTRAINT console_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_users(id)
);
CREATE INDEX console_sessions_expiry ON public.console_sessions USING btree (expires_at);
CREATE INDEX console_sessions_user ON public.console_sessions USING btree (user_id, id DESC);

CREATE TABLE console_users (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  email text NOT NULL,
  id text NOT NULL,
  operator boolean NOT NULL DEFAULT false,
  password text NOT NULL,
  role text NOT NULL DEFAULT 'admin'::text,
  CONSTRAINT console_users_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT console_users_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  CONSTRAINT console_users_id_check CHECK ((id ~ '^user_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT console_users_password_check CHECK ((password ~~ '$argon2id$%'::text)),
  CONSTRAINT console_users_pkey PRIMARY KEY (id),
  CONSTRAINT console_users_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text])))
);
CREATE INDEX console_users_account ON public.console_users USING btree (account_id);
CREATE UNIQUE INDEX console_users_email ON public.console_users USING btree (lower(email));

CREATE TABLE credit_idempotency_keys (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  fingerprint text NOT NULL,
  key text NOT NULL,
  CONSTRAINT credit_idempotency_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT credit_idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
  CONSTRAINT credit_idempotency_keys_pkey PRIMARY KEY (account_id, key)
);

CREATE TABLE event_heads (
  account_id text NOT NULL,
  hash text NOT NULL DEFAULT repeat('0'::text, 64),
  seq bigint NOT NULL,
  CONSTRAINT event_heads_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT event_heads_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT event_heads_pkey PRIMARY KEY (account_id),
  CONSTRAINT event_heads_seq_check CHECK ((seq >= 0))
);
CREATE TRIGGER event_heads_kept BEFORE DELETE OR TRUNCATE ON public.event_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_heads_step BEFORE UPDATE ON public.event_heads FOR EACH ROW EXECUTE FUNCTION event_heads_step();

CREATE TABLE idempotency_keys (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL,
  fingerprint text NOT NULL,
  job_id text,
  key text NOT NULL,
  mode text NOT NULL,
  upload_id text COLLATE "C",
  CONSTRAINT idempotency_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT idempotency_keys_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
  CONSTRAINT idempotency_keys_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT idempotency_keys_of_one CHECK ((num_nonnulls(job_id, upload_id) = 1)),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, mode, key),
  CONSTRAINT idempotency_keys_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX idempotency_keys_expiry ON public.idempotency_keys USING btree (expires_at);
CREATE INDEX idempotency_keys_job ON public.idempotency_keys USING btree (job_id);
CREATE INDEX idempotency_keys_upload ON public.idempotency_keys USING btree (upload_id) WHERE (upload_id IS NOT NULL);

CREATE TABLE invitations (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  created_by text,
  email text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  id text COLLATE "C" NOT NULL,
  role text NOT NULL,
  token_hash bytea NOT NULL,
  CONSTRAINT invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT invitations_created_by_fkey FOREIGN KEY (created_by) REFERENCES console_users(id) ON DELETE CASCADE,
  CONSTRAINT invitations_email_check CHECK (((length(email) >= 3) AND (length(email) <= 254))),
  CONSTRAINT invitations_id_check CHECK ((id ~ '^inv_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text]))),
  CONSTRAINT invitations_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT invitations_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX invitations_account ON public.invitations USING btree (account_id, id DESC);
CREATE INDEX invitations_created_by ON public.invitations USING btree (created_by);
CREATE UNIQUE INDEX invitations_email ON public.invitations USING btree (account_id, lower(email));

CREATE TABLE job_events (
  account_id text NOT NULL,
  at timestamp with time zone NOT NULL,
  data jsonb NOT NULL DEFAULT '{}'::jsonb,
  hash text NOT NULL,
  id text NOT NULL,
  job_id text,
  kind text NOT NULL,
  previous_hash text NOT NULL,
  seq bigint NOT NULL,
  CONSTRAINT job_events_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT job_events_at_check CHECK ((at = date_trunc('milliseconds'::text, at))),
  CONSTRAINT job_events_hash_check CHECK ((hash ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT job_events_id_check CHECK ((id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT job_events_id_key UNIQUE (id),
  CONSTRAINT job_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT job_events_pkey PRIMARY KEY (account_id, seq),
  CONSTRAINT job_events_previous_hash_check CHECK ((previous_hash ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT job_events_seq_check CHECK ((seq > 0))
);
CREATE INDEX job_events_job ON public.job_events USING btree (job_id, seq);
CREATE TRIGGER job_events_immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON public.job_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER job_events_link BEFORE INSERT ON public.job_events FOR EACH ROW EXECUTE FUNCTION job_events_link();

CREATE TABLE job_metadata (
  account_id text NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  mode text NOT NULL,
  pair bytea NOT NULL,
  CONSTRAINT job_metadata_pkey PRIMARY KEY (account_id, mode, pair, job_id)
);

CREATE TABLE job_names (
  account_id text NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  mode text NOT NULL,
  name text NOT NULL,
  CONSTRAINT job_names_pkey PRIMARY KEY (account_id, mode, job_id) INCLUDE (name)
);

CREATE TABLE jobs (
  account_id text NOT NULL,
  applied jsonb,
  attempt integer NOT NULL DEFAULT 0,
  attempt_progress double precision NOT NULL DEFAULT 0,
  certificate_due boolean NOT NULL DEFAULT false,
  crashes integer NOT NULL DEFAULT 0,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  credits_charged bigint NOT NULL,
  credits_refunded bigint NOT NULL DEFAULT 0,
  deleted_at timestamp with time zone,
  deleted_by text,
  device_class text,
  disk_wait_since timestamp with time zone,
  duration_seconds integer NOT NULL,
  enhancements jsonb NOT NULL DEFAULT '{}'::jsonb,
  error_code text,
  error_message text,
  eta_seconds integer,
  expires_at timestamp with time zone NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  file_name text,
  finished_at timestamp with time zone,
  former_leases_expire_at timestamp with time zone,
  id text COLLATE "C" NOT NULL,
  in_one_piece boolean NOT NULL DEFAULT false,
  infrastructure_fault_since timestamp with time zone,
  insufficient_disk_since timestamp with time zone,
  lease_expires_at timestamp with time zone,
  lease_owner text,
  metadata jsonb NOT NULL DEFAULT '{}'::jsonb,
  mode text NOT NULL,
  model text,
  original_key text,
  output jsonb,
  output_key text,
  output_settings jsonb NOT NULL DEFAULT '{}'::jsonb,
  pictures jsonb,
  preview jsonb,
  progress double precision NOT NULL DEFAULT 0,
  resolution text NOT NULL,
  segment_plan text,
  source jsonb,
  started_at timestamp with time zone,
  status text NOT NULL DEFAULT 'queued'::text,
  step text NOT NULL,
  tier text NOT NULL,
  traceparent text,
  unserved_since timestamp with time zone,
  upload_id text,
  video_url text,
  webhook_url text,
  CONSTRAINT jobs_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT jobs_attempt_progress_check CHECK (((attempt_progress >= (0)::double precision) AND (attempt_progress <= (1)::double precision))),
  CONSTRAINT jobs_check CHECK (((credits_refunded >= 0) AND (credits_refunded <= credits_charged))),
  CONSTRAINT jobs_check1 CHECK (((mode = 'live'::text) OR (credits_charged = 0))),
  CONSTRAINT jobs_check2 CHECK (((lease_owner IS NULL) = (lease_expires_at IS NULL))),
  CONSTRAINT jobs_check3 CHECK (((status = 'error'::text) = (error_code IS NOT NULL))),
  CONSTRAINT jobs_check4 CHECK (((status = ANY (ARRAY['done'::text, 'error'::text])) = (finished_at IS NOT NULL))),
  CONSTRAINT jobs_check6 CHECK (((deleted_at IS NULL) = (deleted_by IS NULL))),
  CONSTRAINT jobs_check8 CHECK (((deleted_at IS NULL) OR ((webhook_url IS NULL) AND (metadata = '{}'::jsonb)))),
  CONSTRAINT jobs_credits_charged_check CHECK ((credits_charged >= 0)),
  CONSTRAINT jobs_deleted_by_check CHECK ((deleted_by = ANY (ARRAY['customer'::text, 'retention'::text, 'operator'::text]))),
  CONSTRAINT jobs_device_class_check CHECK ((device_class = ANY (ARRAY['cpu'::text, 'cuda'::text]))),
  CONSTRAINT jobs_duration_seconds_check CHECK (((duration_seconds >= 1) AND (duration_seconds <= 21600))),
  CONSTRAINT jobs_eta_seconds_check CHECK ((eta_seconds >= 0)),
  CONSTRAINT jobs_file_of_upload CHECK (((file_name IS NULL) OR (upload_id IS NOT NULL))),
  CONSTRAINT jobs_forgets_source CHECK (((deleted_at IS NULL) OR ((video_url IS NULL) AND (file_name IS NULL)))),
  CONSTRAINT jobs_has_result CHECK (((status <> 'done'::text) OR (preview IS NOT NULL) OR (output IS NOT NULL))),
  CONSTRAINT jobs_id_check CHECK ((id ~ '^(job|prv)_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT jobs_id_of_preview CHECK (((preview IS NOT NULL) = (id ~~ 'prv\_%'::text))),
  CONSTRAINT jobs_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT jobs_one_source CHECK (((deleted_at IS NOT NULL) OR ((video_url IS NULL) = (upload_id IS NOT NULL)))),
  CONSTRAINT jobs_pkey PRIMARY KEY (id),
  CONSTRAINT jobs_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  CONSTRAINT jobs_resolution_check CHECK ((resolution = ANY (ARRAY['1080p'::text, '4k'::text]))),
  CONSTRAINT jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'error'::text]))),
  CONSTRAINT jobs_step_check CHECK ((step = ANY (ARRAY['ingest'::text, 'enhance'::text, 'segments'::text, 'join'::text, 'test_mode'::text]))),
  CONSTRAINT jobs_tier_check CHECK ((tier = ANY (ARRAY['standard'::text, 'secure'::text]))),
  CONSTRAINT jobs_traceparent_check CHECK ((length(traceparent) <= 128)),
  CONSTRAINT jobs_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES uploads(id)
);
CREATE INDEX jobs_certificate_due ON public.jobs USING btree (deleted_at) WHERE certificate_due;
CREATE INDEX jobs_deleted ON public.jobs USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX jobs_failed ON public.jobs USING btree (finished_at DESC, id DESC) WHERE (status = 'error'::text);
CREATE INDEX jobs_failed_listed ON public.jobs USING btree (account_id, mode, id DESC) WHERE ((status = 'error'::text) AND (deleted_at IS NULL) AND (preview IS NULL));
CREATE INDEX jobs_finished ON public.jobs USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX jobs_leased ON public.jobs USING btree (lease_expires_at) WHERE (lease_expires_at IS NOT NULL);
CREATE INDEX jobs_listed ON public.jobs USING btree (account_id, mode, id DESC) WHERE ((deleted_at IS NULL) AND (preview IS NULL));
CREATE INDEX jobs_open ON public.jobs USING btree (created_at) WHERE ((status = ANY (ARRAY['queued'::text, 'running'::text])) AND (deleted_at IS NULL));
CREATE INDEX jobs_pending_enhancement ON public.jobs USING btree (id) WHERE ((step = ANY (ARRAY['enhance'::text, 'segments'::text, 'join'::text])) AND (status = 'running'::text) AND (deleted_at IS NULL));
CREATE INDEX jobs_previews ON public.jobs USING btree (account_id, mode, id DESC) WHERE ((deleted_at IS NULL) AND (preview IS NOT NULL));
CREATE INDEX jobs_retention ON public.jobs USING btree (expires_at) WHERE (deleted_at IS NULL);
CREATE INDEX jobs_upload ON public.jobs USING btree (upload_id) WHERE (upload_id IS NOT NULL);
CREATE TRIGGER job_metadata_inserted AFTER INSERT ON public.jobs FOR EACH ROW WHEN (((new.preview IS NULL) AND (new.metadata <> '{}'::jsonb))) EXECUTE FUNCTION job_metadata_kept();
CREATE TRIGGER job_metadata_updated AFTER UPDATE OF metadata ON public.jobs FOR EACH ROW WHEN (((new.preview IS NULL) AND (old.metadata IS DISTINCT FROM new.metadata))) EXECUTE FUNCTION job_metadata_kept();
CREATE TRIGGER job_names_deleted AFTER UPDATE OF deleted_at ON public.jobs FOR EACH ROW WHEN (((new.preview IS NULL) AND (old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION job_names_kept();
CREATE TRIGGER job_names_inserted AFTER INSERT ON public.jobs FOR EACH ROW WHEN (((new.preview IS NULL) AND (new.deleted_at IS NULL))) EXECUTE FUNCTION job_names_kept();
CREATE TRIGGER jobs_certificate_due BEFORE UPDATE OF deleted_at ON public.jobs FOR EACH ROW WHEN (((new.tier = 'secure'::text) AND (old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL))) EXECUTE FUNCTION jobs_certificate_due();
CREATE TRIGGER jobs_changed AFTER UPDATE ON public.jobs FOR EACH ROW WHEN (((new.preview IS NULL) AND ((old.status IS DISTINCT FROM new.status) OR (old.progress IS DISTINCT FROM new.progress) OR (old.eta_seconds IS DISTINCT FROM new.eta_seconds) OR (old.deleted_at IS DISTINCT FROM new.deleted_at)))) EXECUTE FUNCTION jobs_changed();
CREATE TRIGGER jobs_kept BEFORE DELETE OR TRUNCATE ON public.jobs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER jobs_move_forward BEFORE UPDATE ON public.jobs FOR EACH ROW EXECUTE FUNCTION jobs_move_forward();

CREATE TABLE ledger_checks (
  checked_at timestamp with time zone,
  checked_transfer_id bigint,
  checked_until timestamp with time zone,
  full_at timestamp with time zone,
  id boolean NOT NULL DEFAULT true,
  started_at timestamp with time zone NOT NULL,
  violations integer,
  CONSTRAINT ledger_checks_check CHECK (((checked_at IS NULL) = (violations IS NULL))),
  CONSTRAINT ledger_checks_check1 CHECK (((checked_transfer_id IS NULL) = (checked_until IS NULL))),
  CONSTRAINT ledger_checks_id_check CHECK (id),
  CONSTRAINT ledger_checks_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_checks_violations_check CHECK ((violations >= 0))
);

CREATE TABLE ledger_entries (
  account_id text,
  amount bigint NOT NULL,
  balance bigint,
  book text NOT NULL,
  transfer_id bigint NOT NULL,
  CONSTRAINT ledger_entries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT ledger_entries_amount_check CHECK ((amount <> 0)),
  CONSTRAINT ledger_entries_balance_check CHECK ((balance >= 0)),
  CONSTRAINT ledger_entries_book_check CHECK ((book = ANY (ARRAY['customer'::text, 'issued'::text, 'revenue'::text]))),
  CONSTRAINT ledger_entries_check CHECK (((book = 'customer'::text) = (account_id IS NOT NULL))),
  CONSTRAINT ledger_entries_check1 CHECK (((book = 'customer'::text) = (balance IS NOT NULL))),
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (transfer_id, book),
  CONSTRAINT ledger_entries_transfer_id_fkey FOREIGN KEY (transfer_id) REFERENCES ledger_transfers(id)
);
CREATE INDEX ledger_entries_account ON public.ledger_entries USING btree (account_id);
CREATE CONSTRAINT TRIGGER ledger_entries_balance AFTER INSERT ON public.ledger_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('transfer_id');
CREATE TRIGGER ledger_entries_immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE ledger_transfers (
  account_id text NOT NULL,
  at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  credits bigint NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  job_id text,
  kind text NOT NULL,
  note text NOT NULL DEFAULT ''::text,
  CONSTRAINT ledger_transfers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT ledger_transfers_check CHECK (((kind = ANY (ARRAY['grant'::text, 'withdrawal'::text])) = (job_id IS NULL))),
  CONSTRAINT ledger_transfers_credits_check CHECK ((credits > 0)),
  CONSTRAINT ledger_transfers_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT ledger_transfers_job_id_kind_key UNIQUE (job_id, kind),
  CONSTRAINT ledger_transfers_kind_check CHECK ((kind = ANY (ARRAY['grant'::text, 'withdrawal'::text, 'charge'::text, 'refund'::text]))),
  CONSTRAINT ledger_transfers_pkey PRIMARY KEY (id)
);
CREATE INDEX ledger_transfers_account ON public.ledger_transfers USING btree (account_id, id);
CREATE INDEX ledger_transfers_day ON public.ledger_transfers USING btree (account_id, at);
CREATE CONSTRAINT TRIGGER ledger_transfers_balance AFTER INSERT ON public.ledger_transfers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transfer_balances('id');
CREATE TRIGGER ledger_transfers_immutable BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE machine_speeds (
  key text NOT NULL,
  measured_at timestamp with time zone NOT NULL DEFAULT now(),
  speeds jsonb NOT NULL,
  CONSTRAINT machine_speeds_pkey PRIMARY KEY (key)
);

CREATE TABLE objects (
  attempt integer NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  destroyed_at timestamp with time zone,
  job_id text NOT NULL,
  key text NOT NULL,
  role text NOT NULL,
  sha256 text,
  size_bytes bigint,
  state text NOT NULL DEFAULT 'pending'::text,
  stored_at timestamp with time zone,
  version text,
  CONSTRAINT objects_check CHECK (((state <> 'stored'::text) OR ((size_bytes IS NOT NULL) AND (sha256 IS NOT NULL) AND (stored_at IS NOT NULL)))),
  CONSTRAINT objects_check1 CHECK (((state = 'destroyed'::text) = (destroyed_at IS NOT NULL))),
  CONSTRAINT objects_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT objects_pkey PRIMARY KEY (key),
  CONSTRAINT objects_role_check CHECK ((role = ANY (ARRAY['original'::text, 'output'::text, 'poster'::text, 'thumbnail'::text, 'segment'::text, 'clip'::text]))),
  CONSTRAINT objects_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT objects_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'stored'::text, 'destroyed'::text])))
);
CREATE INDEX objects_of_job ON public.objects USING btree (job_id);
CREATE INDEX objects_pending ON public.objects USING btree (job_id) WHERE (state = 'pending'::text);
CREATE INDEX objects_present ON public.objects USING btree (job_id) WHERE (state <> 'destroyed'::text);

CREATE TABLE password_links (
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL,
  token_hash bytea NOT NULL,
  user_id text NOT NULL,
  CONSTRAINT password_links_pkey PRIMARY KEY (user_id),
  CONSTRAINT password_links_token_hash_check CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT password_links_token_hash_key UNIQUE (token_hash),
  CONSTRAINT password_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_users(id) ON DELETE CASCADE
);

CREATE UNLOGGED TABLE rate_limits (
  at double precision NOT NULL,
  class text NOT NULL,
  subject text NOT NULL,
  tat double precision NOT NULL,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (subject, class)
);

CREATE TABLE recovery_codes (
  code_hash bytea NOT NULL,
  user_id text NOT NULL,
  CONSTRAINT recovery_codes_code_hash_check CHECK ((octet_length(code_hash) = 32)),
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
  CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES two_factor(user_id) ON DELETE CASCADE
);

CREATE TABLE request_log (
  account_id text NOT NULL,
  at timestamp with time zone NOT NULL,
  duration_ms integer NOT NULL,
  error jsonb,
  id text COLLATE "C" NOT NULL,
  key_id text NOT NULL,
  method text NOT NULL,
  mode text NOT NULL,
  path text NOT NULL,
  request_body jsonb,
  request_id text NOT NULL,
  resource_id text,
  status integer NOT NULL,
  CONSTRAINT request_log_duration_ms_check CHECK ((duration_ms >= 0)),
  CONSTRAINT request_log_id_check CHECK ((id ~ '^log_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT request_log_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT request_log_pkey PRIMARY KEY (id),
  CONSTRAINT request_log_request_id_check CHECK ((length(request_id) <= 128)),
  CONSTRAINT request_log_status_check CHECK (((status >= 100) AND (status <= 599)))
);
CREATE INDEX request_log_account ON public.request_log USING btree (account_id, id DESC);
CREATE INDEX request_log_age ON public.request_log USING btree (at);

CREATE TABLE segments (
  attempt integer NOT NULL DEFAULT 0,
  crashes integer NOT NULL DEFAULT 0,
  device_class text NOT NULL,
  disk_wait_since timestamp with time zone,
  end_seconds double precision NOT NULL,
  engine text,
  failures integer NOT NULL DEFAULT 0,
  frames bigint NOT NULL,
  infrastructure_fault_since timestamp with time zone,
  job_id text NOT NULL,
  lease_expires_at timestamp with time zone,
  lease_owner text,
  moved boolean NOT NULL DEFAULT false,
  number integer NOT NULL,
  object_key text,
  previewed boolean NOT NULL DEFAULT false,
  priority smallint NOT NULL DEFAULT 0,
  progress double precision NOT NULL DEFAULT 0,
  queued boolean NOT NULL DEFAULT true,
  result jsonb,
  sha256 text,
  start_seconds double precision NOT NULL,
  started_at timestamp with time zone,
  state text NOT NULL DEFAULT 'pending'::text,
  CONSTRAINT segments_check CHECK ((end_seconds > start_seconds)),
  CONSTRAINT segments_check1 CHECK (((state = 'running'::text) = (lease_owner IS NOT NULL))),
  CONSTRAINT segments_check2 CHECK (((lease_owner IS NULL) = (lease_expires_at IS NULL))),
  CONSTRAINT segments_check3 CHECK (((state <> 'done'::text) OR ((object_key IS NOT NULL) AND (sha256 IS NOT NULL) AND (result IS NOT NULL)))),
  CONSTRAINT segments_device_class_check CHECK ((device_class = ANY (ARRAY['cpu'::text, 'cuda'::text]))),
  CONSTRAINT segments_frames_check CHECK ((frames > 0)),
  CONSTRAINT segments_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT segments_number_check CHECK ((number >= 0)),
  CONSTRAINT segments_object_key_fkey FOREIGN KEY (object_key) REFERENCES objects(key),
  CONSTRAINT segments_pkey PRIMARY KEY (job_id, number),
  CONSTRAINT segments_progress_check CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
  CONSTRAINT segments_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT segments_start_seconds_check CHECK ((start_seconds >= (0)::double precision)),
  CONSTRAINT segments_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'running'::text, 'done'::text])))
);
CREATE INDEX segments_leased ON public.segments USING btree (lease_expires_at) WHERE (lease_expires_at IS NOT NULL);
CREATE INDEX segments_object ON public.segments USING btree (object_key) WHERE (object_key IS NOT NULL);
CREATE INDEX segments_pending ON public.segments USING btree (job_id) WHERE (state = 'pending'::text);

CREATE TABLE signing_keys (
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  kid text NOT NULL,
  private_jwk bytea NOT NULL,
  public_jwk jsonb NOT NULL,
  retired_at timestamp with time zone,
  CONSTRAINT signing_keys_pkey PRIMARY KEY (kid)
);
CREATE UNIQUE INDEX signing_keys_current ON public.signing_keys USING btree ((true)) WHERE (retired_at IS NULL);
CREATE TRIGGER signing_keys_change BEFORE UPDATE ON public.signing_keys FOR EACH ROW EXECUTE FUNCTION signing_keys_kept();
CREATE TRIGGER signing_keys_immutable BEFORE DELETE OR TRUNCATE ON public.signing_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE two_factor (
  confirmed_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  last_step bigint NOT NULL DEFAULT 0,
  secret bytea NOT NULL,
  user_id text NOT NULL,
  CONSTRAINT two_factor_pkey PRIMARY KEY (user_id),
  CONSTRAINT two_factor_user_id_fkey FOREIGN KEY (user_id) REFERENCES console_users(id) ON DELETE CASCADE
);

CREATE TABLE uploads (
  account_id text NOT NULL,
  completed_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  deleted_at timestamp with time zone,
  deleted_by text,
  destroyed_at timestamp with time zone,
  error_code text,
  expires_at timestamp with time zone NOT NULL,
  file_name text,
  id text COLLATE "C" NOT NULL,
  kept boolean NOT NULL DEFAULT false,
  key text NOT NULL,
  mode text NOT NULL,
  multipart_id text,
  part_sha256 text[],
  part_size_bytes integer NOT NULL,
  sha256 text,
  size_bytes bigint NOT NULL,
  status text NOT NULL DEFAULT 'waiting'::text,
  version text,
  CONSTRAINT uploads_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT uploads_check CHECK (((deleted_at IS NULL) = (deleted_by IS NULL))),
  CONSTRAINT uploads_check1 CHECK (((deleted_at IS NULL) = (file_name IS NOT NULL))),
  CONSTRAINT uploads_check2 CHECK (((status = 'waiting'::text) = (completed_at IS NULL))),
  CONSTRAINT uploads_check3 CHECK (((status = 'failed'::text) = (error_code IS NOT NULL))),
  CONSTRAINT uploads_check4 CHECK (((status <> 'ready'::text) OR (sha256 IS NOT NULL))),
  CONSTRAINT uploads_deleted_by_check CHECK ((deleted_by = ANY (ARRAY['customer'::text, 'retention'::text, 'operator'::text]))),
  CONSTRAINT uploads_error_code_check CHECK ((error_code = 'checksum_mismatch'::text)),
  CONSTRAINT uploads_file_name_check CHECK (((length(file_name) >= 1) AND (length(file_name) <= 255))),
  CONSTRAINT uploads_id_check CHECK ((id ~ '^upl_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT uploads_key_key UNIQUE (key),
  CONSTRAINT uploads_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT uploads_part_size_bytes_check CHECK ((part_size_bytes > 0)),
  CONSTRAINT uploads_pkey PRIMARY KEY (id),
  CONSTRAINT uploads_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  CONSTRAINT uploads_size_bytes_check CHECK ((size_bytes > 0)),
  CONSTRAINT uploads_status_check CHECK ((status = ANY (ARRAY['waiting'::text, 'verifying'::text, 'ready'::text, 'failed'::text])))
);
CREATE INDEX uploads_listed ON public.uploads USING btree (account_id, mode, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX uploads_pending ON public.uploads USING btree (id) WHERE ((destroyed_at IS NULL) AND ((deleted_at IS NOT NULL) OR (status = ANY (ARRAY['verifying'::text, 'failed'::text]))));
CREATE INDEX uploads_present ON public.uploads USING btree (account_id, mode) WHERE (destroyed_at IS NULL);
CREATE INDEX uploads_retention ON public.uploads USING btree (expires_at) WHERE (deleted_at IS NULL);
CREATE INDEX uploads_unkept ON public.uploads USING btree (destroyed_at) WHERE ((destroyed_at IS NOT NULL) AND (NOT kept));

CREATE TABLE webhook_attempts (
  at timestamp with time zone NOT NULL,
  delivery_id text COLLATE "C" NOT NULL,
  duration_ms integer NOT NULL,
  failure text,
  number integer NOT NULL,
  response_body text,
  status integer,
  CONSTRAINT webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id),
  CONSTRAINT webhook_attempts_duration_ms_check CHECK ((duration_ms >= 0)),
  CONSTRAINT webhook_attempts_number_check CHECK ((number > 0)),
  CONSTRAINT webhook_attempts_pkey PRIMARY KEY (delivery_id, number),
  CONSTRAINT webhook_attempts_status_check CHECK (((status >= 100) AND (status <= 599)))
);

CREATE TABLE webhook_deliveries (
  account_id text NOT NULL,
  busy_until timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  endpoint_id text,
  event text NOT NULL,
  failed_attempts integer NOT NULL DEFAULT 0,
  id text COLLATE "C" NOT NULL,
  job_id text,
  next_at timestamp with time zone,
  settled_at timestamp with time zone,
  state text NOT NULL DEFAULT 'pending'::text,
  url text,
  CONSTRAINT webhook_deliveries_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT webhook_deliveries_check CHECK (((state = 'pending'::text) = (next_at IS NOT NULL))),
  CONSTRAINT webhook_deliveries_check1 CHECK (((state = 'pending'::text) = (settled_at IS NULL))),
  CONSTRAINT webhook_deliveries_check2 CHECK (((state <> 'pending'::text) OR (url IS NOT NULL))),
  CONSTRAINT webhook_deliveries_event_check CHECK ((event = ANY (ARRAY['job.completed'::text, 'job.failed'::text]))),
  CONSTRAINT webhook_deliveries_failed_attempts_check CHECK ((failed_attempts >= 0)),
  CONSTRAINT webhook_deliveries_id_check CHECK ((id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT webhook_deliveries_job_id_fkey FOREIGN KEY (job_id) REFERENCES jobs(id),
  CONSTRAINT webhook_deliveries_of_something CHECK (((job_id IS NOT NULL) OR (endpoint_id IS NOT NULL))),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text, 'stopped'::text])))
);
CREATE INDEX webhook_deliveries_account ON public.webhook_deliveries USING btree (account_id, id DESC);
CREATE INDEX webhook_deliveries_busy ON public.webhook_deliveries USING btree (account_id) WHERE (busy_until IS NOT NULL);
CREATE INDEX webhook_deliveries_job ON public.webhook_deliveries USING btree (job_id);
CREATE INDEX webhook_deliveries_of_state ON public.webhook_deliveries USING btree (account_id, state, id DESC);
CREATE INDEX webhook_deliveries_pending ON public.webhook_deliveries USING btree (next_at) WHERE (state = 'pending'::text);
CREATE INDEX webhook_deliveries_settled ON public.webhook_deliveries USING btree (settled_at) WHERE (settled_at IS NOT NULL);
CREATE UNIQUE INDEX webhook_deliveries_of_endpoint ON public.webhook_deliveries USING btree (endpoint_id, job_id, event) WHERE (endpoint_id IS NOT NULL);
CREATE UNIQUE INDEX webhook_deliveries_of_job ON public.webhook_deliveries USING btree (job_id, event) WHERE (endpoint_id IS NULL);

CREATE TABLE webhook_endpoints (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  deleted_at timestamp with time zone,
  description text NOT NULL DEFAULT ''::text,
  enabled boolean NOT NULL DEFAULT true,
  events text[] NOT NULL,
  id text COLLATE "C" NOT NULL,
  mode text NOT NULL,
  url text NOT NULL,
  CONSTRAINT webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT webhook_endpoints_description_check CHECK ((length(description) <= 200)),
  CONSTRAINT webhook_endpoints_events_check CHECK (((cardinality(events) > 0) AND (events <@ ARRAY['job.completed'::text, 'job.failed'::text]))),
  CONSTRAINT webhook_endpoints_id_check CHECK ((id ~ '^hook_[0-9a-hjkmnp-tv-z]{26}$'::text)),
  CONSTRAINT webhook_endpoints_mode_check CHECK ((mode = ANY (ARRAY['test'::text, 'live'::text]))),
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_endpoints_account ON public.webhook_endpoints USING btree (account_id, mode, id DESC);
CREATE INDEX webhook_endpoints_deleted ON public.webhook_endpoints USING btree (id) WHERE (deleted_at IS NOT NULL);

CREATE TABLE webhook_secrets (
  account_id text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  endpoint_id text,
  expires_at timestamp with time zone,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  secret bytea NOT NULL,
  switched_at timestamp with time zone,
  CONSTRAINT webhook_secrets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT webhook_secrets_check CHECK (((switched_at IS NULL) OR (expires_at IS NOT NULL))),
  CONSTRAINT webhook_secrets_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE,
  CONSTRAINT webhook_secrets_pkey PRIMARY KEY (id)
);
CREATE INDEX webhook_secrets_account ON public.webhook_secrets USING btree (account_id);
CREATE INDEX webhook_secrets_endpoint ON public.webhook_secrets USING btree (endpoint_id) WHERE (endpoint_id IS NOT NULL);
CREATE UNIQUE INDEX webhook_secrets_current ON public.webhook_secrets USING btree (account_id) WHERE ((expires_at IS NULL) AND (endpoint_id IS NULL));
CREATE UNIQUE INDEX webhook_secrets_of_endpoint ON public.webhook_secrets USING btree (endpoint_id) WHERE ((expires_at IS NULL) AND (endpoint_id IS NOT NULL));

CREATE TABLE workers (
  concurrency integer,
  device_classes text[] NOT NULL DEFAULT '{}'::text[],
  devices jsonb NOT NULL DEFAULT '[]'::jsonb,
  engine text,
  heartbeat_at timestamp with time zone NOT NULL DEFAULT now(),
  host text,
  id text NOT NULL,
  pools text[] NOT NULL DEFAULT '{}'::text[],
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT workers_concurrency_check CHECK ((concurrency >= 0)),
  CONSTRAINT workers_pkey PRIMARY KEY (id)
);

-- FUNCTION append_event(event_account text, event_id text, event_kind text, event_job text, event_data text) RETURNS job_events
-- FUNCTION certificates_issued() RETURNS trigger
-- FUNCTION create_job(wanted jsonb, idempotency jsonb, queued jsonb, event_id text, event_data text) RETURNS SETOF jobs
-- FUNCTION event_heads_step() RETURNS trigger
-- FUNCTION job_events_link() RETURNS trigger
-- FUNCTION job_metadata_kept() RETURNS trigger
-- FUNCTION job_name(file_name text, video_url text) RETURNS text
-- FUNCTION job_names_kept() RETURNS trigger
-- FUNCTION jobs_certificate_due() RETURNS trigger
-- FUNCTION jobs_changed() RETURNS trigger
-- FUNCTION jobs_move_forward() RETURNS trigger
-- FUNCTION ledger_transfer_balances() RETURNS trigger
-- FUNCTION lock_rate_limit(quota_subject text, quota_class text, window_s double precision) RETURNS rate_limits
-- FUNCTION lower_case(value text) RETURNS text
-- FUNCTION percent_decoded(segment text) RETURNS text
-- FUNCTION post_transfer(kind text, account text, job text, amount bigint, note text) RETURNS bigint
-- FUNCTION refuse_change() RETURNS trigger
-- FUNCTION search_text(value text) RETURNS text
-- FUNCTION signing_keys_kept() RETURNS trigger
-- FUNCTION take_rate_limit(key text, account text, quota_class text, window_s double precision, call_s double precision, account_call_s double precision, wanted integer, OUT allowed integer, OUT full_in_s double precision, OUT account_full_in_s double precision) RETURNS record
-- FUNCTION worker_demand(step_tasks text[], host_prefix text DEFAULT ''::text, per_account integer DEFAULT 0) RETURNS bigint
