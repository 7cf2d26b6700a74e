ALTER TABLE requests ADD COLUMN attention INTEGER NOT NULL DEFAULT 0;
UPDATE requests SET attention = 1
  WHERE json_extract(body, '$.attention') IS NOT NULL AND json_extract(body, '$.continuation') IS NOT NULL
  AND json_extract(body, '$.acknowledged_at') IS NULL;
CREATE INDEX requests_attention ON requests (tenant, created_at DESC, id DESC) WHERE attention = 1;
CREATE INDEX threads_by_status ON threads (tenant, status, created_at DESC, id DESC)
