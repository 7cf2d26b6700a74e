-- Approved calls that nobody has acknowledged; NULL in rows of versions that knew no receipts.
ALTER TABLE requests ADD COLUMN unexecuted INTEGER;
CREATE INDEX requests_unexecuted ON requests (tenant, created_at DESC, id DESC) WHERE unexecuted = 1;
