#!/bin/bash
#
# DuckDB 1.5.5 with vss 1.5.5: where many rows have been deleted, a search by the HNSW index finds
# nothing, also not a row that is inserted there afterwards.
#
# Expected: of 3,000 rows the 1,500 nearest to a query are deleted; the query finds the ten
# nearest of the others.  What happens: it has no row, though count(*) is 1,500; neither after
# PRAGMA hnsw_compact_index; and when a row with the query's own vector is inserted, that is not
# found either.  After DROP INDEX the same query has ten rows, and that one is the first.  Deleted
# rows seem to count among the 64 (ef_search) that a search keeps.  Where the deleted rows are
# random ones, half of all, nothing is amiss.  usearch, hnswlib, voyager and Chroma find ten.
#
# To avoid it: DROP INDEX and CREATE INDEX after deleting whole regions, such as a document's
# passages or one topic.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
	duckdb==1.5.5 duckdb-extension-vss==1.5.5 usearch==2.26.6 numkong==7.8.6 numpy==2.4.6
"$work/venv/bin/python" - <<'PYTHON'
import glob, os
import duckdb, duckdb_extension_vss, numpy
from usearch.index import Index

random = numpy.random.default_rng(1)
rows = random.normal(size=(3000, 16)).astype("float32")
query = rows[0]
order = ((rows - query) ** 2).sum(1).argsort()
near, others = order[:1500], set(order[1500:].tolist())

db = duckdb.connect()
db.execute("LOAD '%s'" % glob.glob(os.path.dirname(duckdb_extension_vss.__file__) + "/extensions/*/vss.duckdb_extension")[0])
db.execute("CREATE TABLE items (id int, v float[16])")
db.executemany("INSERT INTO items VALUES (?, ?)", [(id, row.tolist()) for id, row in enumerate(rows)])
db.execute("CREATE INDEX items_v ON items USING HNSW (v)")
sql = f"SELECT id FROM items ORDER BY array_distance(v, {query.tolist()}::float[16]) LIMIT 10"
assert "HNSW_INDEX_SCAN" in db.execute("EXPLAIN " + sql).fetchall()[0][1]

def ask(what):
    found, count = [id for id, in db.execute(sql).fetchall()], db.execute("SELECT count(*) FROM items").fetchone()[0]
    print(f"DuckDB, {what}: {len(found)} rows of {count}, the nearest {found[0] if found else None}")
    return found

assert len(ask("all")) == 10
db.execute("DELETE FROM items WHERE id IN (%s)" % ", ".join(map(str, near)))
assert ask("1,500 deleted") == [], "the behaviour has changed"
db.execute("PRAGMA hnsw_compact_index('items_v')")
assert ask("compacted") == [], "the behaviour has changed"
db.execute("INSERT INTO items VALUES (9999, ?)", [query.tolist()])
assert ask("the query itself inserted as row 9999") == [], "the behaviour has changed"
db.execute("DROP INDEX items_v")
found = ask("without the index")
assert found[0] == 9999 and set(found[1:]) < others

index = Index(ndim=16, metric="l2sq", dtype="f32")
index.add(numpy.arange(3000), rows)
index.remove(near)
found = index.search(query, 10).keys.tolist()
print(f"usearch, 1,500 deleted: {len(found)} rows of {len(index)}")
assert len(found) == 10 and set(found) < others, "the behaviour has changed"
PYTHON
