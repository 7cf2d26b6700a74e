-- What lists are filtered and ordered by; NULL in rows of versions that knew one order, unless they are filled below.
ALTER TABLE requests ADD COLUMN tool text COLLATE "C", ADD COLUMN agent text COLLATE "C", ADD COLUMN tier text COLLATE "C",
  ADD COLUMN rank smallint, ADD COLUMN deadline bigint;
-- Only pending requests have them here: what ends leaves both indexes, and nothing else in them ever changes.
ALTER TABLE shown ADD COLUMN rank smallint, ADD COLUMN deadline bigint, ADD COLUMN agent text COLLATE "C";
CREATE INDEX shown_by_rank ON shown (tenant, audience, rank, created_at, id) WHERE rank IS NOT NULL;
CREATE INDEX shown_by_agent ON shown (tenant, agent, rank, created_at, id) WHERE audience = '*' AND agent IS NOT NULL;
CREATE INDEX shown_by_deadline ON shown (tenant, audience, deadline, created_at, id) WHERE deadline IS NOT NULL;

-- The names under which a request is listed: its audiences, and its tool.
CREATE FUNCTION lists_of(audiences text[], tool text) RETURNS text[] LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN tool IS NULL THEN audiences ELSE audiences || ('tool:' || tool) END $$;

-- What a row of an older version must have, from its record; a damaged record is listed last.
CREATE FUNCTION order_of(body text, priority text, OUT tool text, OUT tier text, OUT rank smallint, OUT deadline bigint)
LANGUAGE plpgsql AS $$
DECLARE
  record json;
BEGIN
  BEGIN
    -- NUL, which PostgreSQL cannot store, is replaced as in the other columns.
    record := replace(body, '\u0000', '\udbff\udfff')::json;
    tool := record #>> '{action,name}';
    tier := record ->> 'tier';
    deadline := 1000000 * extract(epoch FROM least((record ->> 'due_at')::timestamptz, (record ->> 'expires_at')::timestamptz));
  EXCEPTION WHEN data_exception OR syntax_error_or_access_rule_violation THEN
    tool := NULL;
    deadline := NULL;
  END;
  tier := coalesce(tier, 'low');
  rank := 8 * CASE priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'low' THEN 3 ELSE 2 END
    + 2 * CASE tier WHEN 'irreversible' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END + 1;
END $$;
CREATE FUNCTION fill_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT o.tool, o.tier, o.rank, o.deadline INTO new.tool, new.tier, new.rank, new.deadline
    FROM order_of(new.body, new.priority) AS o;
  RETURN new;
END $$;
-- An older version writes beside this one.
CREATE TRIGGER requests_of_older BEFORE INSERT ON requests FOR EACH ROW WHEN (new.tier IS NULL) EXECUTE FUNCTION fill_order();

CREATE OR REPLACE FUNCTION show() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  lists CONSTANT text[] := lists_of(new.audiences, new.tool);
  before text[];
  rank_if_pending CONSTANT smallint := CASE WHEN new.status = 'pending' THEN new.rank END;
  agent_if_pending CONSTANT text := CASE WHEN new.status = 'pending' THEN new.agent END;
  deadline_if_pending CONSTANT bigint := CASE WHEN new.status = 'pending' THEN new.deadline END;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    before := lists_of(old.audiences, old.tool);
    IF before = lists THEN
      UPDATE shown SET shelf = new.shelf, ended_at = new.ended_at, rank = rank_if_pending, deadline = deadline_if_pending,
        agent = agent_if_pending WHERE tenant = old.tenant AND audience = ANY (before) AND shelf = old.shelf AND created_at = old.created_at
        AND id = old.id;
      RETURN NULL;
    END IF;
    DELETE FROM shown WHERE tenant = old.tenant AND audience = ANY (before) AND shelf = old.shelf
      AND created_at = old.created_at AND id = old.id;
  END IF;
  INSERT INTO shown (tenant, audience, shelf, created_at, id, ended_at, rank, deadline, agent)
    SELECT new.tenant, audience, new.shelf, new.created_at, new.id, new.ended_at, rank_if_pending, deadline_if_pending,
      agent_if_pending
    FROM unnest(lists) AS audience;
  RETURN NULL;
END $$;
DROP TRIGGER requests_moved ON requests;
CREATE TRIGGER requests_moved AFTER UPDATE ON requests FOR EACH ROW
  WHEN ((old.status, old.audiences, old.ended_at, old.tool, old.rank)
    IS DISTINCT FROM (new.status, new.audiences, new.ended_at, new.tool, new.rank))
  EXECUTE FUNCTION show();
-- What is pending or ended lately: more would take minutes, and nobody could write meanwhile.
UPDATE requests SET (tool, tier, rank, deadline) = (SELECT o.tool, o.tier, o.rank, o.deadline FROM order_of(body, priority) AS o)
  WHERE status = 'pending' OR ended_at > 1000000 * extract(epoch FROM now() - interval '31 days');
