#!/bin/bash
#
# LanceDB 0.40.0: the default index of 100 dimensions keeps one byte of each vector, that of
# 96 or 104 dimensions 6 or 13; and the distances that a query returns are those of the codes.
#
# Expected: more dimensions are not worse than fewer, and a row has the distance 0 to itself.
# What happens: a vector is cut into dims / 16 parts of one byte each, or dims / 8; if
# neither divides it is not cut at all, for which there is a line in the log.  Of rows that are
# searched by themselves, one of five is then found as the nearest (of 104 dimensions all), and
# refine_factor(10) need not find it either; its _distance is about 20 in all cases.
#
# To avoid it: num_sub_vectors, or padding to a multiple of 16; refine_factor() in the query,
# which compares the vectors themselves, and returns these distances.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check lancedb==0.40.0 numpy==2.4.6 pyarrow==26.0.1
"$work/venv/bin/python" - "$work" <<'PYTHON'
import sys
import lancedb, numpy, pyarrow

def look(dims):
    random = numpy.random.default_rng(1)
    rows = random.normal(size=(60, dims)).repeat(100, 0)        # 60 groups of 100 rows
    rows = (rows + random.normal(scale=.5, size=rows.shape)).astype("float32")
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), dims)
    table = lancedb.connect(sys.argv[1]).create_table(f"items{dims}", pyarrow.table({"id": range(6000), "vector": vectors}))
    table.create_index("vector", config=lancedb.index.IvfPq())

    def nearest(id, refine):
        query = table.search(rows[id]).limit(1)
        return (query.refine_factor(10) if refine else query).to_list()[0]

    share, distance = zip(*((found["id"] == id, found["_distance"]) for id, found in
                            ((id, nearest(id, False)) for id in range(0, 6000, 60))))
    exact = nearest(60, True)["_distance"]
    print(f"{dims} dimensions: {numpy.mean(share):.2f} of the rows are nearest to themselves, "
          f"mean distance {numpy.mean(distance):.1f}; with refine_factor {exact:.1f}")
    return numpy.mean(share), numpy.mean(distance), exact

for dims in 96, 104:
    share, distance, exact = look(dims)
    assert share > .9 and distance > 10 and exact == 0, "the behaviour has changed"
share, distance, exact = look(100)
assert share < .4 and distance > 10 and exact > 10, "the behaviour has changed"
PYTHON
