CREATE TABLE requests (
  place INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, kind TEXT NOT NULL, priority TEXT NOT NULL, audiences TEXT NOT NULL, thread_id TEXT,
  expires_at INTEGER, ended_at INTEGER, unacknowledged INTEGER NOT NULL, attention INTEGER NOT NULL,
  search TEXT NOT NULL, body TEXT NOT NULL,
  shelf TEXT AS (status || ' ' || kind || ' ' || priority) VIRTUAL,
  UNIQUE (tenant, id)
);
CREATE INDEX requests_by_thread ON requests (tenant, thread_id, created_at DESC, id DESC) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_expiring ON requests (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX requests_unacknowledged ON requests (created_at DESC, id DESC) WHERE unacknowledged = 1;
CREATE INDEX requests_attention ON requests (tenant, created_at DESC, id DESC) WHERE attention = 1;

CREATE VIRTUAL TABLE search USING fts5(terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii');

CREATE TABLE shown (
  audience TEXT NOT NULL, shelf TEXT NOT NULL, tenant TEXT NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (audience, shelf, tenant, place)
) WITHOUT ROWID;
CREATE TABLE ended (
  audience TEXT NOT NULL, tenant TEXT NOT NULL, at INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (audience, tenant, at, place)
) WITHOUT ROWID;
CREATE TRIGGER requests_asked AFTER INSERT ON requests BEGIN
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM json_each(new.audiences);
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM json_each(new.audiences)
    WHERE new.ended_at IS NOT NULL;
END;
CREATE TRIGGER requests_moved AFTER UPDATE OF status, audiences ON requests
WHEN old.status <> new.status OR old.audiences <> new.audiences BEGIN
  DELETE FROM shown WHERE audience IN (SELECT value FROM json_each(old.audiences))
    AND shelf = old.shelf AND tenant = old.tenant AND place = old.place;
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM json_each(new.audiences);
END;
CREATE TRIGGER requests_ended AFTER UPDATE OF ended_at, audiences ON requests
WHEN new.ended_at IS NOT old.ended_at OR (new.ended_at IS NOT NULL AND old.audiences <> new.audiences) BEGIN
  DELETE FROM ended WHERE old.ended_at IS NOT NULL AND audience IN (SELECT value FROM json_each(old.audiences))
    AND tenant = old.tenant AND at = old.ended_at AND place = old.place;
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM json_each(new.audiences)
    WHERE new.ended_at IS NOT NULL;
END;

CREATE TABLE threads (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, fence INTEGER NOT NULL, lease_until INTEGER, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);
CREATE INDEX threads_newest ON threads (tenant, created_at DESC, id DESC);
CREATE INDEX threads_by_status ON threads (tenant, status, created_at DESC, id DESC);
CREATE INDEX threads_running ON threads (lease_until) WHERE status = 'running';

CREATE TABLE events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, record TEXT NOT NULL, record_id TEXT NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL,
  at INTEGER NOT NULL, payload TEXT NOT NULL, payload_digest TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX events_of_record ON events (tenant, record_id, position);
CREATE TABLE cursors (name TEXT PRIMARY KEY, position TEXT NOT NULL);

CREATE TABLE stream_heads (tenant TEXT NOT NULL, id TEXT NOT NULL, last INTEGER NOT NULL, fence INTEGER NOT NULL, PRIMARY KEY (tenant, id));
CREATE TABLE stream_items (
  tenant TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, event TEXT NOT NULL, origin TEXT,
  PRIMARY KEY (tenant, id, number)
) WITHOUT ROWID;

CREATE TABLE jobs (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, lane TEXT NOT NULL, payload TEXT NOT NULL, tries INTEGER NOT NULL,
  run_at INTEGER NOT NULL, claimed_by TEXT, claimed_until INTEGER
);
CREATE INDEX jobs_next ON jobs (run_at);
CREATE INDEX jobs_by_lane ON jobs (lane);
