-- Approved calls that nobody has acknowledged; NULL in rows of versions that knew no receipts.
ALTER TABLE requests ADD COLUMN unexecuted boolean;
CREATE INDEX requests_unexecuted ON requests (tenant, created_at, id) WHERE unexecuted;
