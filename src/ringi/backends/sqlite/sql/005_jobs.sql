-- By kind: what waits for a worker of another kind would be read by each claim.
CREATE INDEX jobs_of_kind ON jobs (kind, run_at);
DROP INDEX jobs_next;
