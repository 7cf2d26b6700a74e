-- Numbers, in the order of their writing, the first 10,000 events that have become visible, and tells the last number.
-- All at once would take longer than a statement may, where many were written and nobody read: none ever got a number.
CREATE FUNCTION seal_batch(OUT has_more boolean, OUT last bigint, OUT last_hash text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  most CONSTANT integer := 10000;
  moved integer := 0;
BEGIN
  IF EXISTS (SELECT FROM unsealed WHERE seq > 0) THEN
    PERFORM pg_advisory_xact_lock(hashtext('ringi seal'), hashtext(current_schema()));
    SELECT coalesce(max(number), 0) INTO last FROM events;
    WITH first AS (SELECT seq FROM unsealed WHERE seq > 0 ORDER BY seq LIMIT most),
    fresh AS (DELETE FROM unsealed WHERE seq > 0 AND seq <= (SELECT max(seq) FROM first) RETURNING *)
    INSERT INTO events
    SELECT last + row_number() OVER (ORDER BY seq),
      tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash FROM fresh;
    GET DIAGNOSTICS moved = ROW_COUNT;
  END IF;
  SELECT number, hash INTO last, last_hash FROM events ORDER BY number DESC LIMIT 1;
  has_more := moved = most;
END $$;
-- For older versions, which read what is numbered and come back.
CREATE OR REPLACE FUNCTION seal() RETURNS bigint LANGUAGE sql AS 'SELECT last FROM seal_batch()';
