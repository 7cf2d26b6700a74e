-- What each worker works on, and until when it says so.
CREATE TABLE workers (name TEXT PRIMARY KEY, since INTEGER NOT NULL, until INTEGER NOT NULL, offers TEXT NOT NULL);
