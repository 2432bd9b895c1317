#!/bin/bash
#
# hnswlib 0.8.0, voyager 2.2.3: a query for more rows than there are (left) is an error, and what
# the error advises does not help.
#
# Expected: as many rows as there are, as from usearch, or -1 for the others, as from faiss.  What
# happens: if a filter lets five rows pass, or five are left after mark_deleted(), a query for
# ten raises "Probably ef or M is too small" (hnswlib) or "Reconstruct the index with a higher M
# value" (voyager).  So a tenant with few rows cannot be searched with a fixed k, and the count
# of the index (get_current_count(), len()) still has the deleted rows.
#
# To avoid it: count the rows that can be found, and ask for no more.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
	hnswlib==0.8.0 voyager==2.2.3 usearch==2.26.6 numkong==7.8.6 faiss-cpu==1.15.1 numpy==2.4.6
"$work/venv/bin/python" - <<'PYTHON'
import faiss, hnswlib, numpy, usearch.index, voyager

rows = numpy.random.default_rng(1).normal(size=(100, 8)).astype("float32")

def attempt(what, search):
    try:
        found = search()
        print(f"{what}: {len(found)} rows")
        return len(found)
    except (RuntimeError, voyager.RecallError) as error:
        print(f"{what}: {type(error).__name__}: {error}")
        return str(error)

index = hnswlib.Index("l2", 8)
index.init_index(100)
index.add_items(rows)
index.set_ef(100)       # it looks at all rows
asked = attempt("hnswlib, a filter with five rows", lambda: index.knn_query(rows[0], 10, filter=lambda id: id < 5)[0][0])
assert "ef or M is too small" in str(asked), "the behaviour has changed"
for id in range(95):
    index.mark_deleted(id)
asked = attempt("hnswlib, five rows left", lambda: index.knn_query(rows[0], 10)[0][0])
assert "ef or M is too small" in str(asked), "the behaviour has changed"
print(f"get_current_count(): {index.get_current_count()}")
assert index.get_current_count() == 100, "the behaviour has changed"
assert attempt("hnswlib, five asked for", lambda: index.knn_query(rows[0], 5)[0][0]) == 5, "the behaviour has changed"

index = voyager.Index(voyager.Space.Euclidean, 8)
index.add_items(rows)
for id in range(95):
    index.mark_deleted(id)
asked = attempt("voyager, five rows left", lambda: index.query(rows[0], 10, query_ef=100)[0])
assert "higher M" in str(asked), "the behaviour has changed"
print(f"len(): {len(index)}")
assert len(index) == 100, "the behaviour has changed"

index = usearch.index.Index(ndim=8, metric="l2sq")
index.add(numpy.arange(100), rows)
index.remove(numpy.arange(95))
assert attempt("usearch, five rows left", lambda: index.search(rows[0], 10).keys) == 5, "the behaviour has changed"

index = faiss.IndexHNSWFlat(8, 32)
index.add(rows)
selector = faiss.SearchParametersHNSW(sel=faiss.IDSelectorRange(0, 5), efSearch=100)
found = index.search(rows[:1], 10, params=selector)[1][0]
print(f"faiss, a filter with five rows: {found}")
assert (found >= 0).sum() == 5, "the behaviour has changed"
PYTHON
