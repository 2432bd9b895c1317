-- The tables that the scripts in this folder use, as "pgbench -i" makes its own;
-- the head of a script names its workload:
--
--   psql -v workload=uuid -v engine=betree -v rows=100000 -f setup.sql
--   pgbench -n -D engine=betree -D rows=100000 -f betree_lookup.sql
--
-- (-M prepared is for ecp's only: the engine is a part of a table's name.)
--
-- Workloads: ecp, and uuid, iibench, device, ycsb, files, tiles and geo of
-- betree_bench, whose rows these are.  Engines of betree's: betree, btree, and for
-- tiles and geo also gist.  A table of another workload is dropped.  Vectors and
-- places are made up; "ecpbench --build-only FOLDER" and "betree_bench --keep=1
-- --points=FILE geo" make the same tables of real ones.
\set ON_ERROR_STOP 1
\if :{?workload}
\else
	\set workload uuid
\endif
\if :{?engine}
\else
	\set engine betree
\endif
\if :{?rows}
\else
	\set rows 100000
\endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS ecp;
\set table betree_bench_ :engine
DROP TABLE IF EXISTS :table;
SELECT :'workload' = 'ecp' AS is_ecp, :'workload' = 'uuid' AS is_uuid, :'workload' = 'iibench' AS is_iibench,
	:'workload' = 'device' AS is_device, :'workload' = 'ycsb' AS is_ycsb, :'workload' = 'files' AS is_files,
	:'workload' = 'tiles' AS is_tiles, :'workload' = 'geo' AS is_geo \gset

\if :is_ecp
-- around 200 places, as real vectors are around some, too
DROP TABLE IF EXISTS ecpbench_bytea;
DROP SEQUENCE IF EXISTS ecpbench_ids;
CREATE TABLE ecpbench_bytea (id integer, v bytea);
INSERT INTO ecpbench_bytea
SELECT i, decode(string_agg(lpad(to_hex(abs(hashint8extended(i % 200, e)) % 224 + abs(hashint8extended(i, e)) % 32), 2, '0'), '' ORDER BY e), 'hex')
FROM generate_series(0, :rows - 1) AS i, generate_series(1, 128) AS e GROUP BY i;
ALTER TABLE ecpbench_bytea ADD PRIMARY KEY (id);
CREATE INDEX ON ecpbench_bytea USING ecp (v);
-- numbers of rows that are inserted
CREATE SEQUENCE ecpbench_ids AS integer START 100000000;
\set table ecpbench_bytea

\elif :is_uuid
CREATE TABLE :table (k uuid, v bigint);
INSERT INTO :table SELECT md5(i::text)::uuid, i FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (k);

\elif :is_iibench
CREATE TABLE :table (id bigint, at timestamptz, cashreg int, cust int, product int, price real, data text);
INSERT INTO :table SELECT i, '2026-01-01'::timestamptz + i * interval '1 ms', (abs(hashint8extended(i, 1)) % 1000)::int,
	(abs(hashint8extended(i, 2)) % 100000)::int, (abs(hashint8extended(i, 3)) % 10000)::int,
	(abs(hashint8extended(i, 4)) % 50000) / 100.0, 'xxxxxxxxxx'
FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (price, cust);
CREATE INDEX ON :table USING :engine (cashreg, price, cust);
CREATE INDEX ON :table USING :engine (price, at, cust);

\elif :is_device
CREATE TABLE :table (device int, at timestamptz, reading real);
INSERT INTO :table SELECT (abs(hashint8extended(i, 1)) % 100000)::int, '2026-01-01'::timestamptz + i * interval '1 ms', i % 1000
FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (device, at);

\elif :is_ycsb
CREATE TABLE :table (k bigint, v text);
INSERT INTO :table SELECT hashint8extended(i, 1), md5(i::text) FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (k);

\elif :is_files
CREATE TABLE :table (path text COLLATE "C", inode bigint);
INSERT INTO :table SELECT format('/home/u%s/p%s/src/%s.c', abs(hashint8extended(i, 1)) % 1000, abs(hashint8extended(i, 2)) % 100,
	left(md5(i::text), 12)), i
FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (path);

\elif :is_tiles
CREATE TABLE :table (p point, tile bytea);
INSERT INTO :table SELECT point(abs(hashint8extended(i, 1)) % 10000, abs(hashint8extended(i, 2)) % 10000), '\x0123456789abcdef'
FROM generate_series(1, :rows) AS i;
CREATE INDEX ON :table USING :engine (p);

\elif :is_geo
DROP TABLE IF EXISTS betree_bench_places;
CREATE TABLE betree_bench_places (n int, lon float8, lat float8);
INSERT INTO betree_bench_places SELECT i, hashint8extended(i, 7) % 180, hashint8extended(i, 8) % 90 FROM generate_series(0, 999) AS i;
CREATE INDEX ON betree_bench_places (n);
CREATE TABLE :table (p point, v bigint);
INSERT INTO :table SELECT point(lon + (hashint8extended(i, 2) % 1000000) / 1e7, lat + (hashint8extended(i, 3) % 1000000) / 1e7), i
FROM generate_series(1, :rows) AS i JOIN betree_bench_places ON n = abs(hashint8extended(i, 1)) % 1000;
CREATE INDEX ON :table USING :engine (p);
VACUUM ANALYZE betree_bench_places;

\else
DO $$ BEGIN RAISE 'unrecognized workload: the head of setup.sql names them'; END $$;
\endif
VACUUM ANALYZE :table;
