-- What is overdue, by tenant: when much is at once, each gets its turn.
CREATE INDEX requests_expiring_of ON requests (tenant, expires_at) WHERE expires_at IS NOT NULL;
