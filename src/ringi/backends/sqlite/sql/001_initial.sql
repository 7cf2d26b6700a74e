CREATE TABLE requests (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, kind TEXT NOT NULL, assignee TEXT, candidate_groups TEXT NOT NULL, thread_id TEXT,
  asked_by TEXT, expires_at INTEGER, unacknowledged INTEGER NOT NULL, search TEXT NOT NULL, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);
CREATE INDEX requests_newest ON requests (tenant, created_at DESC, id DESC);
CREATE INDEX requests_by_status ON requests (tenant, status, created_at DESC, id DESC);
CREATE INDEX requests_by_thread ON requests (tenant, thread_id, created_at DESC, id DESC) WHERE thread_id IS NOT NULL;
CREATE INDEX requests_by_asker ON requests (tenant, asked_by, status, created_at DESC, id DESC) WHERE asked_by IS NOT NULL;
CREATE INDEX requests_by_assignee ON requests (tenant, assignee, status, created_at DESC, id DESC) WHERE assignee IS NOT NULL;
CREATE INDEX requests_expiring ON requests (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX requests_unacknowledged ON requests (created_at DESC, id DESC) WHERE unacknowledged = 1;

CREATE TABLE threads (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,
  status TEXT NOT NULL, fence INTEGER NOT NULL, lease_until INTEGER, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);
CREATE INDEX threads_newest ON threads (tenant, created_at DESC, id DESC);
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
