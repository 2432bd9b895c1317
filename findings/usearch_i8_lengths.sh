#!/bin/bash
#
# usearch 2.26.6: with dtype="i8", vectors of floats are scaled to the same length, each by
# a factor of its own, also where the metric is l2sq or ip.
#
# Expected: all are scaled by one factor, or clipped, or refused.  What happens: [1, 0] and
# [10, 0] are both stored as [127, 0] and have the distance 0 from each other, so Euclidean
# distance and inner product rank by direction only, without a warning.
#
# To avoid it: i8 for cosine distance only, or arrays of int8, which are stored as they are.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numkong==7.8.6 numpy==2.4.6
"$work/venv/bin/python" - <<'PYTHON'
import numpy
from usearch.index import Index

rows = numpy.array([[1, 0], [10, 0], [10, 4]])
query = rows[1]
for metric in "l2sq", "ip":
    for dtype in "f32", "i8":
        index = Index(ndim=2, metric=metric, dtype=dtype)
        index.add(numpy.arange(3), rows.astype("float32"))
        found = index.search(query.astype("float32"), 3)
        print(f"{metric}, {dtype}: stored {index.get(0)}, {index.get(1)}, {index.get(2)}; nearest to {query}:",
            [(int(i), float(d)) for i, d in zip(found.keys, found.distances)])
        distance = dict(zip(found.keys, found.distances))
        assert (distance[0] == distance[1]) == (dtype == "i8"), "the behaviour has changed"
index = Index(ndim=2, metric="l2sq", dtype="i8")
index.add(numpy.arange(3), rows.astype("int8"))
print("int8 as given:", index.get(0), index.get(1), index.get(2))
assert numpy.array_equal(index.get(1), rows[1]), "the behaviour has changed"
PYTHON
