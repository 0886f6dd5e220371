SET standard_conforming_strings = on;
CREATE TABLE public.vde_holdings (
    model character varying NOT NULL,
    version character varying NOT NULL,
    number bigint NOT NULL,
    removed bigint NOT NULL,
    holding_json text NOT NULL
);
CREATE TABLE public.vde_identity (
    state_id character varying NOT NULL
);
CREATE TABLE public.vde_last_looks (
    model character varying NOT NULL,
    version character varying NOT NULL,
    look_json text NOT NULL
);
CREATE TABLE public.vde_leases (
    resource character varying NOT NULL,
    holder character varying NOT NULL,
    epoch bigint NOT NULL,
    expires_at bigint NOT NULL,
    process_json text
);
CREATE TABLE public.vde_ledger (
    model character varying NOT NULL,
    version character varying NOT NULL,
    interval_start bigint NOT NULL,
    interval_end bigint NOT NULL,
    row_count bigint NOT NULL,
    high character varying NOT NULL,
    low character varying NOT NULL,
    columns_json text NOT NULL,
    digest character varying NOT NULL,
    work_id character varying NOT NULL,
    iceberg_snapshot_id bigint,
    standing character varying DEFAULT 'computed'::character varying NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    algorithm character varying DEFAULT 'xx2/1'::character varying NOT NULL,
    trace_json text,
    number bigint DEFAULT '0'::bigint NOT NULL
);
CREATE TABLE public.vde_marks (
    model character varying NOT NULL,
    version character varying NOT NULL,
    source character varying NOT NULL,
    mark_json text NOT NULL,
    previous_json text,
    work_id character varying,
    moved_at bigint
);
CREATE TABLE public.vde_owners (
    model character varying NOT NULL,
    version character varying NOT NULL,
    environment character varying NOT NULL
);
CREATE TABLE public.vde_pauses (
    environment character varying NOT NULL,
    model character varying NOT NULL,
    paused_at bigint NOT NULL,
    author character varying NOT NULL,
    reason text NOT NULL
);
CREATE TABLE public.vde_pending (
    model character varying NOT NULL,
    version character varying NOT NULL,
    pending_json text NOT NULL
);
CREATE TABLE public.vde_planned (
    environment character varying NOT NULL,
    model character varying NOT NULL,
    version character varying NOT NULL,
    planned_at bigint NOT NULL
);
CREATE TABLE public.vde_promoted_snapshots (
    environment character varying NOT NULL,
    revision integer NOT NULL,
    model character varying NOT NULL,
    digest character varying NOT NULL,
    hidden boolean DEFAULT false NOT NULL,
    version character varying DEFAULT ''::character varying NOT NULL,
    decided_by character varying DEFAULT 'automatic'::character varying NOT NULL,
    drifted boolean DEFAULT false NOT NULL,
    bounded_from bigint,
    instead_of character varying DEFAULT ''::character varying NOT NULL,
    preview boolean DEFAULT false NOT NULL
);
CREATE TABLE public.vde_promotions (
    environment character varying NOT NULL,
    revision integer NOT NULL,
    plan_id character varying NOT NULL,
    promoted_at bigint NOT NULL,
    finished boolean NOT NULL,
    author character varying DEFAULT ''::character varying NOT NULL,
    taken_from character varying,
    taken_revision integer,
    finished_at bigint,
    removed boolean DEFAULT false NOT NULL,
    forgotten boolean DEFAULT false NOT NULL
);
CREATE TABLE public.vde_questions (
    work_id character varying NOT NULL,
    question_json text NOT NULL
);
CREATE TABLE public.vde_savings (
    occasion character varying NOT NULL,
    model character varying NOT NULL,
    version character varying NOT NULL,
    environment character varying NOT NULL,
    kind character varying NOT NULL,
    saved_at bigint NOT NULL,
    intervals bigint NOT NULL,
    time_covered bigint,
    row_count bigint NOT NULL,
    seconds double precision,
    untimed bigint NOT NULL
);
CREATE TABLE public.vde_snapshots (
    model character varying NOT NULL,
    digest character varying NOT NULL,
    data character varying NOT NULL,
    parent_data character varying NOT NULL,
    metadata character varying NOT NULL,
    parent_metadata character varying NOT NULL,
    version character varying NOT NULL,
    category character varying,
    reasons_json text NOT NULL,
    source_json text NOT NULL,
    decided_by character varying DEFAULT 'automatic'::character varying NOT NULL,
    decided_from character varying DEFAULT ''::character varying NOT NULL,
    drifted boolean DEFAULT false NOT NULL
);
CREATE TABLE public.vde_state_version (
    version integer NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE public.vde_tombstones (
    model character varying NOT NULL,
    version character varying NOT NULL,
    recorded_at bigint NOT NULL,
    dropping boolean DEFAULT false NOT NULL,
    table_uuid character varying DEFAULT ''::character varying NOT NULL,
    location text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.vde_unlisted (
    number bigint NOT NULL,
    model character varying NOT NULL,
    version character varying NOT NULL,
    work_id character varying
);
CREATE SEQUENCE public.vde_unlisted_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.vde_unlisted_number_seq OWNED BY public.vde_unlisted.number;
CREATE TABLE public.vde_work (
    number bigint NOT NULL,
    work_id character varying NOT NULL,
    model character varying NOT NULL,
    version character varying NOT NULL,
    environment character varying NOT NULL,
    state character varying NOT NULL,
    is_session boolean NOT NULL,
    intent_json text NOT NULL,
    publication_json text,
    audits_json text,
    reason text,
    started_at bigint NOT NULL,
    finished_at bigint,
    drifted boolean DEFAULT false NOT NULL,
    iceberg_snapshot_id bigint,
    accepted boolean DEFAULT false NOT NULL
);
CREATE SEQUENCE public.vde_work_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.vde_work_number_seq OWNED BY public.vde_work.number;
ALTER TABLE ONLY public.vde_unlisted ALTER COLUMN number SET DEFAULT nextval('public.vde_unlisted_number_seq'::regclass);
ALTER TABLE ONLY public.vde_work ALTER COLUMN number SET DEFAULT nextval('public.vde_work_number_seq'::regclass);
INSERT INTO public.vde_identity VALUES ('0123456789abcdef0123456789abcdef');
INSERT INTO public.vde_leases VALUES ('environment prod', '', 1, 0, NULL);
INSERT INTO public.vde_leases VALUES ('environment dev', 'plan p2', 1, 1795346017631542, NULL);
INSERT INTO public.vde_leases VALUES ('shop.sales@aaaaaaaa', 'me', 1, 1795346017642794, NULL);
INSERT INTO public.vde_ledger VALUES ('shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1704067200000000, 1704153600000000, 3, '18446744073709551615', '9223372036854775808', '[["day","date",""],["n","bigint","count"]]', '8449f33872bb79d0f05bcb773aaff8346a1738a8e6762d758e76a78783191c67', 'w1', 4611686018427387904, 'computed', '', 'xx2/1', NULL, 0);
INSERT INTO public.vde_marks VALUES ('shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'raw.sales', '{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null}', NULL, NULL, NULL);
INSERT INTO public.vde_owners VALUES ('shop.orders', 'e65e768ece52ecfaefb31740bfbfdb92', 'prod');
INSERT INTO public.vde_owners VALUES ('shop.sales', '26a359a93170b60c4d90318e2424841c', 'prod');
INSERT INTO public.vde_owners VALUES ('shop.sales', '9242b397da16ee5d947954490fd9496d', 'dev');
INSERT INTO public.vde_promoted_snapshots VALUES ('prod', 1, 'shop.sales', '2073f23aabdbcf528418bb6979c5bce1', false, '26a359a93170b60c4d90318e2424841c', 'automatic', false, NULL, '', false);
INSERT INTO public.vde_promoted_snapshots VALUES ('prod', 1, 'shop.orders', 'ead77ec211065c80cb1e0465866df0ef', false, 'e65e768ece52ecfaefb31740bfbfdb92', 'automatic', false, NULL, '', false);
INSERT INTO public.vde_promoted_snapshots VALUES ('dev', 1, 'shop.sales', '7a02fc7a5f5b4e196d16ca2612eb8c98', false, '9242b397da16ee5d947954490fd9496d', 'automatic', false, NULL, '', false);
INSERT INTO public.vde_promoted_snapshots VALUES ('dev', 1, 'shop.orders', 'ead77ec211065c80cb1e0465866df0ef', false, 'e65e768ece52ecfaefb31740bfbfdb92', 'automatic', false, NULL, '', false);
INSERT INTO public.vde_promotions VALUES ('prod', 1, 'p1', 1795345957615208, true, '', NULL, NULL, NULL, false, false);
INSERT INTO public.vde_promotions VALUES ('dev', 1, 'p2', 1795345957638473, false, '', NULL, NULL, NULL, false, false);
INSERT INTO public.vde_snapshots VALUES ('shop.orders', 'ead77ec211065c80cb1e0465866df0ef', 'e65e768ece52ecfaefb31740bfbfdb92', '11111111111111111111111111111111', '22222222222222222222222222222222', '33333333333333333333333333333333', 'e65e768ece52ecfaefb31740bfbfdb92', NULL, '["new model"]', '{"path":"models/shop/sales.sql","text":"SELECT 1","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}', 'automatic', '', false);
INSERT INTO public.vde_snapshots VALUES ('shop.sales', '2073f23aabdbcf528418bb6979c5bce1', '26a359a93170b60c4d90318e2424841c', '11111111111111111111111111111111', '22222222222222222222222222222222', '33333333333333333333333333333333', '26a359a93170b60c4d90318e2424841c', 'indirect_non_breaking', '["a column was added: n","n\u00e4her"]', '{"path":"models/shop/sales.sql","text":"SELECT 1","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}', 'automatic', '', false);
INSERT INTO public.vde_snapshots VALUES ('shop.sales', '7a02fc7a5f5b4e196d16ca2612eb8c98', '9242b397da16ee5d947954490fd9496d', '11111111111111111111111111111111', '22222222222222222222222222222222', '33333333333333333333333333333333', '9242b397da16ee5d947954490fd9496d', 'indirect_non_breaking', '["a column was added: n","n\u00e4her"]', '{"path":"models/shop/sales.sql","text":"SELECT 2","defaults":{"dialect":"spark"},"attachments":{"macros/m.py":"x = 1\n"}}', 'automatic', '', false);
INSERT INTO public.vde_state_version VALUES (10, 1795800000000000);
INSERT INTO public.vde_unlisted VALUES (1, 'shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'w1');
INSERT INTO public.vde_unlisted VALUES (2, 'shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', NULL);
INSERT INTO public.vde_work VALUES (2, 'w2', 'shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'prod', 'intent', false, '{"work_id":"w2","model":"shop.sales","version":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","environment":"prod","intervals":[[1704067200000000,1704153600000000]],"inputs":{"raw.sales":7,"raw.empty":null},"base":null,"execution_time":1704067200000001,"session":null}', NULL, NULL, NULL, 1795345957665644, NULL, false, NULL, false);
INSERT INTO public.vde_work VALUES (1, 'w1', 'shop.sales', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'prod', 'done', true, '{"work_id":"w1","model":"shop.sales","version":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","environment":"prod","intervals":[[1704067200000000,1704153600000000]],"inputs":{"raw.sales":7,"raw.empty":null},"base":null,"execution_time":1704067200000001,"session":{"sources":[{"before":{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387905,"sequence_number":1,"committed_at":1704067200000000,"complete_to":null},"after":{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null},"evidence":[{"partition":[["day",19723],["shop",null]],"files":2,"rows":9}]}],"fill":[[1704153600000000,1704240000000000]],"held":[[1704067200000000,1704153600000000]]}}', '{"iceberg_snapshot_id":4611686018427387904,"changes":[{"operation":"replace","interval":[1704067200000000,1704153600000000],"rows":[3,"18446744073709551615","9223372036854775808"],"digest":null,"standing":"computed","reason":"","trace":null,"kept":null}],"columns":[["day","date",""],["n","bigint","count"]],"algorithm":"xx2/1","marks":[{"source":"raw.sales","table_uuid":"5f0c","iceberg_snapshot_id":4611686018427387906,"sequence_number":2,"committed_at":1704067200000000,"complete_to":null}]}', NULL, NULL, 1795345957645013, 1795345957664204, false, 4611686018427387904, false);
SELECT pg_catalog.setval('public.vde_unlisted_number_seq', 2, true);
SELECT pg_catalog.setval('public.vde_work_number_seq', 2, true);
ALTER TABLE ONLY public.vde_holdings
    ADD CONSTRAINT vde_holdings_pkey PRIMARY KEY (model, version);
ALTER TABLE ONLY public.vde_identity
    ADD CONSTRAINT vde_identity_pkey PRIMARY KEY (state_id);
ALTER TABLE ONLY public.vde_last_looks
    ADD CONSTRAINT vde_last_looks_pkey PRIMARY KEY (model, version);
ALTER TABLE ONLY public.vde_leases
    ADD CONSTRAINT vde_leases_pkey PRIMARY KEY (resource);
ALTER TABLE ONLY public.vde_ledger
    ADD CONSTRAINT vde_ledger_pkey PRIMARY KEY (model, version, interval_start);
ALTER TABLE ONLY public.vde_marks
    ADD CONSTRAINT vde_marks_pkey PRIMARY KEY (model, version, source);
ALTER TABLE ONLY public.vde_owners
    ADD CONSTRAINT vde_owners_pkey PRIMARY KEY (model, version);
ALTER TABLE ONLY public.vde_pauses
    ADD CONSTRAINT vde_pauses_pkey PRIMARY KEY (environment, model);
ALTER TABLE ONLY public.vde_pending
    ADD CONSTRAINT vde_pending_pkey PRIMARY KEY (model, version);
ALTER TABLE ONLY public.vde_planned
    ADD CONSTRAINT vde_planned_pkey PRIMARY KEY (environment, model, version);
ALTER TABLE ONLY public.vde_promoted_snapshots
    ADD CONSTRAINT vde_promoted_snapshots_pkey PRIMARY KEY (environment, revision, model);
ALTER TABLE ONLY public.vde_promotions
    ADD CONSTRAINT vde_promotions_pkey PRIMARY KEY (environment, revision);
ALTER TABLE ONLY public.vde_questions
    ADD CONSTRAINT vde_questions_pkey PRIMARY KEY (work_id);
ALTER TABLE ONLY public.vde_savings
    ADD CONSTRAINT vde_savings_pkey PRIMARY KEY (occasion, model);
ALTER TABLE ONLY public.vde_snapshots
    ADD CONSTRAINT vde_snapshots_pkey PRIMARY KEY (model, digest);
ALTER TABLE ONLY public.vde_state_version
    ADD CONSTRAINT vde_state_version_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.vde_tombstones
    ADD CONSTRAINT vde_tombstones_pkey PRIMARY KEY (model, version);
ALTER TABLE ONLY public.vde_unlisted
    ADD CONSTRAINT vde_unlisted_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.vde_work
    ADD CONSTRAINT vde_work_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.vde_work
    ADD CONSTRAINT vde_work_work_id_key UNIQUE (work_id);
CREATE INDEX vde_ledger_by_number ON public.vde_ledger USING btree (model, version, number);
CREATE INDEX vde_promoted_by_version ON public.vde_promoted_snapshots USING btree (model, version, drifted);
CREATE INDEX vde_savings_by_time ON public.vde_savings USING btree (saved_at);
CREATE INDEX vde_work_by_version ON public.vde_work USING btree (model, version, state);
CREATE INDEX vde_work_sessions ON public.vde_work USING btree (model, version, is_session, number);
ALTER TABLE ONLY public.vde_promoted_snapshots
    ADD CONSTRAINT vde_promoted_snapshots_environment_revision_fkey FOREIGN KEY (environment, revision) REFERENCES public.vde_promotions(environment, revision);
ALTER TABLE ONLY public.vde_promoted_snapshots
    ADD CONSTRAINT vde_promoted_snapshots_model_digest_fkey FOREIGN KEY (model, digest) REFERENCES public.vde_snapshots(model, digest);
