-- `expires_at` is empty once a request has ended: what ends then changes no index, and stays in its block.
CREATE TABLE requests (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version integer NOT NULL, created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, priority text COLLATE "C" NOT NULL,
  audiences text[] COLLATE "C" NOT NULL, thread_id text COLLATE "C", expires_at bigint, ended_at bigint,
  unacknowledged boolean NOT NULL, attention boolean NOT NULL, body text NOT NULL,
  unexecuted boolean NOT NULL, tool text COLLATE "C", agent text COLLATE "C", tier text COLLATE "C" NOT NULL,
  rank smallint NOT NULL, deadline bigint,
  shelf text COLLATE "C" GENERATED ALWAYS AS (status || ' ' || kind || ' ' || priority) STORED,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX requests_by_thread ON requests (tenant, thread_id, created_at, id) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_expiring ON requests (expires_at) WHERE expires_at IS NOT NULL;
-- By tenant: when much is overdue at once, each gets its turn.
CREATE INDEX requests_expiring_of ON requests (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX requests_unacknowledged ON requests (created_at, id) WHERE unacknowledged;
CREATE INDEX requests_attention ON requests (tenant, created_at, id) WHERE attention;
CREATE INDEX requests_unexecuted ON requests (tenant, created_at, id) WHERE unexecuted;

-- A row for each audience of a request, and for its tool, in the order of lists: a page is read from its place, however
-- many there are. Only pending requests have a rank, a deadline and an agent here: what ends leaves these indexes.
CREATE TABLE shown (
  tenant text COLLATE "C" NOT NULL, audience text COLLATE "C" NOT NULL, shelf text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL, id text COLLATE "C" NOT NULL, ended_at bigint,
  rank smallint, deadline bigint, agent text COLLATE "C",
  PRIMARY KEY (tenant, audience, shelf, created_at, id)
);
CREATE INDEX shown_ended ON shown (tenant, audience, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX shown_by_rank ON shown (tenant, audience, rank, created_at, id) WHERE rank IS NOT NULL;
CREATE INDEX shown_by_agent ON shown (tenant, agent, rank, created_at, id) WHERE audience = '*' AND agent IS NOT NULL;
CREATE INDEX shown_by_deadline ON shown (tenant, audience, deadline, created_at, id) WHERE deadline IS NOT NULL;
-- The names under which a request is listed: its audiences, and its tool.
CREATE FUNCTION lists_of(audiences text[], tool text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN tool IS NULL THEN audiences ELSE audiences || ('tool:' || tool) END $$;
-- Planned once for a session: anew for each list of audiences, it takes longer than all that the trigger does.
CREATE FUNCTION show() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  lists CONSTANT text[] := lists_of(new.audiences, new.tool);
  before text[];
  rank_if_pending CONSTANT smallint := CASE WHEN new.status = 'pending' THEN new.rank END;
  agent_if_pending CONSTANT text := CASE WHEN new.status = 'pending' THEN new.agent END;
  deadline_if_pending CONSTANT bigint := CASE WHEN new.status = 'pending' THEN new.deadline END;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    before := lists_of(old.audiences, old.tool);
    IF before = lists THEN
      UPDATE shown SET shelf = new.shelf, ended_at = new.ended_at, rank = rank_if_pending, deadline = deadline_if_pending,
        agent = agent_if_pending WHERE tenant = old.tenant AND audience = ANY (before) AND shelf = old.shelf AND created_at = old.created_at
        AND id = old.id;
      RETURN NULL;
    END IF;
    DELETE FROM shown WHERE tenant = old.tenant AND audience = ANY (before) AND shelf = old.shelf
      AND created_at = old.created_at AND id = old.id;
  END IF;
  INSERT INTO shown (tenant, audience, shelf, created_at, id, ended_at, rank, deadline, agent)
    SELECT new.tenant, audience, new.shelf, new.created_at, new.id, new.ended_at, rank_if_pending, deadline_if_pending,
      agent_if_pending
    FROM unnest(lists) AS audience;
  RETURN NULL;
END $$;
CREATE TRIGGER requests_asked AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION show();
CREATE TRIGGER requests_moved AFTER UPDATE ON requests FOR EACH ROW
  WHEN ((old.status, old.audiences, old.ended_at, old.tool, old.rank)
    IS DISTINCT FROM (new.status, new.audiences, new.ended_at, new.tool, new.rank))
  EXECUTE FUNCTION show();

-- What a search looks through is written once, apart from what changes: its index is the dearest of all. It lies in the
-- order of lists, so that those who look through the newest find it close together.
CREATE TABLE texts (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, search text COLLATE "C" NOT NULL, terms integer[] NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, created_at, id)
);
CREATE INDEX texts_terms ON texts USING gin (terms);

CREATE TABLE threads (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version integer NOT NULL, created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL, fence integer NOT NULL, lease_until bigint, body text NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX threads_newest ON threads (tenant, created_at, id);
CREATE INDEX threads_by_status ON threads (tenant, status, created_at, id);
CREATE INDEX threads_running ON threads (lease_until) WHERE status = 'running';

CREATE TABLE journals (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version integer NOT NULL, created_at bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);

-- Writers leave their events here, in any order. A table that is nearly empty costs them next to nothing.
CREATE TABLE unsealed (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL, record text NOT NULL, record_id text COLLATE "C" NOT NULL, version integer NOT NULL,
  type text NOT NULL, at bigint NOT NULL, payload text NOT NULL, payload_digest text NOT NULL, previous text NOT NULL, hash text NOT NULL
);
-- The feed, in the order of numbers: what is here stays where it is, so nothing in it ever has to be cleaned up.
CREATE TABLE events (
  number bigint PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL, record text NOT NULL, record_id text COLLATE "C" NOT NULL, version integer NOT NULL,
  type text NOT NULL, at bigint NOT NULL, payload text NOT NULL, payload_digest text NOT NULL, previous text NOT NULL, hash text NOT NULL
);
CREATE INDEX events_of_tenant ON events (tenant, number);
CREATE INDEX events_of_record ON events (tenant, record_id, number);
CREATE TABLE cursors (name text PRIMARY KEY, position text NOT NULL);

-- Numbers, in the order of their writing, the first 10,000 events that have become visible, and returns the last number.
-- One transaction at a time: what it cannot see yet gets a later number, so no reader is overtaken.
-- By the index: what was moved away stays in the table until a vacuum, and each call would read past all of it.
-- All at once would take longer than a statement may, where many were written and nobody read: none ever got a number.
CREATE FUNCTION seal_batch(OUT has_more boolean, OUT last bigint, OUT last_hash text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  most CONSTANT integer := 10000;
  moved integer := 0;
BEGIN
  IF EXISTS (SELECT FROM unsealed WHERE seq > 0) THEN
    PERFORM pg_advisory_xact_lock(hashtext('ringi seal'), hashtext(current_schema()));
    SELECT coalesce(max(number), 0) INTO last FROM events;
    WITH first AS (SELECT seq FROM unsealed WHERE seq > 0 ORDER BY seq LIMIT most),
    fresh AS (DELETE FROM unsealed WHERE seq > 0 AND seq <= (SELECT max(seq) FROM first) RETURNING *)
    INSERT INTO events
    SELECT last + row_number() OVER (ORDER BY seq),
      tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash FROM fresh;
    GET DIAGNOSTICS moved = ROW_COUNT;
  END IF;
  SELECT number, hash INTO last, last_hash FROM events ORDER BY number DESC LIMIT 1;
  has_more := moved = most;
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

CREATE TABLE stream_heads (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, last integer NOT NULL, fence integer NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50);
CREATE TABLE stream_items (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, number integer NOT NULL, event text NOT NULL, origin text,
  PRIMARY KEY (tenant, id, number)
);

-- Which process has a duty that one process at a time has, and until when. Empty after a crash, which frees them all.
CREATE UNLOGGED TABLE duties (name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL) WITH (fillfactor = 50);
-- What each worker works on, and until when it says so. Kept through a crash, which must not make agents unknown.
CREATE TABLE workers (
  name text PRIMARY KEY, since timestamptz NOT NULL, until timestamptz NOT NULL, offers text NOT NULL
) WITH (fillfactor = 50);

-- Deferred work. A worker claims a job by name and until a time, and renews the claim while it works.
CREATE TABLE jobs (
  key text COLLATE "C" PRIMARY KEY, kind text NOT NULL, lane text COLLATE "C" NOT NULL, payload text NOT NULL,
  tries integer NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  claimed_by text, claimed_until timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.05);
-- By kind: what waits for a worker of another kind would be read by each claim.
CREATE INDEX jobs_of_kind ON jobs (kind, run_at);
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
