CREATE TABLE requests (
  place INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, kind TEXT NOT NULL, priority TEXT NOT NULL, audiences TEXT NOT NULL, thread_id TEXT,
  expires_at INTEGER, ended_at INTEGER, unacknowledged INTEGER NOT NULL, attention INTEGER NOT NULL,
  search TEXT NOT NULL, body TEXT NOT NULL, unexecuted INTEGER NOT NULL,
  tool TEXT, agent TEXT, tier TEXT NOT NULL, rank INTEGER NOT NULL, deadline INTEGER,
  shelf TEXT AS (status || ' ' || kind || ' ' || priority) VIRTUAL,
  UNIQUE (tenant, id)
);
CREATE INDEX requests_by_thread ON requests (tenant, thread_id, created_at DESC, id DESC) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_expiring ON requests (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
-- By tenant: when much is overdue at once, each gets its turn.
CREATE INDEX requests_expiring_of ON requests (tenant, expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX requests_unacknowledged ON requests (created_at DESC, id DESC) WHERE unacknowledged = 1;
CREATE INDEX requests_attention ON requests (tenant, created_at DESC, id DESC) WHERE attention = 1;
CREATE INDEX requests_unexecuted ON requests (tenant, created_at DESC, id DESC) WHERE unexecuted = 1;

CREATE VIRTUAL TABLE search USING fts5(terms, content = '', columnsize = 0, detail = none, tokenize = 'ascii');

CREATE TABLE shown (
  audience TEXT NOT NULL, shelf TEXT NOT NULL, tenant TEXT NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (audience, shelf, tenant, place)
) WITHOUT ROWID;
CREATE TABLE ended (
  audience TEXT NOT NULL, tenant TEXT NOT NULL, at INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (audience, tenant, at, place)
) WITHOUT ROWID;
-- The pending requests, by rank and by deadline, in a row for each audience and for the tool. Nothing in a row changes.
CREATE TABLE urgent (
  audience TEXT NOT NULL, tenant TEXT NOT NULL, rank INTEGER NOT NULL, created_at INTEGER NOT NULL, id TEXT NOT NULL,
  deadline INTEGER, agent TEXT, place INTEGER NOT NULL,
  PRIMARY KEY (audience, tenant, rank, created_at, id)
) WITHOUT ROWID;
CREATE INDEX urgent_due ON urgent (audience, tenant, deadline, created_at, id, place, agent) WHERE deadline IS NOT NULL;
-- The pending requests of each agent, once each.
CREATE INDEX urgent_by_agent ON urgent (tenant, agent) WHERE audience = '*' AND agent IS NOT NULL;

CREATE TRIGGER requests_asked AFTER INSERT ON requests BEGIN
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    );
  INSERT INTO urgent (audience, tenant, rank, created_at, id, deadline, agent, place)
    SELECT value, new.tenant, new.rank, new.created_at, new.id, new.deadline, new.agent, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.status = 'pending';
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.ended_at IS NOT NULL;
END;
CREATE TRIGGER requests_moved AFTER UPDATE OF status, audiences, tool, rank ON requests
WHEN old.status <> new.status OR old.audiences <> new.audiences OR old.tool IS NOT new.tool OR old.rank <> new.rank BEGIN
  DELETE FROM shown WHERE audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND shelf = old.shelf AND tenant = old.tenant AND place = old.place;
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    );
  DELETE FROM urgent WHERE old.status = 'pending' AND audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND tenant = old.tenant AND rank = old.rank AND created_at = old.created_at AND id = old.id;
  INSERT INTO urgent (audience, tenant, rank, created_at, id, deadline, agent, place)
    SELECT value, new.tenant, new.rank, new.created_at, new.id, new.deadline, new.agent, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.status = 'pending';
END;
CREATE TRIGGER requests_ended AFTER UPDATE OF ended_at, audiences, tool ON requests
WHEN new.ended_at IS NOT old.ended_at
  OR (new.ended_at IS NOT NULL AND (old.audiences <> new.audiences OR old.tool IS NOT new.tool)) BEGIN
  DELETE FROM ended WHERE old.ended_at IS NOT NULL AND audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND tenant = old.tenant AND at = old.ended_at AND place = old.place;
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.ended_at IS NOT NULL;
END;

CREATE TABLE threads (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, fence INTEGER NOT NULL, lease_until INTEGER, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);
CREATE INDEX threads_newest ON threads (tenant, created_at DESC, id DESC);
CREATE INDEX threads_by_status ON threads (tenant, status, created_at DESC, id DESC);
CREATE INDEX threads_running ON threads (lease_until) WHERE status = 'running';

CREATE TABLE journals (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);

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
-- By kind: what waits for a worker of another kind would be read by each claim.
CREATE INDEX jobs_of_kind ON jobs (kind, run_at);
CREATE INDEX jobs_by_lane ON jobs (lane);
-- What each worker works on, and until when it says so.
CREATE TABLE workers (name TEXT PRIMARY KEY, since INTEGER NOT NULL, until INTEGER NOT NULL, offers TEXT NOT NULL);
