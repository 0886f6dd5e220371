BEGIN TRANSACTION;
CREATE TABLE vde_leases (
	resource VARCHAR NOT NULL, 
	holder VARCHAR NOT NULL, 
	epoch BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	PRIMARY KEY (resource)
);
INSERT INTO "vde_leases" VALUES('environment:prod','',1,0);
INSERT INTO "vde_leases" VALUES('version:staging.events:ff34ffa55f305c1826ffe40a17303156','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.daily:a7759c6a9494f0f7be7e937abe10a9ac','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.hours:e1b1f66893d3f1f8567b3e942d8a2d16','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.history:71fb3ef9908a4cabf9530fda908e2327','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.keyed:b770314cfa508e7c8a000643c3b5689b','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.parted:9fa71588322fa5781ce956abd1459c77','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.people:c74e11056229c1396d0cb6286453da4e','',1,0);
INSERT INTO "vde_leases" VALUES('version:mart.totals:2c8ea1901c652e1e059bc1fb3c1403ad','',1,0);
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
	trace_json TEXT, 
	PRIMARY KEY (model, version, interval_start)
);
INSERT INTO "vde_ledger" VALUES('staging.events','ff34ffa55f305c1826ffe40a17303156',1704067200000000,1704153600000000,1,'6216621717345630705','10051726633383523767','[["id","bigint",""],["at","timestamp",""],["amount","bigint",""]]','f5e6ca09ecdf8a7d3f32477b821f2c4e491709f9e8b995cc6fc4939866d386d8','00000000000000000000000000000004',3000009,'computed','','xxhash64x2','{"key":"799971e3dcdf5194c04813a86c2e9186","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('staging.events','ff34ffa55f305c1826ffe40a17303156',1704153600000000,1704240000000000,1,'13454387831342476050','13151994195860725821','[["id","bigint",""],["at","timestamp",""],["amount","bigint",""]]','15545e4918fbf5c8303c0e5675e20fba279e2c7d76c0e7620ae4640625e93fd9','00000000000000000000000000000004',3000009,'computed','','xxhash64x2','{"key":"6d895450fb59ef1bf5b054fec899c932","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('staging.events','ff34ffa55f305c1826ffe40a17303156',1704240000000000,1704326400000000,1,'6226297923653651686','13413132221291674434','[["id","bigint",""],["at","timestamp",""],["amount","bigint",""]]','b180c662df8e2e3fbc563f51d26817c05ebe4b9e1e0f1d7ef3e620661901e582','00000000000000000000000000000004',3000009,'computed','','xxhash64x2','{"key":"3f7a452d7b1257d798c3b5c2697742ef","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.daily','a7759c6a9494f0f7be7e937abe10a9ac',1704067200000000,1704153600000000,1,'17581355689719625368','17234525198436323756','[["day","date",""],["amount","decimal(38,0)",""]]','eb0a2eeb4e080fe44a6a3d088080537d83f5e77e51478ae438ac23ac6028d89e','00000000000000000000000000000006',5000015,'computed','','xxhash64x2','{"key":"0730c87a0e9f7946eb2207c984b4e459","inputs":{"staging.events":"f5e6ca09ecdf8a7d3f32477b821f2c4e491709f9e8b995cc6fc4939866d386d8"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.daily','a7759c6a9494f0f7be7e937abe10a9ac',1704153600000000,1704240000000000,1,'451859505537123920','4457877268433476416','[["day","date",""],["amount","decimal(38,0)",""]]','c30574de54f8cc0f979e2e99c4cecb555839068544e8722d8787af0d75f5d05f','00000000000000000000000000000006',5000015,'computed','','xxhash64x2','{"key":"f6c1a8871cad0183a4ec8aa2851fd9e7","inputs":{"staging.events":"15545e4918fbf5c8303c0e5675e20fba279e2c7d76c0e7620ae4640625e93fd9"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.daily','a7759c6a9494f0f7be7e937abe10a9ac',1704240000000000,1704326400000000,1,'5556754325582765084','10071660816407834198','[["day","date",""],["amount","decimal(38,0)",""]]','ab64d7c7ccea3f15abb5abb162a8e2f03f4ec6b64aff2d412230a7bd3b19b0d5','00000000000000000000000000000006',5000015,'computed','','xxhash64x2','{"key":"5ee772717746bbeca46a27fa15ef759f","inputs":{"staging.events":"b180c662df8e2e3fbc563f51d26817c05ebe4b9e1e0f1d7ef3e620661901e582"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.hours','e1b1f66893d3f1f8567b3e942d8a2d16',1704067200000000,1704153600000000,1,'8567863132813551379','9015033721856935440','[["hour","timestamp",""],["n","bigint",""]]','4dd607a3f173ef93539c3abc847533790858bcef47644cb99a9d137dfa37f7d9','00000000000000000000000000000008',7000021,'computed','','xxhash64x2','{"key":"2763da434488a5ffae3c5eed3dbf37f7","inputs":{"staging.events":"f5e6ca09ecdf8a7d3f32477b821f2c4e491709f9e8b995cc6fc4939866d386d8"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.hours','e1b1f66893d3f1f8567b3e942d8a2d16',1704153600000000,1704240000000000,0,'0','0','[["hour","timestamp",""],["n","bigint",""]]','c973ccea3f000a147df1cb52023084e69c593487bb7cf790566e861e1b6e7afe','00000000000000000000000000000008',7000021,'computed','','xxhash64x2','{"key":"45949bd464814209e1980de9585c3706","inputs":{"staging.events":"15545e4918fbf5c8303c0e5675e20fba279e2c7d76c0e7620ae4640625e93fd9"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.hours','e1b1f66893d3f1f8567b3e942d8a2d16',1704240000000000,1704326400000000,1,'15477663367241301158','15774776544073554851','[["hour","timestamp",""],["n","bigint",""]]','58dea4d90240da285536fbf9bcca96a23a882e698adb5fd1c969d8bd0cafa5bc','00000000000000000000000000000008',7000021,'computed','','xxhash64x2','{"key":"aa33ceacd6e761fa22f59e333bd60f0a","inputs":{"staging.events":"b180c662df8e2e3fbc563f51d26817c05ebe4b9e1e0f1d7ef3e620661901e582"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.history','71fb3ef9908a4cabf9530fda908e2327',1704067200000000,1704326400000000,3,'14683083525373052004','17153210868281227107','[["day","date",""],["amount","decimal(38,0)",""],["valid_from","timestamp",""],["valid_to","timestamp",""]]','64f3b54930b3b66ced6e8d857efd777e31461ae854ee15aa5e43967615f9f4ae','0000000000000000000000000000000a',9000027,'computed','','xxhash64x2','{"key":"85b257535bde11d7c3c352975dc7f778","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.keyed','b770314cfa508e7c8a000643c3b5689b',1704067200000000,1704326400000000,3,'13132808232716873902','11312594099265108913','[["day","date",""],["amount","string",""]]','a0fcaf1bb77cb5bded17b54535f2052047b90cd217a6deacd4d4fd5973762bcc','0000000000000000000000000000000c',11000033,'computed','','xxhash64x2','{"key":"1455733b2484edf3fd6b429f8a3851cc","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.parted','9fa71588322fa5781ce956abd1459c77',1704067200000000,1704326400000000,3,'5143225447129962757','13317319209568082754','[["day","date",""],["amount","decimal(38,0)",""]]','b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae','0000000000000000000000000000000e',13000039,'computed','','xxhash64x2','{"key":"5c95be18804ba35f2bdb8652e714ae5d","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.people','c74e11056229c1396d0cb6286453da4e',0,253370764800000000,0,'0','0','[["day","date",""],["amount","decimal(38,0)",""]]','de56d2cd172ddfc18270f8774f9c497b29b3b0e9755a8d9ecc7df6078c7f78ea','00000000000000000000000000000010',NULL,'computed','','xxhash64x2','{"key":"bb7f77b49148e6d199a05b09121bfc16","inputs":{},"seconds":0.0}');
INSERT INTO "vde_ledger" VALUES('mart.totals','2c8ea1901c652e1e059bc1fb3c1403ad',1704067200000000,1704326400000000,1,'5356454536693859646','964300480289500109','[["days","bigint",""],["amount","decimal(38,0)",""]]','4011aae9305dc59d64ba76917407c70fc24bf50d48a8dae06014709c23f8ce53','00000000000000000000000000000012',15000045,'computed','','xxhash64x2','{"key":"806c4b2e0538f5fcf5e3fecc46ad32e5","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0}');
CREATE TABLE vde_marks (
	model VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	mark_json TEXT NOT NULL, 
	PRIMARY KEY (model, version, source)
);
INSERT INTO "vde_marks" VALUES('staging.events','ff34ffa55f305c1826ffe40a17303156','raw.events','{"source":"raw.events","table_uuid":"e56ceee3-2cd0-4e89-9083-6411e616b2b9","iceberg_snapshot_id":1000003,"sequence_number":1,"committed_at":1000000,"complete_to":1704326400000000}');
CREATE TABLE vde_owners (
	model VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	environment VARCHAR NOT NULL, 
	PRIMARY KEY (model, version)
);
INSERT INTO "vde_owners" VALUES('mart.base','6e43ce30d8569b459f1f9a697557e09a','prod');
INSERT INTO "vde_owners" VALUES('mart.daily','a7759c6a9494f0f7be7e937abe10a9ac','prod');
INSERT INTO "vde_owners" VALUES('mart.history','71fb3ef9908a4cabf9530fda908e2327','prod');
INSERT INTO "vde_owners" VALUES('mart.hours','e1b1f66893d3f1f8567b3e942d8a2d16','prod');
INSERT INTO "vde_owners" VALUES('mart.keyed','b770314cfa508e7c8a000643c3b5689b','prod');
INSERT INTO "vde_owners" VALUES('mart.parted','9fa71588322fa5781ce956abd1459c77','prod');
INSERT INTO "vde_owners" VALUES('mart.people','c74e11056229c1396d0cb6286453da4e','prod');
INSERT INTO "vde_owners" VALUES('mart.totals','2c8ea1901c652e1e059bc1fb3c1403ad','prod');
INSERT INTO "vde_owners" VALUES('raw.events','761660dc625b51eb157fe5f6b1d9353c','prod');
INSERT INTO "vde_owners" VALUES('staging.events','ff34ffa55f305c1826ffe40a17303156','prod');
CREATE TABLE vde_promoted_snapshots (
	environment VARCHAR NOT NULL, 
	revision INTEGER NOT NULL, 
	model VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	hidden BOOLEAN DEFAULT false NOT NULL, 
	PRIMARY KEY (environment, revision, model), 
	FOREIGN KEY(environment, revision) REFERENCES vde_promotions (environment, revision), 
	FOREIGN KEY(model, digest) REFERENCES vde_snapshots (model, digest)
);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'raw.events','dd077d85603a0629378ead825237b286',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'staging.events','47b0e7bcbf8ca1180bc03c0e8eec6812',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.base','c6583b261fbec888c3633a4326abd44d',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.daily','3f758f577569d1417f0a117258a59c4c',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.hours','a2e2009a795e38d5798a22463cc60f80',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.history','239f817c00784eb9ac87f40429aa9d73',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.keyed','a338b288e634f4f0017003bfb72f8190',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.parted','f3b78e238913a3c1d22c78243aeafd7f',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.people','3946e508537577b9f9b61b1d039bd09c',0);
INSERT INTO "vde_promoted_snapshots" VALUES('prod',1,'mart.totals','814137b32b4d466d99d0ca292c702639',0);
CREATE TABLE vde_promotions (
	environment VARCHAR NOT NULL, 
	revision INTEGER NOT NULL, 
	plan_id VARCHAR NOT NULL, 
	promoted_at BIGINT NOT NULL, 
	finished BOOLEAN NOT NULL, 
	PRIMARY KEY (environment, revision)
);
INSERT INTO "vde_promotions" VALUES('prod',1,'00000000000000000000000000000001',1795359782922000,1);
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
INSERT INTO "vde_snapshots" VALUES('mart.base','c6583b261fbec888c3633a4326abd44d','8aa4358a68c53a70b618a85bd836342c','42230fecbcd191ceaa547689b162bf0d','a2f63944edf1b81217c29433ef2c8f97','a93adc5fcf6f1aa7a28721b71b84094b','6e43ce30d8569b459f1f9a697557e09a',NULL,'["new model"]','{"path":"models/base.sql","text":"MODEL (name mart.base, kind EMBEDDED);\nSELECT id, at, amount FROM staging.events WHERE NOT amount = 5\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.daily','3f758f577569d1417f0a117258a59c4c','21e9a4d5cae2ccdce761b30cd8fd2461','42230fecbcd191ceaa547689b162bf0d','4889bbb35c6d8150c5450ebcf1fc319b','a93adc5fcf6f1aa7a28721b71b84094b','a7759c6a9494f0f7be7e937abe10a9ac',NULL,'["new model"]','{"path":"models/daily.sql","text":"MODEL (name mart.daily, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron ''@daily'');\nSELECT CAST(at AS DATE) AS day, SUM(amount) AS amount FROM staging.events\nWHERE at BETWEEN @start_dt AND @end_dt AND amount > 0\nGROUP BY CAST(at AS DATE)\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.history','239f817c00784eb9ac87f40429aa9d73','e63a2784e6426e284374b863dccffbe5','4f32ce4ca8b6f635c996ff36b58befec','7fb0904417c34791a9d522ccb972bd38','33019a4df4c9370fd49b0ca140db0ddd','71fb3ef9908a4cabf9530fda908e2327',NULL,'["new model"]','{"path":"models/history.sql","text":"MODEL (name mart.history, kind SCD_TYPE_2_BY_COLUMN (unique_key day, columns (amount)), cron ''@daily'');\nSELECT day, amount FROM mart.daily\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.hours','a2e2009a795e38d5798a22463cc60f80','8cdf5408984ed8f30e04840287a52c04','eb34b83d60f16e3e77657112b3ea72e4','aaa0f6e35e4972ddead206d7296d309a','15162a8f73deb0af9e6f0188b10cda18','e1b1f66893d3f1f8567b3e942d8a2d16',NULL,'["new model"]','{"path":"models/hours.sql","text":"MODEL (name mart.hours, kind INCREMENTAL_BY_TIME_RANGE (time_column hour, forward_only true), cron ''@daily'');\nSELECT DATE_TRUNC(''DAY'', at) AS hour, COUNT(1) AS n FROM mart.base WHERE at BETWEEN @start_dt AND @end_dt GROUP BY 1\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.keyed','a338b288e634f4f0017003bfb72f8190','e65fbdb7f7f078fc7ebac624daaa19df','4f32ce4ca8b6f635c996ff36b58befec','4889bbb35c6d8150c5450ebcf1fc319b','33019a4df4c9370fd49b0ca140db0ddd','b770314cfa508e7c8a000643c3b5689b',NULL,'["new model"]','{"path":"models/keyed.sql","text":"MODEL (name mart.keyed, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key day), cron ''@daily'');\nSELECT day, amount || '''' AS amount FROM mart.daily WHERE day BETWEEN @start_date AND @end_date\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.parted','f3b78e238913a3c1d22c78243aeafd7f','ba1a18d000b70ccc255709e1ee76a6c5','4f32ce4ca8b6f635c996ff36b58befec','314de71056842f5c64ed8f2caadfc55c','33019a4df4c9370fd49b0ca140db0ddd','9fa71588322fa5781ce956abd1459c77',NULL,'["new model"]','{"path":"models/parted.sql","text":"MODEL (name mart.parted, kind INCREMENTAL_BY_PARTITION, partitioned_by day, cron ''@daily'');\nSELECT day, amount FROM mart.daily\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.people','3946e508537577b9f9b61b1d039bd09c','7a3b8ab3a37bbfdedaf883fcc414c66b','4f32ce4ca8b6f635c996ff36b58befec','a2f63944edf1b81217c29433ef2c8f97','33019a4df4c9370fd49b0ca140db0ddd','c74e11056229c1396d0cb6286453da4e',NULL,'["new model"]','{"path":"models/people.sql","text":"MODEL (name mart.people, kind VIEW);\nSELECT day AS day, amount AS amount FROM mart.daily\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('mart.totals','814137b32b4d466d99d0ca292c702639','0f67f78319db4e632b2c587966e633fb','4f32ce4ca8b6f635c996ff36b58befec','a2f63944edf1b81217c29433ef2c8f97','33019a4df4c9370fd49b0ca140db0ddd','2c8ea1901c652e1e059bc1fb3c1403ad',NULL,'["new model"]','{"path":"models/totals.sql","text":"MODEL (name mart.totals, kind FULL, cron ''@daily'');\nSELECT COUNT(*) AS days, SUM(amount) AS amount FROM mart.daily\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('raw.events','dd077d85603a0629378ead825237b286','f03b0936eb751dcd92691a53ade182fe','cae66941d9efbd404e4d88758ea67670','a2f63944edf1b81217c29433ef2c8f97','cae66941d9efbd404e4d88758ea67670','761660dc625b51eb157fe5f6b1d9353c',NULL,'["new model"]','{"path":"external_models.yaml","text":"{\"name\": \"raw.events\", \"columns\": {\"id\": \"bigint\", \"at\": \"timestamp\", \"amount\": \"bigint\"}, \"line\": 1}","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
INSERT INTO "vde_snapshots" VALUES('staging.events','47b0e7bcbf8ca1180bc03c0e8eec6812','3d3c6b989405e65176513b82337dcda0','0152905c863c43d0fed98a7a58c8c571','7caa06dfdadca701524cd9a44d40335c','9d91ac430afb35327a73229bf78ccba8','ff34ffa55f305c1826ffe40a17303156',NULL,'["new model"]','{"path":"models/events.sql","text":"MODEL (\n  name staging.events,\n  kind INCREMENTAL_BY_TIME_RANGE (time_column at),\n  cron ''@daily'',\n  late_data (mode stateless, sources (raw.events))\n);\nSELECT id AS id, at AS at, amount AS amount FROM raw.events\nWHERE at BETWEEN @start_dt AND @end_dt\n","defaults":{"dialect":"spark","start":"2024-01-01T00:00:00+00:00","cron":"@daily","catalog":"lake"},"attachments":{}}','automatic','',0);
CREATE TABLE vde_state_version (
	version INTEGER NOT NULL, 
	applied_at BIGINT NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "vde_state_version" VALUES(3,1795359779702000);
CREATE TABLE vde_work (
	number INTEGER NOT NULL, 
	work_id VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	environment VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	is_session BOOLEAN NOT NULL, 
	intent_json TEXT NOT NULL, 
	publication_json TEXT, 
	audits_json TEXT, 
	reason TEXT, 
	started_at BIGINT NOT NULL, 
	finished_at BIGINT, 
	PRIMARY KEY (number), 
	UNIQUE (work_id)
);
INSERT INTO "vde_work" VALUES(1,'00000000000000000000000000000004','staging.events','ff34ffa55f305c1826ffe40a17303156','prod','done',1,'{"work_id":"00000000000000000000000000000004","model":"staging.events","version":"ff34ffa55f305c1826ffe40a17303156","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"raw.events":1000003},"base":null,"execution_time":1704067200000000,"session":{"before":null,"after":{"source":"raw.events","table_uuid":"e56ceee3-2cd0-4e89-9083-6411e616b2b9","iceberg_snapshot_id":1000003,"sequence_number":1,"committed_at":1000000,"complete_to":1704326400000000},"fill":[[1704067200000000,1704326400000000]],"held":[],"evidence":[]}}','{"iceberg_snapshot_id":3000009,"changes":[{"operation":"replace","interval":[1704067200000000,1704153600000000],"rows":[1,"6216621717345630705","10051726633383523767"],"digest":null,"standing":"computed","reason":"","trace":{"key":"799971e3dcdf5194c04813a86c2e9186","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704153600000000,1704240000000000],"rows":[1,"13454387831342476050","13151994195860725821"],"digest":null,"standing":"computed","reason":"","trace":{"key":"6d895450fb59ef1bf5b054fec899c932","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704240000000000,1704326400000000],"rows":[1,"6226297923653651686","13413132221291674434"],"digest":null,"standing":"computed","reason":"","trace":{"key":"3f7a452d7b1257d798c3b5c2697742ef","inputs":{"raw.events":"c28729cdc3812fc4bb8eeacbc8e0ce93"},"seconds":0.0},"kept":null}],"columns":[["id","bigint",""],["at","timestamp",""],["amount","bigint",""]],"mark":{"source":"raw.events","table_uuid":"e56ceee3-2cd0-4e89-9083-6411e616b2b9","iceberg_snapshot_id":1000003,"sequence_number":1,"committed_at":1000000,"complete_to":1704326400000000},"algorithm":"xxhash64x2"}',NULL,NULL,1795359780129000,1795359781370000);
INSERT INTO "vde_work" VALUES(2,'00000000000000000000000000000006','mart.daily','a7759c6a9494f0f7be7e937abe10a9ac','prod','done',0,'{"work_id":"00000000000000000000000000000006","model":"mart.daily","version":"a7759c6a9494f0f7be7e937abe10a9ac","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"staging.events":3000009},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":5000015,"changes":[{"operation":"replace","interval":[1704067200000000,1704153600000000],"rows":[1,"17581355689719625368","17234525198436323756"],"digest":null,"standing":"computed","reason":"","trace":{"key":"0730c87a0e9f7946eb2207c984b4e459","inputs":{"staging.events":"f5e6ca09ecdf8a7d3f32477b821f2c4e491709f9e8b995cc6fc4939866d386d8"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704153600000000,1704240000000000],"rows":[1,"451859505537123920","4457877268433476416"],"digest":null,"standing":"computed","reason":"","trace":{"key":"f6c1a8871cad0183a4ec8aa2851fd9e7","inputs":{"staging.events":"15545e4918fbf5c8303c0e5675e20fba279e2c7d76c0e7620ae4640625e93fd9"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704240000000000,1704326400000000],"rows":[1,"5556754325582765084","10071660816407834198"],"digest":null,"standing":"computed","reason":"","trace":{"key":"5ee772717746bbeca46a27fa15ef759f","inputs":{"staging.events":"b180c662df8e2e3fbc563f51d26817c05ebe4b9e1e0f1d7ef3e620661901e582"},"seconds":0.0},"kept":null}],"columns":[["day","date",""],["amount","decimal(38,0)",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359781454000,1795359781534000);
INSERT INTO "vde_work" VALUES(3,'00000000000000000000000000000008','mart.hours','e1b1f66893d3f1f8567b3e942d8a2d16','prod','done',0,'{"work_id":"00000000000000000000000000000008","model":"mart.hours","version":"e1b1f66893d3f1f8567b3e942d8a2d16","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"staging.events":3000009},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":7000021,"changes":[{"operation":"replace","interval":[1704067200000000,1704153600000000],"rows":[1,"8567863132813551379","9015033721856935440"],"digest":null,"standing":"computed","reason":"","trace":{"key":"2763da434488a5ffae3c5eed3dbf37f7","inputs":{"staging.events":"f5e6ca09ecdf8a7d3f32477b821f2c4e491709f9e8b995cc6fc4939866d386d8"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704153600000000,1704240000000000],"rows":[0,"0","0"],"digest":null,"standing":"computed","reason":"","trace":{"key":"45949bd464814209e1980de9585c3706","inputs":{"staging.events":"15545e4918fbf5c8303c0e5675e20fba279e2c7d76c0e7620ae4640625e93fd9"},"seconds":0.0},"kept":null},{"operation":"replace","interval":[1704240000000000,1704326400000000],"rows":[1,"15477663367241301158","15774776544073554851"],"digest":null,"standing":"computed","reason":"","trace":{"key":"aa33ceacd6e761fa22f59e333bd60f0a","inputs":{"staging.events":"b180c662df8e2e3fbc563f51d26817c05ebe4b9e1e0f1d7ef3e620661901e582"},"seconds":0.0},"kept":null}],"columns":[["hour","timestamp",""],["n","bigint",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359781601000,1795359781700000);
INSERT INTO "vde_work" VALUES(4,'0000000000000000000000000000000a','mart.history','71fb3ef9908a4cabf9530fda908e2327','prod','done',0,'{"work_id":"0000000000000000000000000000000a","model":"mart.history","version":"71fb3ef9908a4cabf9530fda908e2327","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"mart.daily":5000015},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":9000027,"changes":[{"operation":"replace","interval":[1704067200000000,1704326400000000],"rows":[3,"14683083525373052004","17153210868281227107"],"digest":null,"standing":"computed","reason":"","trace":{"key":"85b257535bde11d7c3c352975dc7f778","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0},"kept":null}],"columns":[["day","date",""],["amount","decimal(38,0)",""],["valid_from","timestamp",""],["valid_to","timestamp",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359781739000,1795359782117000);
INSERT INTO "vde_work" VALUES(5,'0000000000000000000000000000000c','mart.keyed','b770314cfa508e7c8a000643c3b5689b','prod','done',0,'{"work_id":"0000000000000000000000000000000c","model":"mart.keyed","version":"b770314cfa508e7c8a000643c3b5689b","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"mart.daily":5000015},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":11000033,"changes":[{"operation":"replace","interval":[1704067200000000,1704326400000000],"rows":[3,"13132808232716873902","11312594099265108913"],"digest":null,"standing":"computed","reason":"","trace":{"key":"1455733b2484edf3fd6b429f8a3851cc","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0},"kept":null}],"columns":[["day","date",""],["amount","string",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359782241000,1795359782494000);
INSERT INTO "vde_work" VALUES(6,'0000000000000000000000000000000e','mart.parted','9fa71588322fa5781ce956abd1459c77','prod','done',0,'{"work_id":"0000000000000000000000000000000e","model":"mart.parted","version":"9fa71588322fa5781ce956abd1459c77","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"mart.daily":5000015},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":13000039,"changes":[{"operation":"replace","interval":[1704067200000000,1704326400000000],"rows":[3,"5143225447129962757","13317319209568082754"],"digest":null,"standing":"computed","reason":"","trace":{"key":"5c95be18804ba35f2bdb8652e714ae5d","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0},"kept":null}],"columns":[["day","date",""],["amount","decimal(38,0)",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359782577000,1795359782655000);
INSERT INTO "vde_work" VALUES(7,'00000000000000000000000000000010','mart.people','c74e11056229c1396d0cb6286453da4e','prod','done',0,'{"work_id":"00000000000000000000000000000010","model":"mart.people","version":"c74e11056229c1396d0cb6286453da4e","environment":"prod","intervals":[[0,253370764800000000]],"inputs":{},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":null,"changes":[{"operation":"replace_all","interval":[0,253370764800000000],"rows":[0,"0","0"],"digest":"de56d2cd172ddfc18270f8774f9c497b29b3b0e9755a8d9ecc7df6078c7f78ea","standing":"computed","reason":"","trace":{"key":"bb7f77b49148e6d199a05b09121bfc16","inputs":{},"seconds":0.0},"kept":null}],"columns":[["day","date",""],["amount","decimal(38,0)",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359782712000,1795359782769000);
INSERT INTO "vde_work" VALUES(8,'00000000000000000000000000000012','mart.totals','2c8ea1901c652e1e059bc1fb3c1403ad','prod','done',0,'{"work_id":"00000000000000000000000000000012","model":"mart.totals","version":"2c8ea1901c652e1e059bc1fb3c1403ad","environment":"prod","intervals":[[1704067200000000,1704326400000000]],"inputs":{"mart.daily":5000015},"base":null,"execution_time":1704067200000000,"session":null}','{"iceberg_snapshot_id":15000045,"changes":[{"operation":"replace_all","interval":[1704067200000000,1704326400000000],"rows":[1,"5356454536693859646","964300480289500109"],"digest":null,"standing":"computed","reason":"","trace":{"key":"806c4b2e0538f5fcf5e3fecc46ad32e5","inputs":{"mart.daily":"b4cb90df4a154798afc592c22def61cb51ceeb710967be9611b1cbc846f211ae"},"seconds":0.0},"kept":null}],"columns":[["days","bigint",""],["amount","decimal(38,0)",""]],"mark":null,"algorithm":"xxhash64x2"}',NULL,NULL,1795359782818000,1795359782881000);
CREATE INDEX vde_work_sessions ON vde_work (model, version, is_session, number);
CREATE INDEX vde_work_by_version ON vde_work (model, version, state);
COMMIT;
