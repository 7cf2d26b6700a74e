-- Few jobs with one concurrency key run at once: retries first, and each key gets its turn.
ALTER TABLE jobs ADD COLUMN concurrency_key text COLLATE "C";
CREATE INDEX jobs_without_key ON jobs (kind, run_at) WHERE concurrency_key IS NULL;
CREATE INDEX jobs_due_with_key ON jobs (kind, run_at) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_by_kind_and_key ON jobs (kind, concurrency_key) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_with_key ON jobs (concurrency_key, (tries = 0), run_at) WHERE concurrency_key IS NOT NULL;
CREATE INDEX jobs_running ON jobs (concurrency_key, claimed_until)
  WHERE concurrency_key IS NOT NULL AND claimed_until IS NOT NULL;

-- Claims up to `most` due jobs, the first of each lane, and only if no other job of the lane is claimed.
-- One worker at a time: two that look at once could claim two jobs of one lane. Each statement sees what was claimed before.
-- At most `same` of one concurrency key are claimed at once, and none whose key is barred.
-- Servers of the version before claim by the function with four arguments until they are replaced.
CREATE FUNCTION claim_jobs(
  worker text, kinds text[], most integer, seconds double precision, same integer, barred text[]
) RETURNS TABLE (
  key text, kind text, lane text, payload text, tries integer, concurrency_key text
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  now timestamptz := clock_timestamp();
  chosen text[];
  keyed text[];
BEGIN
  IF NOT EXISTS (
    SELECT FROM unnest(kinds) AS each (kind), LATERAL (
      SELECT FROM jobs WHERE jobs.kind = each.kind AND run_at <= now AND (claimed_until IS NULL OR claimed_until <= now) LIMIT 1
    ) AS due
  ) THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ringi claims'), hashtext(current_schema()));
  now := clock_timestamp();
  chosen := ARRAY (
    SELECT first.key FROM unnest(kinds) AS each (kind), LATERAL (
      SELECT due.key, due.run_at FROM jobs AS due
      WHERE due.kind = each.kind AND due.concurrency_key IS NULL AND due.run_at <= now AND (due.claimed_until IS NULL OR due.claimed_until <= now)
      AND NOT EXISTS (
        SELECT FROM jobs AS other WHERE other.lane = due.lane AND other.key <> due.key AND (
          other.claimed_until > now
          OR other.run_at <= now AND other.kind = ANY (kinds) AND (other.run_at, other.key) < (due.run_at, due.key)
        )
      )
      ORDER BY due.run_at LIMIT most
    ) AS first ORDER BY first.run_at LIMIT most
  );
  keyed := ARRAY (
    SELECT each.kind FROM unnest(kinds) AS each (kind) WHERE EXISTS (
      SELECT FROM jobs WHERE jobs.kind = each.kind AND jobs.concurrency_key IS NOT NULL AND jobs.run_at <= now
        AND (jobs.claimed_until IS NULL OR jobs.claimed_until <= now)
    )
  );
  -- Jobs with a concurrency key get the places that are left.
  IF cardinality(chosen) < most AND cardinality(keyed) > 0 THEN
    chosen := chosen || ARRAY (
      WITH RECURSIVE keys (kind, name) AS (
        SELECT each.kind, (
          SELECT jobs.concurrency_key FROM jobs WHERE jobs.kind = each.kind AND jobs.concurrency_key IS NOT NULL
          ORDER BY jobs.concurrency_key LIMIT 1
        ) FROM unnest(keyed) AS each (kind)
        UNION ALL
        SELECT keys.kind, (
          SELECT jobs.concurrency_key FROM jobs WHERE jobs.kind = keys.kind AND jobs.concurrency_key > keys.name
          ORDER BY jobs.concurrency_key LIMIT 1
        ) FROM keys WHERE keys.name IS NOT NULL
      ), running AS (
        SELECT each.name, (
          SELECT count(*) FROM jobs WHERE jobs.concurrency_key = each.name AND claimed_until > now
        ) AS number FROM (SELECT keys.name FROM keys WHERE keys.name IS NOT NULL EXCEPT SELECT unnest(barred)) AS each
      ), found (key, run_at, place) AS (
        SELECT first.key, first.run_at, running.number + row_number() OVER (
          PARTITION BY running.name ORDER BY first.tries = 0, first.run_at, first.key
        ) FROM running, (VALUES (false), (true)) AS turn (is_first), LATERAL (
          SELECT due.key, due.run_at, due.tries FROM jobs AS due
          WHERE running.number < same AND due.concurrency_key = running.name AND (due.tries = 0) = turn.is_first
          AND due.kind = ANY (kinds) AND due.run_at <= now AND (due.claimed_until IS NULL OR due.claimed_until <= now)
          AND NOT EXISTS (
            SELECT FROM jobs AS other WHERE other.lane = due.lane AND other.key <> due.key AND (
              other.claimed_until > now
              OR other.run_at <= now AND other.kind = ANY (kinds) AND (other.run_at, other.key) < (due.run_at, due.key)
            )
          )
          ORDER BY due.run_at LIMIT CASE WHEN (SELECT count(*) FROM running) < most THEN same ELSE 1 END
        ) AS first
      )
      SELECT found.key FROM found WHERE found.place <= same ORDER BY found.place, found.run_at LIMIT most - cardinality(chosen)
    );
  END IF;
  RETURN QUERY UPDATE jobs SET claimed_by = worker, claimed_until = now + make_interval(secs => seconds), tries = jobs.tries + 1
  WHERE jobs.key = ANY (chosen)
    AND jobs.run_at <= now AND (jobs.claimed_until IS NULL OR jobs.claimed_until <= now) -- Its owner may just have renewed it.
  RETURNING jobs.key, jobs.kind, jobs.lane, jobs.payload, jobs.tries, jobs.concurrency_key;
END $$;
