/*-------------------------------------------------------------------------
 *
 * betree_workloads.h
 *	  What betree_bench runs: tables, indexes, inserts and queries as SQL.
 *
 * Every row is a function of its number, so that all engines get the same
 * rows and a run can be repeated.  In the texts @table is
 * the table, @places the number of places of --points, @rows --rows.  Inserts
 * have $1 and $2, the first and last row number of a statement; queries have
 * $1, a number below the count of rows, from which they take their key, and
 * return one text that is the same whatever index they use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_WORKLOADS_H
#define BETREE_WORKLOADS_H

#define MAX_ENGINES		4
#define MAX_QUERIES		5

typedef struct Engine
{
	const char *name;			/* also the suffix of the table's name */
	const char *index;			/* CREATE INDEX commands; @with is replaced by
								 * --with */
} Engine;

typedef struct Query
{
	const char *name;
	const char *sql;
	const char *engine;			/* only for this one; NULL for all others */
	const char *setting;		/* SET commands that bind the plan */
} Query;

typedef struct Workload
{
	const char *name;
	const char *about;
	const char *columns;
	const char *load;			/* rows before the clock */
	const char *insert;			/* rows inside the clock; NULL: as load */
	const char *insert_none;	/* the same for the table without index; NULL:
								 * as insert */
	int			load_timed;		/* index first, and the load is a result */
	int			mixed;			/* queries run between the inserts */
	int			aging;			/* cycles of delete, vacuum, insert */
	int			needs_points;
	int			min_version;	/* of the server */
	Engine		engines[MAX_ENGINES];
	Query		queries[MAX_QUERIES];
} Workload;

#define ROWS		" FROM generate_series($1::bigint, $2::bigint) i"
#define HASH(n)		"hashint8extended(i, " #n ")"
#define UUID		"md5(i::text)::uuid"
#define NO_BITMAP	"SET enable_seqscan = off; SET enable_bitmapscan = off"

#define BTREE(columns) \
	{"btree", "CREATE INDEX ON @table USING btree (" columns ")"}
#define BETREE(columns) \
	{"betree", "CREATE INDEX ON @table USING betree (" columns ") @with"}

#define UNIQUE_BTREE(columns) \
	{"btree", "CREATE UNIQUE INDEX ON @table USING btree (" columns ")"}
#define UNIQUE_BETREE(columns) \
	{"betree", "CREATE UNIQUE INDEX ON @table USING betree (" columns ") @with"}

/* Even rows are new, odd ones have the key of any of the rows that were loaded,
 * each another one within a statement */
#define HALF_NEW	"md5((CASE i % 2 WHEN 0 THEN i" \
	" ELSE i * 1000003 % @rows + 1 END)::text)::uuid"

/* A row that is there, by its key */
#define UUID_LOOKUP \
	{"lookup", "SELECT v::text FROM @table WHERE k = md5($1::text)::uuid", \
		NULL, NO_BITMAP}

