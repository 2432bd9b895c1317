#!/bin/bash
#
# hnswlib 0.8.0, voyager 2.2.3, usearch 2.26.6: how far a search looks (ef, expansion_search)
# is not saved with an index.
#
# Expected: an index that was saved finds what it found when it is loaded again.  What
# happens: it is loaded with the default (10 in hnswlib and voyager, 64 in usearch's
# Index.restore()), and so finds less from the next start of the program on, with no
# error: of the ten nearest of 3,000 rows, about two thirds instead of all.  faiss saves
# its efSearch.
#
# To avoid it: set it after each load, or (voyager) for each query: query(..., query_ef=...).

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
	hnswlib==0.8.0 voyager==2.2.3 usearch==2.26.6 numkong==7.8.6 faiss-cpu==1.15.1 numpy==2.4.6
"$work/venv/bin/python" - "$work" <<'PYTHON'
import sys
import faiss, hnswlib, numpy, usearch.index, voyager

random = numpy.random.default_rng(1)
rows, queries = (random.normal(size=(n, 32)).astype("float32") for n in (3000, 100))
truth = ((queries[:, None] - rows[None]) ** 2).sum(2).argsort(1)[:, :10]
path = sys.argv[1] + "/index"

def recall(search):
    return numpy.mean([len(set(map(int, search(q))) & set(t)) / 10 for q, t in zip(queries, truth)])

def look(name, effort, search, index, loaded):
    before, after = ((effort(i), recall(lambda query: search(i, query))) for i in (index, loaded))
    print(f"{name}: {before[0]}, recall {before[1]:.3f}; saved and loaded: {after[0]}, recall {after[1]:.3f}")
    return before, after

index = hnswlib.Index("l2", 32)
index.init_index(3000)
index.add_items(rows)
index.set_ef(400)
index.save_index(path)
loaded = hnswlib.Index("l2", 32)
loaded.load_index(path)
before, after = look("hnswlib", lambda i: i.ef, lambda i, q: i.knn_query(q, 10)[0][0], index, loaded)
assert (before[0], after[0]) == (400, 10) and before[1] > .99 and after[1] < .8, "the behaviour has changed"

index = voyager.Index(voyager.Space.Euclidean, 32)
index.add_items(rows)
index.ef = 400
index.save(path)
before, after = look("voyager", lambda i: i.ef, lambda i, q: i.query(q, 10)[0], index, voyager.Index.load(path))
assert (before[0], after[0]) == (400, 10) and before[1] > .99 and after[1] < .8, "the behaviour has changed"

index = usearch.index.Index(ndim=32, metric="l2sq", dtype="f32", expansion_search=400)
index.add(numpy.arange(3000), rows)
index.save(path)
before, after = look("usearch", lambda i: i.expansion_search, lambda i, q: i.search(q, 10).keys, index,
                     usearch.index.Index.restore(path))
assert (before[0], after[0]) == (400, 64) and before[1] > after[1], "the behaviour has changed"

index = faiss.IndexHNSWFlat(32, 16)
index.add(rows)
index.hnsw.efSearch = 400
faiss.write_index(index, path)
before, after = look("faiss", lambda i: i.hnsw.efSearch, lambda i, q: i.search(q[None], 10)[1][0], index, faiss.read_index(path))
assert before == after and before[0] == 400, "the behaviour has changed"
PYTHON
