#!/bin/bash
#
# LanceDB 0.25.2: the metric that a query asks for is not used where the column has an index
# with another one, and create_index() makes one for L2 unless told otherwise.
#
# Expected: an error, or the rows compared exactly, as without an index.  What happens:
# distance_type("cosine") gives the rows, and the distances, of L2, without a warning: here
# distances of more than 2, which no cosine distance is, and none or few of the rows that
# the same query finds before create_index().  More probes do not change it.
#
# To avoid it: create_index(metric="cosine"), or bypass_vector_index() in the query.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check lancedb==0.25.2 numpy==2.4.6 pyarrow==21.0.0
"$work/venv/bin/python" - "$work/db" <<'PYTHON'
import sys
import lancedb, numpy, pyarrow

random = numpy.random.default_rng(1)
rows = random.normal(size=(5000, 32)) * random.lognormal(0, 1, size=(5000, 1))    # of all lengths
query = random.normal(size=32).astype("float32") * 4
vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.astype("float32").ravel()), 32)
table = lancedb.connect(sys.argv[1]).create_table("items", pyarrow.table({"id": range(5000), "vector": vectors}))

def nearest(metric, **options):
    found = table.search(query).distance_type(metric).limit(10)
    for name, value in options.items():
        found = getattr(found, name)(value) if value is not None else getattr(found, name)()
    found = found.to_list()
    return {row["id"] for row in found}, [row["_distance"] for row in found]

cosine, distances = nearest("cosine")
print(f"cosine, no index: distances {min(distances):.3f} to {max(distances):.3f}")
assert max(distances) < 2

table.create_index(metric="l2", num_partitions=10, num_sub_vectors=8)
l2, l2_distances = nearest("l2", nprobes=10)
asked, distances = nearest("cosine", nprobes=10)
exact, _ = nearest("cosine", bypass_vector_index=None)
print(f"cosine, an index for L2: distances {min(distances):.3f} to {max(distances):.3f}; "
      f"{len(asked & cosine)} of the 10 nearest, {len(asked & l2)} of those by L2")
print(f"the same without the index: {len(exact & cosine)} of the 10 nearest")
assert min(distances) > 2 and distances == l2_distances and asked == l2, "the behaviour has changed"
assert len(asked & cosine) < 5 and exact == cosine, "the behaviour has changed"
PYTHON
