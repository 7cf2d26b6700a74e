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
      SELECT FROM jobs WHERE run_at <= clock_timestamp() AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
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
