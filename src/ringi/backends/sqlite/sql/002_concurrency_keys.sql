-- At most some jobs with one concurrency key run at once: retries first, and each key gets its turn.
ALTER TABLE jobs ADD COLUMN concurrency_key TEXT;
CREATE INDEX jobs_without_key ON jobs (kind, run_at) WHERE concurrency_key IS NULL;
CREATE INDEX jobs_with_key ON jobs (concurrency_key, (tries = 0), run_at) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_running ON jobs (concurrency_key, claimed_until)
  WHERE concurrency_key IS NOT NULL AND claimed_until IS NOT NULL;
