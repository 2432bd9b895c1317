#!/bin/bash
#
# DuckDB 1.5.5 with vss 1.5.5, sqlite-vec 0.1.9: a condition can be applied to the ten rows that
# the index returned, and a query for ten rows then returns none or one, without a warning.
#
# Expected: the ten nearest of the rows that fulfil the condition; 20 of 2,000 do.  What happens:
#
#   DuckDB      with an HNSW index, no WHERE is known to the search.  The same query has ten
#               rows before CREATE INDEX and after DROP INDEX.
#   sqlite-vec  "part = 7" on a column of vec0 is checked in the search, but "part + 0 = 7"
#               or "id % 100 = 7" behind it.  Both are accepted.
#
# To avoid it: in DuckDB no index for such queries; in sqlite-vec conditions of the form
# "column operator constant" only.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
	duckdb==1.5.5 duckdb-extension-vss==1.5.5 sqlite-vec==0.1.9 apsw==3.54.1.0
"$work/venv/bin/python" - <<'PYTHON'
import glob, os, random, struct
import apsw, duckdb, duckdb_extension_vss, sqlite_vec

random.seed(1)
rows = [(id, id % 100, [random.random() for _ in range(4)]) for id in range(2000)]
query = [.5, .5, .5, .5]

db = duckdb.connect()
db.execute("LOAD '%s'" % glob.glob(os.path.dirname(duckdb_extension_vss.__file__) + "/extensions/*/vss.duckdb_extension")[0])
db.execute("CREATE TABLE items (id int, part int, v float[4])")
db.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)

def ask(condition):
    sql = f"SELECT id FROM items WHERE {condition} ORDER BY array_distance(v, {query}::float[4]) LIMIT 10"
    return len(db.execute(sql).fetchall())

found = [ask("part = 7")]
db.execute("CREATE INDEX items_v ON items USING HNSW (v)")
found += [ask("part = 7"), ask("true")]
db.execute("DROP INDEX items_v")
found += [ask("part = 7")]
print("DuckDB, part = 7: %d rows; with the index %d (without the condition %d); dropped %d" % tuple(found))
assert found[0] == 10 and found[1] < 3 and found[2:] == [10, 10], "the behaviour has changed"

db = apsw.Connection(":memory:")
db.enable_load_extension(True)
db.load_extension(sqlite_vec.loadable_path())
db.execute("CREATE VIRTUAL TABLE items USING vec0(id integer PRIMARY KEY, part integer, v float[4])")
db.executemany("INSERT INTO items VALUES (?, ?, ?)", ((id, part, struct.pack("4f", *v)) for id, part, v in rows))
found = {}
for condition in "part = 7", "part + 0 = 7", "id % 100 = 7":
    found[condition] = len(db.execute(f"SELECT id FROM items WHERE v MATCH ? AND k = 10 AND {condition}",
        (struct.pack("4f", *query),)).fetchall())
print("sqlite-vec:", ", ".join(f"{condition}: {n} rows" for condition, n in found.items()))
n = list(found.values())
assert n[0] == 10 and n[1] < 3 and n[2] == n[1], "the behaviour has changed"
PYTHON
