-- `expires_at` is empty once a request has ended: what ends then changes no index, and stays in its block.
CREATE TABLE requests (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version integer NOT NULL, created_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, priority text COLLATE "C" NOT NULL,
  audiences text[] COLLATE "C" NOT NULL, thread_id text COLLATE "C", expires_at bigint, ended_at bigint,
  unacknowledged boolean NOT NULL, attention boolean NOT NULL, body text NOT NULL,
  shelf text COLLATE "C" GENERATED ALWAYS AS (status || ' ' || kind || ' ' || priority) STORED,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX requests_by_thread ON requests (tenant, thread_id, created_at, id) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_expiring ON requests (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX requests_unacknowledged ON requests (created_at, id) WHERE unacknowledged;
CREATE INDEX requests_attention ON requests (tenant, created_at, id) WHERE attention;

-- A row for each audience of a request, in the order of lists: a page is read from its place, however many there are.
CREATE TABLE shown (
  tenant text COLLATE "C" NOT NULL, audience text COLLATE "C" NOT NULL, shelf text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL, id text COLLATE "C" NOT NULL, ended_at bigint,
  PRIMARY KEY (tenant, audience, shelf, created_at, id)
);
CREATE INDEX shown_ended ON shown (tenant, audience, ended_at) WHERE ended_at IS NOT NULL;
-- Planned once for a session: anew for each list of audiences, it takes longer than all that the trigger does.
CREATE FUNCTION show() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF old.audiences = new.audiences THEN
      UPDATE shown SET shelf = new.shelf, ended_at = new.ended_at WHERE tenant = old.tenant
        AND audience = ANY (old.audiences) AND shelf = old.shelf AND created_at = old.created_at AND id = old.id;
      RETURN NULL;
    END IF;
    DELETE FROM shown WHERE tenant = old.tenant AND audience = ANY (old.audiences) AND shelf = old.shelf
      AND created_at = old.created_at AND id = old.id;
  END IF;
  INSERT INTO shown SELECT new.tenant, audience, new.shelf, new.created_at, new.id, new.ended_at
    FROM unnest(new.audiences) AS audience;
  RETURN NULL;
END $$;
CREATE TRIGGER requests_asked AFTER INSERT ON requests FOR EACH ROW EXECUTE FUNCTION show();
CREATE TRIGGER requests_moved AFTER UPDATE ON requests FOR EACH ROW
  WHEN ((old.status, old.audiences, old.ended_at) IS DISTINCT FROM (new.status, new.audiences, new.ended_at))
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

-- Numbers, in the order of their writing, all events that have become visible, and returns the last number.
-- One transaction at a time: what it cannot see yet gets a later number, so no reader is overtaken.
-- By the index: what was moved away stays in the table until a vacuum, and each call would read past all of it.
CREATE FUNCTION seal() RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE last bigint;
BEGIN
  IF EXISTS (SELECT FROM unsealed WHERE seq > 0) THEN
    PERFORM pg_advisory_xact_lock(hashtext('ringi seal'), hashtext(current_schema()));
    SELECT coalesce(max(number), 0) INTO last FROM events;
    WITH fresh AS (DELETE FROM unsealed WHERE seq > 0 RETURNING *)
    INSERT INTO events
    SELECT last + row_number() OVER (ORDER BY seq),
      tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash FROM fresh;
  END IF;
  SELECT max(number) INTO last FROM events;
  RETURN last;
END $$;

CREATE TABLE stream_heads (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, last integer NOT NULL, fence integer NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50);
CREATE TABLE stream_items (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, number integer NOT NULL, event text NOT NULL, origin text,
  PRIMARY KEY (tenant, id, number)
);
