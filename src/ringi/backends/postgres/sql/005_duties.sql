-- Which process has a duty that one process at a time has, and until when. Empty after a crash, which frees them all.
CREATE UNLOGGED TABLE duties (name text PRIMARY KEY, owner text NOT NULL, until timestamptz NOT NULL) WITH (fillfactor = 50);
