-- Makes tables append-only, or prevents the deletion of their rows.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE TRIGGER jobs_kept BEFORE DELETE OR TRUNCATE ON jobs EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER ledger_transfers_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER ledger_entries_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER job_events_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON job_events
  EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER event_heads_kept BEFORE DELETE OR TRUNCATE ON event_heads EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER signing_keys_immutable BEFORE DELETE OR TRUNCATE ON signing_keys
  EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER certificates_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON certificates
  EXECUTE FUNCTION refuse_change();
