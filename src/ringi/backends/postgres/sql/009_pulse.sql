-- By kind: what waits for a worker of another kind would be read by each claim.
CREATE INDEX jobs_of_kind ON jobs (kind, run_at);
DROP INDEX jobs_next;

-- As before, but each kind is read by its own index.
CREATE OR REPLACE FUNCTION claim_jobs(worker text, kinds text[], most integer, seconds double precision) RETURNS TABLE (
  key text, kind text, lane text, payload text, tries integer
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  now timestamptz := clock_timestamp();
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
  RETURN QUERY UPDATE jobs SET claimed_by = worker, claimed_until = now + make_interval(secs => seconds), tries = jobs.tries + 1
  WHERE jobs.key IN (
    SELECT first.key FROM unnest(kinds) AS each (kind), LATERAL (
      SELECT due.key, due.run_at FROM jobs AS due
      WHERE due.kind = each.kind AND due.run_at <= now AND (due.claimed_until IS NULL OR due.claimed_until <= now)
        AND NOT EXISTS (
          SELECT FROM jobs AS other WHERE other.lane = due.lane AND other.key <> due.key AND (
            other.claimed_until > now
            OR other.run_at <= now AND other.kind = ANY (kinds) AND (other.run_at, other.key) < (due.run_at, due.key)
          )
        )
      ORDER BY due.run_at LIMIT most
    ) AS first ORDER BY first.run_at LIMIT most
  ) AND jobs.run_at <= now AND (jobs.claimed_until IS NULL OR jobs.claimed_until <= now) -- Its owner may just have renewed it.
  RETURNING jobs.key, jobs.kind, jobs.lane, jobs.payload, jobs.tries;
END $$;

-- All that a process must look for at intervals, in one statement: its notifications may have been lost.
-- By the indexes: what was moved away stays in its table until a vacuum, and each call would read past all of it.
CREATE FUNCTION pulse(is_leader boolean) RETURNS TABLE (
  last_event bigint, has_unsealed boolean, has_jobs boolean, has_overdue boolean, last_revocation integer,
  has_stranded boolean
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  now CONSTANT bigint := extract(epoch FROM clock_timestamp()) * 1000000;
BEGIN
  RETURN QUERY SELECT
    (SELECT max(number) FROM events),
    EXISTS (SELECT FROM unsealed WHERE seq > 0),
    EXISTS (
      WITH RECURSIVE each (kind) AS (
        (SELECT kind FROM jobs ORDER BY kind LIMIT 1)
        UNION ALL
        SELECT (SELECT kind FROM jobs WHERE kind > each.kind ORDER BY kind LIMIT 1) FROM each WHERE each.kind IS NOT NULL
      )
      SELECT FROM each, LATERAL (
        SELECT FROM jobs WHERE kind = each.kind AND run_at <= clock_timestamp()
          AND (claimed_until IS NULL OR claimed_until <= clock_timestamp()) LIMIT 1
      ) AS due
    ),
    EXISTS (SELECT FROM requests WHERE expires_at <= now),
    (SELECT last FROM stream_heads WHERE tenant = '' AND id = 'revoked'),
    is_leader AND (
      EXISTS (
        SELECT FROM requests WHERE unacknowledged AND NOT EXISTS (
          SELECT FROM jobs WHERE key = 'resume:' || requests.tenant || '/' || requests.id
        )
      ) OR EXISTS (
        SELECT FROM threads WHERE status = 'running' AND (lease_until IS NULL OR lease_until <= now)
        AND NOT EXISTS (SELECT FROM jobs WHERE lane = threads.tenant || '/' || threads.id AND kind IN ('run', 'resume'))
      )
    );
END $$;
