#!/bin/bash
#
# DuckDB 2.0.1 and sqlite-vec 0.1.9: a row whose vector is zero (the embedding of an
# empty text, say) is the nearest of all by cosine.
#
# Expected: it has no direction, so it comes last, or not at all.  What happens:
#
#   DuckDB      the similarity is NaN, which is the greatest number there: it is first
#               by "ORDER BY array_cosine_similarity(...) DESC" and fulfils "> 0.9".  By
#               array_cosine_distance it is last, so the two ways to write a query differ.
#   sqlite-vec  the distance is NULL, and vec0 returns the row first for every query: with
#               k = 1 nothing else is found.
#
# To avoid it: keep zero vectors out, or add a condition (isfinite(...)) in DuckDB.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check duckdb==2.0.1 sqlite-vec==0.1.9 apsw==3.54.1.0
"$work/venv/bin/python" - <<'PYTHON'
import struct
import apsw, duckdb, sqlite_vec

rows = [(0, [0, 0]), (1, [1, 0]), (2, [0, 1])]          # the query is [1, 0]: row 1

db = duckdb.connect()
db.execute("CREATE TABLE items (id int, v float[2])")
db.executemany("INSERT INTO items VALUES (?, ?)", rows)
ask = lambda sql: [id for id, in db.execute(sql).fetchall()]
similarity = "array_cosine_similarity(v, [1, 0]::float[2])"
found = {
    "DuckDB, by similarity": ask(f"SELECT id FROM items ORDER BY {similarity} DESC"),
    "DuckDB, by distance": ask("SELECT id FROM items ORDER BY array_cosine_distance(v, [1, 0]::float[2])"),
    "DuckDB, above 0.9": sorted(ask(f"SELECT id FROM items WHERE {similarity} > 0.9")),
}

db = apsw.Connection(":memory:")
db.enable_load_extension(True)
db.load_extension(sqlite_vec.loadable_path())
db.execute("CREATE VIRTUAL TABLE items USING vec0(id integer PRIMARY KEY, v float[2] distance_metric=cosine)")
for id, v in rows:
    db.execute("INSERT INTO items VALUES (?, ?)", (id, struct.pack("2f", *v)))
for k in (3, 1):
    found[f"sqlite-vec, k = {k}"] = db.execute("SELECT id, distance FROM items WHERE v MATCH ? AND k = ?",
        (struct.pack("2f", 1, 0), k)).fetchall()

for what, ids in found.items():
    print(f"{what}: {ids}")
assert found == {
    "DuckDB, by similarity": [0, 1, 2],
    "DuckDB, by distance": [1, 2, 0],
    "DuckDB, above 0.9": [0, 1],
    "sqlite-vec, k = 3": [(0, None), (1, 0.0), (2, 1.0)],
    "sqlite-vec, k = 1": [(0, None)],
}, "the behaviour has changed"
PYTHON
