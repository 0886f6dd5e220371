BEGIN TRANSACTION;
CREATE TABLE vde_holdings (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, number BIGINT NOT NULL,
  removed BIGINT NOT NULL, holding_json TEXT NOT NULL, PRIMARY KEY (model, version)
);
CREATE TABLE vde_identity (state_id VARCHAR NOT NULL, PRIMARY KEY (state_id));
INSERT INTO "vde_identity" VALUES('0123456789abcdef0123456789abcdef');
CREATE TABLE vde_last_looks (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, look_json TEXT NOT NULL,
  PRIMARY KEY (model, version)
);
CREATE TABLE vde_leases (
	resource VARCHAR NOT NULL,
	holder VARCHAR NOT NULL,
	epoch BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, process_json TEXT,
	PRIMARY KEY (resource)
);
INSERT INTO "vde_leases" VALUES('environment prod','',1,0,NULL);
INSERT INTO "vde_leases" VALUES('environment dev','plan p2',1,1795346015276000,NULL);
INSERT INTO "vde_leases" VALUES('shop.sales@aaaaaaaa','me',1,1795346015289000,NULL);
CREATE TABLE vde_ledger (
	model VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	interval_start BIGINT NOT NULL,
	interval_end BIGINT NOT NULL,
	row_count BIGINT NOT NULL,
	high VARCHAR NOT NULL,
	low VARCHAR NOT NULL,
	columns_json TEXT NOT NULL,
	digest VARCHAR NOT NULL,
	work_id VARCHAR NOT NULL,
	iceberg_snapshot_id BIGINT,
	standing VARCHAR DEFAULT 'computed' NOT NULL,
	reason TEXT DEFAULT '' NOT NULL,
	algorithm VARCHAR DEFAULT 'xx2/1' NOT NULL,
	trace_json TEXT, number BIGINT DEFAULT '0' NOT NULL,
	PRIMARY KEY (model, version, interval_start)
);
INSERT INTO "vde_ledger" VALUES('shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1704067200000000,1704153600000000,3,'18446744073709551615','9223372036854775808','[["day","date",""],["n","bigint","count"]]','8449f33872bb79d0f05bcb773aaff8346a1738a8e6762d758e76a78783191c67','w1',4611686018427387904,'computed','','xx2/1',NULL,0);
CREATE TABLE vde_marks (
	model VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	source VARCHAR NOT NULL,
	mark_json TEXT NOT NULL, previous_json TEXT, work_id VARCHAR, moved_at BIGINT,
	PRIMARY KEY (model, version, source)
);
INSERT INTO "vde_marks" VALUES('shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','raw.sales','{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null}',NULL,NULL,NULL);
CREATE TABLE vde_owners (
	model VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	environment VARCHAR NOT NULL,
	PRIMARY KEY (model, version)
);
INSERT INTO "vde_owners" VALUES('shop.orders','e65e768ece52ecfaefb31740bfbfdb92','prod');
INSERT INTO "vde_owners" VALUES('shop.sales','26a359a93170b60c4d90318e2424841c','prod');
INSERT INTO "vde_owners" VALUES('shop.sales','9242b397da16ee5d947954490fd9496d','dev');
CREATE TABLE vde_pauses (
  environment VARCHAR NOT NULL, model VARCHAR NOT NULL, paused_at BIGINT NOT NULL,
  author VARCHAR NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (environment, model)
);
CREATE TABLE vde_pending (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, pending_json TEXT NOT NULL,
  PRIMARY KEY (model, version)
);
CREATE TABLE vde_planned (
  environment VARCHAR NOT NULL, model VARCHAR NOT NULL, version VARCHAR NOT NULL,
  planned_at BIGINT NOT NULL, PRIMARY KEY (environment, model, version)
);
CREATE TABLE vde_promoted_snapshots (
	environment VARCHAR NOT NULL,
	revision INTEGER NOT NULL,
	model VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	hidden BOOLEAN DEFAULT false NOT NULL, version VARCHAR DEFAULT '' NOT NULL, decided_by VARCHAR DEFAULT 'automatic' NOT NULL, drifted BOOLEAN DEFAULT false NOT NULL, bounded_from BIGINT, instead_of VARCHAR DEFAULT '' NOT NULL, preview BOOLEAN DEFAULT false NOT NULL,
	PRIMARY KEY (environment, revision, model),
	FOREIGN KEY(environment, revision) REFERENCES vde_promotions (environment, revision),
	FOREIGN KEY(model, digest) REFERENCES vde_snapshots (model, digest)
);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'shop.sales','2073f23aabdbcf528418bb6979c5bce1',0,'26a359a93170b60c4d90318e2424841c','automatic',0,NULL,'',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'shop.orders','ead77ec211065c80cb1e0465866df0ef',0,'e65e768ece52ecfaefb31740bfbfdb92','automatic',0,NULL,'',0);
INSERT INTO "vde_promoted_snapshots" VALUES('dev',1,'shop.sales','7a02fc7a5f5b4e196d16ca2612eb8c98',0,'9242b397da16ee5d947954490fd9496d','automatic',0,NULL,'',0);
INSERT INTO "vde_promoted_snapshots" VALUES('dev',1,'shop.orders','ead77ec211065c80cb1e0465866df0ef',0,'e65e768ece52ecfaefb31740bfbfdb92','automatic',0,NULL,'',0);
CREATE TABLE vde_promotions (
	environment VARCHAR NOT NULL,
	revision INTEGER NOT NULL,
	plan_id VARCHAR NOT NULL,
	promoted_at BIGINT NOT NULL,
	finished BOOLEAN NOT NULL, author VARCHAR DEFAULT '' NOT NULL, taken_from VARCHAR, taken_revision INTEGER, finished_at BIGINT, removed BOOLEAN DEFAULT false NOT NULL, forgotten BOOLEAN DEFAULT false NOT NULL,
	PRIMARY KEY (environment, revision)
);
INSERT INTO "vde_promotions" VALUES('prod',1,'p1',1795345955257000,1,'',NULL,NULL,NULL,0,0);
INSERT INTO "vde_promotions" VALUES('dev',1,'p2',1795345955284000,0,'',NULL,NULL,NULL,0,0);
CREATE TABLE vde_questions (
  work_id VARCHAR NOT NULL, question_json TEXT NOT NULL, PRIMARY KEY (work_id)
);
CREATE TABLE vde_savings (
  occasion VARCHAR NOT NULL, model VARCHAR NOT NULL, version VARCHAR NOT NULL,
  environment VARCHAR NOT NULL, kind VARCHAR NOT NULL, saved_at BIGINT NOT NULL,
  intervals BIGINT NOT NULL, time_covered BIGINT, row_count BIGINT NOT NULL, seconds FLOAT,
  untimed BIGINT NOT NULL, PRIMARY KEY (occasion, model)
);
CREATE TABLE vde_snapshots (
	model VARCHAR NOT NULL,
	digest VARCHAR NOT NULL,
	data VARCHAR NOT NULL,
	parent_data VARCHAR NOT NULL,
	metadata VARCHAR NOT NULL,
	parent_metadata VARCHAR NOT NULL,
	version VARCHAR NOT NULL,
	category VARCHAR,
	reasons_json TEXT NOT NULL,
	source_json TEXT NOT NULL,
	decided_by VARCHAR DEFAULT 'automatic' NOT NULL,
	decided_from VARCHAR DEFAULT '' NOT NULL,
	drifted BOOLEAN DEFAULT false NOT NULL,
	PRIMARY KEY (model, digest)
);
INSERT INTO "vde_snapshots" VALUES('shop.orders','ead77ec211065c80cb1e0465866df0ef','e65e768ece52ecfaefb31740bfbfdb92','11111111111111111111111111111111','22222222222222222222222222222222','33333333333333333333333333333333','e65e768ece52ecfaefb31740bfbfdb92',NULL,'["new model"]','{"path":"models/shop/sales.sql","text":"SELECT 1","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('shop.sales','2073f23aabdbcf528418bb6979c5bce1','26a359a93170b60c4d90318e2424841c','11111111111111111111111111111111','22222222222222222222222222222222','33333333333333333333333333333333','26a359a93170b60c4d90318e2424841c','indirect_non_breaking','["a column was added: n","n\u00e4her"]','{"path":"models/shop/sales.sql","text":"SELECT 1","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('shop.sales','7a02fc7a5f5b4e196d16ca2612eb8c98','9242b397da16ee5d947954490fd9496d','11111111111111111111111111111111','22222222222222222222222222222222','33333333333333333333333333333333','9242b397da16ee5d947954490fd9496d','indirect_non_breaking','["a column was added: n","n\u00e4her"]','{"path":"models/shop/sales.sql","text":"SELECT 2","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}','automatic','',0);
CREATE TABLE vde_state_version (
	version INTEGER NOT NULL,
	applied_at BIGINT NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "vde_state_version" VALUES(10,1795800000000000);
CREATE TABLE vde_tombstones (
  model VARCHAR NOT NULL, version VARCHAR NOT NULL, recorded_at BIGINT NOT NULL,
  dropping BOOLEAN DEFAULT false NOT NULL, table_uuid VARCHAR DEFAULT '' NOT NULL,
  location TEXT DEFAULT '' NOT NULL, PRIMARY KEY (model, version)
);
CREATE TABLE vde_unlisted (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, model VARCHAR NOT NULL, version VARCHAR NOT NULL, work_id VARCHAR);
INSERT INTO "vde_unlisted" VALUES(1,'shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','w1');
INSERT INTO "vde_unlisted" VALUES(2,'shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',NULL);
CREATE TABLE vde_work (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, work_id VARCHAR NOT NULL UNIQUE, model VARCHAR NOT NULL, version VARCHAR NOT NULL, environment VARCHAR NOT NULL, state VARCHAR NOT NULL, is_session BOOLEAN NOT NULL, intent_json TEXT NOT NULL, publication_json TEXT, iceberg_snapshot_id BIGINT, audits_json TEXT, reason TEXT, started_at BIGINT NOT NULL, finished_at BIGINT, drifted BOOLEAN DEFAULT false NOT NULL, accepted BOOLEAN DEFAULT false NOT NULL);
INSERT INTO "vde_work" VALUES(1,'w1','shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','prod','done',1,'{"work_id":"w1","model":"shop.sales","version":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","environment":"prod","intervals":[[1704067200000000,1704153600000000]],"inputs":{"raw.sales":7,"raw.empty":null},"base":null,"execution_time":1704067200000001,"session":{"sources":[{"before":{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387905,"sequence_number":1,"committed_at":1704067200000000,"complete_to":null},"after":{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null},"evidence":[{"partition":[["day",19723],["shop",null]],"files":2,"rows":9}]}],"fill":[[1704153600000000,1704240000000000]],"held":[[1704067200000000,1704153600000000]]}}','{"iceberg_snapshot_id":4611686018427387904,"changes":[{"operation":"replace","interval":[1704067200000000,1704153600000000],"rows":[3,"18446744073709551615","9223372036854775808"],"digest":null,"standing":"computed","reason":"","trace":null,"kept":null}],"columns":[["day","date",""],["n","bigint","count"]],"algorithm":"xx2/1","marks":[{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null}]}',4611686018427387904,NULL,NULL,1795345955291000,1795345955308000,0,0);
INSERT INTO "vde_work" VALUES(2,'w2','shop.sales','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','prod','intent',0,'{"work_id":"w2","model":"shop.sales","version":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","environment":"prod","intervals":[[1704067200000000,1704153600000000]],"inputs":{"raw.sales":7,"raw.empty":null},"base":null,"execution_time":1704067200000001,"session":null}',NULL,NULL,NULL,NULL,1795345955313000,NULL,0,0);
CREATE INDEX vde_promoted_by_version ON vde_promoted_snapshots (model, version, drifted)
;
CREATE INDEX vde_ledger_by_number ON vde_ledger (model, version, number)
;
CREATE INDEX vde_savings_by_time ON vde_savings (saved_at);
CREATE INDEX vde_work_by_version ON vde_work (model, version, state);
CREATE INDEX vde_work_sessions ON vde_work (model, version, is_session, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('vde_work',2);
INSERT INTO "sqlite_sequence" VALUES('vde_unlisted',2);
COMMIT;
