-- What each worker works on, and until when it says so. Empty after a crash, until they say it again.
CREATE UNLOGGED TABLE workers (
  name text PRIMARY KEY, since timestamptz NOT NULL, until timestamptz NOT NULL, offers text NOT NULL
) WITH (fillfactor = 50);
