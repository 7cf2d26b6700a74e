-- The pending requests of each agent, once each.
CREATE INDEX urgent_by_agent ON urgent (tenant, agent) WHERE audience = '*' AND agent IS NOT NULL;
