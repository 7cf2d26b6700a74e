CREATE TABLE journals (
  tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, version integer NOT NULL, created_at bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);
