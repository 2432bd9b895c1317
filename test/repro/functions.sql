-- Functions of the library that only the reproduction kit and tests call: the
-- models by themselves, on figures in the place of tables and tablespaces, and
-- microbenchmarks.  No extension declares them, so a superuser does it here, in a
-- schema that DROP SCHEMA ecp_repro CASCADE removes.
CREATE SCHEMA ecp_repro;
GRANT USAGE ON SCHEMA ecp_repro TO PUBLIC;

CREATE FUNCTION ecp_repro.ecp_place_assign(weights float8[], speeds float8[], strategy text DEFAULT 'lpt',
	capacities float8[] DEFAULT NULL, current integer[] DEFAULT NULL,
	factor float8 DEFAULT 1.05, seed bigint DEFAULT 0)
RETURNS integer[]
AS '$libdir/ecp' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_repro.ecp_place_assign(float8[], float8[], text, float8[], integer[], float8, bigint) IS 'number of the target that a strategy assigns to each weight';

CREATE FUNCTION ecp_repro.ecp_place_makespan(weights float8[], speeds float8[], targets integer[])
RETURNS float8
AS '$libdir/ecp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_repro.ecp_place_makespan(float8[], float8[], integer[]) IS 'time at which the last target finishes';

CREATE FUNCTION ecp_repro.ecp_place_bound(weights float8[], speeds float8[])
RETURNS float8
AS '$libdir/ecp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_repro.ecp_place_bound(float8[], float8[]) IS 'lower bound of the makespan of any assignment';

CREATE FUNCTION ecp_repro.ecp_build_model(vectors float8, record_bytes float8, clusters float8,
	raw float8[], temp float8[], final float8[], temp_apart boolean DEFAULT false,
	in_buff float8 DEFAULT 134217728, dirty float8 DEFAULT 1717986918,
	cpu_assign_s float8 DEFAULT 0, cpu_merge_s float8 DEFAULT 0,
	OUT policy text, OUT assign_wait_s float8, OUT merge_wait_s float8, OUT total_s float8,
	OUT appends float8, OUT writes float8, OUT runs float8)
RETURNS SETOF record
AS '$libdir/ecp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 2;
COMMENT ON FUNCTION ecp_repro.ecp_build_model(float8, float8, float8, float8[], float8[], float8[], boolean, float8, float8, float8, float8) IS 'seconds of a build with both policies on devices given as {latency ms, read MB/s, write MB/s, small writes/s}';

CREATE FUNCTION ecp_repro.ecp_delay_fit(sizes float8[], delays_us float8[],
	OUT latency_us float8, OUT mb_s float8, OUT r2 float8, OUT half_bandwidth float8)
AS '$libdir/ecp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_repro.ecp_delay_fit(float8[], float8[]) IS 'the line delay = latency + size / throughput through measured delays';

CREATE FUNCTION ecp_repro.ecp_bench(tablespace name, tests text[] DEFAULT '{block,knn,sort,search}',
	workers integer[] DEFAULT '{1,2,4,8}', file_bytes bigint DEFAULT 67108864,
	seconds float8 DEFAULT 0.25, inputs integer[] DEFAULT '{1,4,16,64}', k integer DEFAULT 10,
	buffer_bytes bigint DEFAULT 8388608,
	OUT test text, OUT variant text, OUT processes integer, OUT size bigint,
	OUT wall_s float8, OUT mb_s float8, OUT us_per_op float8, OUT check_value float8)
RETURNS SETOF record
AS '$libdir/ecp' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_repro.ecp_bench(name, text[], integer[], bigint, float8, integer[], integer, bigint) IS 'four microbenchmarks on a tablespace by number of workers: block transfer, nearest neighbours, external sort, binary search';
REVOKE ALL ON FUNCTION ecp_repro.ecp_bench(name, text[], integer[], bigint, float8, integer[], integer, bigint) FROM PUBLIC;

CREATE FUNCTION ecp_repro.ecp_memory_bench(seconds float8 DEFAULT 0.1, OUT test text, OUT mb_s float8)
RETURNS SETOF record
AS '$libdir/ecp' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_repro.ecp_memory_bench(float8) IS 'memory throughput of initialising, copying and shuffling local and shared memory';
REVOKE ALL ON FUNCTION ecp_repro.ecp_memory_bench(float8) FROM PUBLIC;

-- the columns of ecp_stream_bench()
CREATE TYPE ecp_repro.stream_delays AS (stream integer, frames integer, mean_ms float8,
	p50_ms float8, p95_ms float8, p99_ms float8, max_ms float8, jitter_ms float8, late integer,
	utilisation float8, cpd_ms float8[]);

CREATE FUNCTION ecp_repro.ecp_stream_simulate(fps float8[], latency_ms float8, mb_s float8, devices integer DEFAULT 8,
	extents integer DEFAULT 8, extent_bytes integer DEFAULT 50000, time_slice float8 DEFAULT 1,
	slices integer DEFAULT 1000, harmonise boolean DEFAULT false)
RETURNS SETOF ecp_repro.stream_delays
AS '$libdir/ecp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_repro.ecp_stream_simulate(float8[], float8, float8, integer, integer, integer, float8, integer, boolean) IS 'delays of streams on devices of a given latency and throughput';

CREATE FUNCTION ecp_repro.ecp_stream_bench_files(tablespaces name[], fps float8[], extents integer DEFAULT 8,
	extent_bytes integer DEFAULT 50000, time_slice float8 DEFAULT 1, slices integer DEFAULT 10,
	harmonise boolean DEFAULT false, file_bytes bigint DEFAULT 67108864)
RETURNS SETOF ecp_repro.stream_delays
AS '$libdir/ecp' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_repro.ecp_stream_bench_files(name[], float8[], integer, integer, float8, integer, boolean, bigint) IS 'delays of streams read from files in these tablespaces, with a worker for each';
REVOKE ALL ON FUNCTION ecp_repro.ecp_stream_bench_files(name[], float8[], integer, integer, float8, integer, boolean, bigint) FROM PUBLIC;
