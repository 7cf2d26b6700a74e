-- What lists are filtered and ordered by; NULL in rows of versions that knew one order, unless they are filled below.
ALTER TABLE requests ADD COLUMN tool TEXT;
ALTER TABLE requests ADD COLUMN agent TEXT;
ALTER TABLE requests ADD COLUMN tier TEXT;
ALTER TABLE requests ADD COLUMN rank INTEGER;
ALTER TABLE requests ADD COLUMN deadline INTEGER;
-- The pending requests, by rank and by deadline, in a row for each audience and for the tool. Nothing in a row changes.
CREATE TABLE urgent (
  audience TEXT NOT NULL, tenant TEXT NOT NULL, rank INTEGER NOT NULL, created_at INTEGER NOT NULL, id TEXT NOT NULL,
  deadline INTEGER, agent TEXT, place INTEGER NOT NULL,
  PRIMARY KEY (audience, tenant, rank, created_at, id)
) WITHOUT ROWID;
CREATE INDEX urgent_due ON urgent (audience, tenant, deadline, created_at, id, place, agent) WHERE deadline IS NOT NULL;

-- What a row of an older version must have, from its record. A time is a date, 'T', a time of day, perhaps a point and six
-- digits, and a zone.
CREATE VIEW times_of AS
  SELECT place, value AS at, json_extract(body, '$.action.name') AS tool, coalesce(json_extract(body, '$.tier'), 'low') AS tier,
    priority
  FROM (SELECT place, priority, CASE WHEN json_valid(body) THEN body ELSE '{}' END AS body FROM requests)
  LEFT JOIN json_each(json_array(json_extract(body, '$.due_at'), json_extract(body, '$.expires_at')));
CREATE VIEW order_of AS
  SELECT place, max(tool) AS tool, max(tier) AS tier,
    8 * CASE max(priority) WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'low' THEN 3 ELSE 2 END
    + 2 * CASE max(tier) WHEN 'irreversible' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END + 1 AS rank,
    min(CAST(strftime('%s', substr(at, 1, 19) || substr(at, iif(substr(at, 20, 1) = '.', 27, 20))) AS INTEGER) * 1000000
      + iif(substr(at, 20, 1) = '.', CAST(substr(at, 21, 6) AS INTEGER), 0)) AS deadline
  FROM times_of GROUP BY place;

DROP TRIGGER requests_asked;
CREATE TRIGGER requests_asked AFTER INSERT ON requests BEGIN
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    );
  INSERT INTO urgent (audience, tenant, rank, created_at, id, deadline, agent, place)
    SELECT value, new.tenant, new.rank, new.created_at, new.id, new.deadline, new.agent, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.status = 'pending' AND new.rank IS NOT NULL;
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.ended_at IS NOT NULL;
  -- An older version writes beside this one.
  UPDATE requests SET (tool, tier, rank, deadline) = (SELECT tool, tier, rank, deadline FROM order_of WHERE place = new.place)
    WHERE new.tier IS NULL AND place = new.place;
END;
DROP TRIGGER requests_moved;
CREATE TRIGGER requests_moved AFTER UPDATE OF status, audiences, tool, rank ON requests
WHEN old.status <> new.status OR old.audiences <> new.audiences OR old.tool IS NOT new.tool OR old.rank IS NOT new.rank BEGIN
  DELETE FROM shown WHERE audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND shelf = old.shelf AND tenant = old.tenant AND place = old.place;
  INSERT INTO shown (audience, shelf, tenant, place) SELECT value, new.shelf, new.tenant, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    );
  DELETE FROM urgent WHERE old.status = 'pending' AND audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND tenant = old.tenant AND rank = old.rank AND created_at = old.created_at AND id = old.id;
  INSERT INTO urgent (audience, tenant, rank, created_at, id, deadline, agent, place)
    SELECT value, new.tenant, new.rank, new.created_at, new.id, new.deadline, new.agent, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.status = 'pending' AND new.rank IS NOT NULL;
END;
DROP TRIGGER requests_ended;
CREATE TRIGGER requests_ended AFTER UPDATE OF ended_at, audiences, tool ON requests
WHEN new.ended_at IS NOT old.ended_at
  OR (new.ended_at IS NOT NULL AND (old.audiences <> new.audiences OR old.tool IS NOT new.tool)) BEGIN
  DELETE FROM ended WHERE old.ended_at IS NOT NULL AND audience IN (
      SELECT value FROM json_each(old.audiences) UNION ALL SELECT 'tool:' || old.tool WHERE old.tool IS NOT NULL
    ) AND tenant = old.tenant AND at = old.ended_at AND place = old.place;
  INSERT INTO ended (audience, tenant, at, place) SELECT value, new.tenant, new.ended_at, new.place FROM (
      SELECT value FROM json_each(new.audiences) UNION ALL SELECT 'tool:' || new.tool WHERE new.tool IS NOT NULL
    ) WHERE new.ended_at IS NOT NULL;
END;
-- What is pending or ended lately: more would take minutes.
UPDATE requests SET (tool, tier, rank, deadline) = (SELECT tool, tier, rank, deadline FROM order_of o WHERE o.place = requests.place)
  WHERE status = 'pending' OR ended_at > (CAST(strftime('%s', 'now') AS INTEGER) - 2678400) * 1000000;
