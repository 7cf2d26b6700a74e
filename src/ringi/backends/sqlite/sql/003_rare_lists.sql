-- Lists of one agent or one tier: what is rare among millions would be looked for in all of them.
CREATE INDEX requests_by_agent ON requests (tenant, agent) WHERE agent IS NOT NULL;
CREATE INDEX requests_by_tier ON requests (tenant, tier) WHERE tier <> 'low';
