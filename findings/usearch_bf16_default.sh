#!/bin/bash
#
# usearch 2.26.6: Index(ndim=...) stores the vectors as bf16 (8 bits of precision), also
# those of float32, and rounds queries as well.
#
# Expected: a row comes back as it was added, and search(..., exact=True) finds what a
# comparison of all rows in float32 finds.  What happens: get() returns other numbers,
# distances are wrong in the third digit, and "exact" finds 98.9 % of the ten nearest
# of 5,000 random vectors.  A row searched by itself still has the distance 0, since
# both are rounded.  As the truth for a measurement of recall, it is not one.
#
# To avoid it: Index(..., dtype="f32").

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numkong==7.8.6 numpy==2.4.6
"$work/venv/bin/python" - <<'PYTHON'
import numpy
from usearch.index import Index

random = numpy.random.default_rng(1)
rows, queries = random.random((5000, 64), dtype="float32"), random.random((100, 64), dtype="float32")
squares = ((queries[:, None] - rows[None]) ** 2).sum(2)
truth = squares.argsort(1)[:, :10]

def look(**options):
    index = Index(ndim=64, metric="l2sq", **options)
    index.add(numpy.arange(len(rows)), rows)
    found = index.search(queries, 10, exact=True)
    recall = numpy.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.keys, truth)])
    error = abs(found.distances / numpy.take_along_axis(squares, found.keys.astype(int), 1) - 1).max()
    same = numpy.array_equal(index.get(7), rows[7])
    itself = index.search(rows[7], 1).distances[0]
    print(f"{index.dtype}: row as added: {same}, its distance to itself {itself}; exact search: recall {recall:.3f}, error of distances {error:.1e}")
    return same, itself, recall, error

same, itself, recall, error = look()
assert not same and itself == 0 and .97 < recall < 1 and error > 1e-3, "the behaviour has changed"
same, itself, recall, error = look(dtype="f32")
assert same and recall == 1 and error < 1e-5, "the behaviour has changed"
PYTHON