static const Workload workloads[] = {
	{
		.name = "uuid",
		.about = "random inserts beyond memory: uuid keys",
		.columns = "k uuid, v bigint",
		.load = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.engines = {BTREE("k"), BETREE("k")},
		.queries = {
			UUID_LOOKUP,
			{"range10000", "SELECT sum(v)::text FROM (SELECT v FROM @table"
				" WHERE k >= md5($1::text)::uuid ORDER BY k LIMIT 10000) s",
			NULL, NO_BITMAP},
			{"range10000_index", "SELECT count(k)::text FROM (SELECT k FROM @table"
				" WHERE k >= md5($1::text)::uuid ORDER BY k LIMIT 10000) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "unique",
		.about = "random inserts into a unique index of uuid keys",
		.columns = "k uuid, v bigint",
		.load = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.engines = {UNIQUE_BTREE("k"), UNIQUE_BETREE("k")},
		.queries = {
			UUID_LOOKUP,
			{"absent", "SELECT v::text FROM @table"
				" WHERE k = md5('absent ' || $1::text)::uuid",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "nothing",
		.about = "ON CONFLICT DO NOTHING, half of the keys new",
		.columns = "k uuid, v bigint",
		.load = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.insert = "INSERT INTO @table SELECT " HALF_NEW ", i" ROWS
		" ON CONFLICT (k) DO NOTHING",
		.insert_none = "INSERT INTO @table SELECT " UUID ", i" ROWS
		" WHERE i % 2 = 0",
		.min_version = 180000,
		.engines = {UNIQUE_BTREE("k"), UNIQUE_BETREE("k")},
		.queries = {
			UUID_LOOKUP,
		}
	},
	{
		.name = "update",
		.about = "ON CONFLICT DO UPDATE, half of the keys new",
		.columns = "k uuid, v bigint",
		.load = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.insert = "INSERT INTO @table SELECT " HALF_NEW ", i" ROWS
		" ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		.insert_none = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.min_version = 180000,
		.engines = {UNIQUE_BTREE("k"), UNIQUE_BETREE("k")},
		.queries = {
			UUID_LOOKUP,
		}
	},
	{
		.name = "seed",
		.about = "the seed's table: serial rows, then random ones",
		.columns = "k bigint, v bigint",
		.load = "INSERT INTO @table SELECT i, i" ROWS,
		.insert = "INSERT INTO @table SELECT abs(" HASH(1) ") % @rows, i" ROWS,
		.load_timed = 1,
		.engines = {BTREE("k"), BETREE("k")},
		.queries = {
			{"lookup", "SELECT v::text FROM @table WHERE k = $1::bigint + 1",
			NULL, NO_BITMAP},
			{"range1000", "SELECT sum(v)::text FROM (SELECT v FROM @table"
				" WHERE k >= $1::bigint ORDER BY k LIMIT 1000) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "iibench",
		.about = "purchases with three secondary indexes",
		.columns = "id bigint, at timestamptz, cashreg int, cust int,"
		" product int, price real, data text",
		.load = "INSERT INTO @table SELECT i, '2026-01-01'::timestamptz"
		" + i * interval '1 ms', (abs(" HASH(1) ") % 1000)::int,"
		" (abs(" HASH(2) ") % 100000)::int, (abs(" HASH(3) ") % 10000)::int,"
		" (abs(" HASH(4) ") % 50000) / 100.0, 'xxxxxxxxxx'" ROWS,
		.engines = {
			{"btree", "CREATE INDEX ON @table USING btree (price, cust);"
				"CREATE INDEX ON @table USING btree (cashreg, price, cust);"
			"CREATE INDEX ON @table USING btree (price, at, cust)"},
			{"betree", "CREATE INDEX ON @table USING betree (price, cust) @with;"
				"CREATE INDEX ON @table USING betree (cashreg, price, cust) @with;"
			"CREATE INDEX ON @table USING betree (price, at, cust) @with"},
		},
		.queries = {
			{"range1000", "SELECT count(price)::text FROM (SELECT price, cust"
				" FROM @table WHERE price >= ($1::bigint % 50000) / 100.0::real"
				" ORDER BY price, cust LIMIT 1000) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "device",
		.about = "(device, time) ingestion of 100,000 devices",
		.columns = "device int, at timestamptz, reading real",
		.load = "INSERT INTO @table SELECT (abs(" HASH(1) ") % 100000)::int,"
		" '2026-01-01'::timestamptz + i * interval '1 ms', i % 1000" ROWS,
		.engines = {BTREE("device, at"), BETREE("device, at")},
		.queries = {
			{"last100", "SELECT sum(reading)::text FROM (SELECT reading FROM @table"
				" WHERE device = ($1::bigint % 100000)"
				" ORDER BY device DESC, at DESC LIMIT 100) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "ycsb",
		.about = "lookups and 100-row scans while inserting",
		.columns = "k bigint, v text",
		.load = "INSERT INTO @table SELECT " HASH(1) ", md5(i::text)" ROWS,
		.mixed = 1,
		.engines = {BTREE("k"), BETREE("k")},
		.queries = {
			{"lookup", "SELECT v FROM @table"
				" WHERE k = hashint8extended($1::bigint, 1)",
			NULL, NO_BITMAP},
			{"scan100", "SELECT max(v) FROM (SELECT v FROM @table"
				" WHERE k >= hashint8extended($1::bigint, 1)"
				" ORDER BY k LIMIT 100) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "files",
		.about = "file creation: path keys, each with an inode number",
		.columns = "path text COLLATE \"C\", inode bigint",
		.load = "INSERT INTO @table SELECT format('/home/u%s/p%s/src/%s.c',"
		" abs(" HASH(1) ") % 1000, abs(" HASH(2) ") % 100,"
		" left(md5(i::text), 12)), i" ROWS,
		.engines = {BTREE("path"), BETREE("path")},
		.queries = {
			{"list", "SELECT count(path)::text FROM @table WHERE path >="
				" format('/home/u%s/p%s/', $1::bigint % 1000, $1::bigint % 100)"
				" AND path < format('/home/u%s/p%s0', $1::bigint % 1000,"
				" $1::bigint % 100)",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "tiles",
		.about = "SSCA#3-like: tiles written by (x, y), read as windows",
		.columns = "p point, tile bytea",
		.load = "INSERT INTO @table SELECT point(abs(" HASH(1) ") % 10000,"
		" abs(" HASH(2) ") % 10000), '\\x0123456789abcdef'::bytea" ROWS,
		.engines = {
			BTREE("(p[0]), (p[1])"), BETREE("p"),
			{"gist", "CREATE INDEX ON @table USING gist (p)"}
		},
		.queries = {
			{"window100", "SELECT count(*)::text FROM @table WHERE p <@ box("
				"point($1::bigint % 9900, $1::bigint / 9900 % 9900),"
				"point($1::bigint % 9900 + 100, $1::bigint / 9900 % 9900 + 100))",
			NULL, NO_BITMAP},
			{"window100", "SELECT count(*)::text FROM @table"
				" WHERE p[0] BETWEEN $1::bigint % 9900 AND $1::bigint % 9900 + 100"
				" AND p[1] BETWEEN $1::bigint / 9900 % 9900"
				" AND $1::bigint / 9900 % 9900 + 100",
			"btree", NO_BITMAP},
		}
	},
	{
		.name = "aging",
		.about = "size and scans after cycles of delete, vacuum and insert",
		.columns = "k uuid, v bigint",
		.load = "INSERT INTO @table SELECT " UUID ", i" ROWS,
		.aging = 1,
		.engines = {
			BTREE("k"),
			{"btree_ff70", "CREATE INDEX ON @table USING btree (k) WITH (fillfactor = 70)"},
			BETREE("k")
		},
		.queries = {
			{"range10000_index", "SELECT count(k)::text FROM (SELECT k FROM @table"
				" WHERE k >= md5($1::text)::uuid ORDER BY k LIMIT 10000) s",
			NULL, NO_BITMAP},
		}
	},
	{
		.name = "geo",
		.about = "points around the places of a file, radius queries",
		.columns = "p point, v bigint",
		.load = "INSERT INTO @table SELECT point("
		"lon + (" HASH(2) " % 1000000) / 1e7, lat + (" HASH(3) " % 1000000) / 1e7), i"
		ROWS " JOIN betree_bench_places ON n = abs(" HASH(1) ") % @places",
		.needs_points = 1,
		.engines = {
			{"gist", "CREATE INDEX ON @table USING gist (p)"},
			BETREE("p"),
			{"spgist", "CREATE INDEX ON @table USING spgist (p)"}
		},
		.queries = {
			{"radius0.1", "SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM @table"
				" WHERE p <@ (SELECT circle(point(lon, lat), 0.1)"
				" FROM betree_bench_places"
				" WHERE n = abs(hashint8extended($1::bigint, 9)) % @places)",
			NULL, NO_BITMAP},
			{"radius0.1", "SELECT count(*) || ' ' || coalesce(sum(v), 0) FROM @table"
				" WHERE p <@ (SELECT circle(point(lon, lat), 0.1)"
				" FROM betree_bench_places"
				" WHERE n = abs(hashint8extended($1::bigint, 9)) % @places)"
				" AND p <@ (SELECT box(point(lon - 0.11, lat - 0.11),"
				" point(lon + 0.11, lat + 0.11)) FROM betree_bench_places"
				" WHERE n = abs(hashint8extended($1::bigint, 9)) % @places)",
			"spgist", NO_BITMAP},
			{"seed_radius", "SELECT count(*) || ' ' || coalesce(sum(v), 0)"
				" FROM @table WHERE p <@ circle(point(71.3, 42.0), 0.1)"
				" AND $1::bigint IS NOT NULL",
			NULL, NO_BITMAP},
			{"seed_radius", "SELECT count(*) || ' ' || coalesce(sum(v), 0)"
				" FROM @table WHERE p <@ circle(point(71.3, 42.0), 0.1)"
				" AND p <@ box(point(71.19, 41.89), point(71.41, 42.11))"
				" AND $1::bigint IS NOT NULL",
			"spgist", NO_BITMAP},
		}
	},
};

#endif							/* BETREE_WORKLOADS_H */
