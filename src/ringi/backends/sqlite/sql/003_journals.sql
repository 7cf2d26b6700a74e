CREATE TABLE journals (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL, body TEXT NOT NULL,
  UNIQUE (tenant, id)
);
