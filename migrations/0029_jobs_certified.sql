-- jobs_certificate_due finds what this index was for.
DROP INDEX jobs_certified;
