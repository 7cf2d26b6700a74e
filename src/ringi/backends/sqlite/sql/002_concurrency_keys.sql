-- At most some jobs with one concurrency key run at once: retries first, and each key gets its turn.
ALTER TABLE jobs ADD COLUMN concurrency_key TEXT;
DROP INDEX jobs_of_kind;
CREATE INDEX jobs_without_key ON jobs (kind, run_at) WHERE concurrency_key IS NULL;
CREATE INDEX jobs_due_with_key ON jobs (kind, run_at) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_by_kind_and_key ON jobs (kind, concurrency_key) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_with_key ON jobs (concurrency_key, (tries = 0), run_at) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_running ON jobs (concurrency_key, claimed_until)
  WHERE concurrency_key IS NOT NULL AND claimed_until IS NOT NULL;
