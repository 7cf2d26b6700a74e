-- Deferred work. A worker claims a job by name and until a time, and renews the claim while it works.
CREATE TABLE jobs (
  key text COLLATE "C" PRIMARY KEY, kind text NOT NULL, lane text COLLATE "C" NOT NULL, payload text NOT NULL,
  tries integer NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  claimed_by text, claimed_until timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX jobs_next ON jobs (run_at);
CREATE INDEX jobs_by_lane ON jobs (lane, run_at, key);

-- Claims up to `most` due jobs, the first of each lane, and only if no other job of the lane is claimed.
-- One worker at a time: two that look at once could claim two jobs of one lane. Each statement sees what was claimed before.
CREATE FUNCTION claim_jobs(worker text, kinds text[], most integer, seconds double precision) RETURNS TABLE (
  key text, kind text, lane text, payload text, tries integer
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  now timestamptz := clock_timestamp();
BEGIN
  IF NOT EXISTS (
    SELECT FROM jobs WHERE run_at <= now AND kind = ANY (kinds) AND (claimed_until IS NULL OR claimed_until <= now)
  ) THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ringi claims'), hashtext(current_schema()));
  now := clock_timestamp();
  RETURN QUERY UPDATE jobs SET claimed_by = worker, claimed_until = now + make_interval(secs => seconds), tries = jobs.tries + 1
  WHERE jobs.key IN (
    SELECT due.key FROM jobs AS due
    WHERE due.run_at <= now AND due.kind = ANY (kinds) AND (due.claimed_until IS NULL OR due.claimed_until <= now)
      AND NOT EXISTS (
        SELECT FROM jobs AS other WHERE other.lane = due.lane AND other.key <> due.key AND (
          other.claimed_until > now
          OR other.run_at <= now AND other.kind = ANY (kinds) AND (other.run_at, other.key) < (due.run_at, due.key)
        )
      )
    ORDER BY due.run_at LIMIT most
  ) AND jobs.run_at <= now AND (jobs.claimed_until IS NULL OR jobs.claimed_until <= now) -- Its owner may just have renewed it.
  RETURNING jobs.key, jobs.kind, jobs.lane, jobs.payload, jobs.tries;
END $$;

-- Moves what older versions have queued with PGQueuer and no longer do: their workers would take a due job within seconds.
CREATE FUNCTION adopt_jobs() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  adopted integer := 0;
BEGIN
  IF to_regclass('pgqueuer') IS NOT NULL THEN
    WITH gone AS (
      DELETE FROM pgqueuer WHERE id IN (
        SELECT id FROM pgqueuer WHERE dedupe_key IS NOT NULL AND payload IS NOT NULL AND (
          status = 'queued' AND execute_after < clock_timestamp() - interval '30 seconds'
          OR status = 'picked' AND heartbeat < clock_timestamp() - interval '60 seconds'
        ) FOR UPDATE SKIP LOCKED
      ) RETURNING dedupe_key, entrypoint, convert_from(payload, 'UTF8')::json AS job, attempts
    )
    INSERT INTO jobs (key, kind, lane, payload, tries)
    SELECT dedupe_key, entrypoint, job ->> 'lane', coalesce((job -> 'payload')::text, '{}'), attempts FROM gone
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS adopted = ROW_COUNT;
  END IF;
  RETURN adopted;
END $$;

-- Numbers what was written, then reads the feed, in one round trip. The statements inside see what the first one did.
CREATE FUNCTION read_feed(after bigint, most integer) RETURNS TABLE (
  has_more boolean, last bigint, last_hash text, number bigint, tenant text, record text, record_id text, version integer,
  type text, at bigint, payload text, payload_digest text, previous text, hash text
) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  sealed record;
BEGIN
  SELECT * INTO sealed FROM seal_batch();
  RETURN QUERY SELECT sealed.has_more, sealed.last, sealed.last_hash, e.number, e.tenant, e.record, e.record_id,
    e.version, e.type, e.at, e.payload, e.payload_digest, e.previous, e.hash
    FROM (VALUES (1)) AS one LEFT JOIN (
      SELECT * FROM events WHERE events.number > after ORDER BY events.number LIMIT most
    ) AS e ON true ORDER BY e.number;
END $$;
