CREATE INDEX jobs_certificate_due ON jobs (deleted_at) WHERE certificate_due;
