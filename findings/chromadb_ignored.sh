#!/bin/bash
#
# Chroma 1.5.9: several mistakes are accepted in silence: a space in the wrong place, adding an
# id that is there, updating one that is not.
#
# Expected: errors, as for an unknown field within "hnsw".  What happens:
#
#   configuration={"space": "cosine"}, or metadata={"space": "cosine"}: the collection
#   compares by L2.  {"hnsw": {"space": "cosine"}} and metadata {"hnsw:space": ...} work.
#   get_or_create_collection() with another space returns the collection as it is.
#   add() of an id that is there keeps the old vector; update() of one that is not does nothing.
#
# To avoid it: look at collection.configuration; upsert() instead of add() and update().

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check chromadb==1.5.9 numpy==2.4.6
"$work/venv/bin/python" - <<'PYTHON'
import sys
import chromadb

client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
number = iter(range(100))

def space(**options):
    collection = client.create_collection(f"items{next(number)}", embedding_function=None, **options)
    print(f"{options}: {collection.configuration['hnsw']['space']}")
    return collection.configuration["hnsw"]["space"]

assert space() == "l2" and space(configuration={"hnsw": {"space": "cosine"}}) == "cosine"
assert space(metadata={"hnsw:space": "cosine"}) == "cosine"
assert space(configuration={"space": "cosine"}) == "l2", "the behaviour has changed"
assert space(metadata={"space": "cosine"}) == "l2", "the behaviour has changed"
try:
    space(configuration={"hnsw": {"ef": 500}})
    sys.exit("the behaviour has changed")
except chromadb.errors.InvalidArgumentError as error:
    print(f"an unknown field within hnsw: {error}")

items = client.get_or_create_collection("items0", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
print("get_or_create_collection() with cosine, of the one with l2:", items.configuration["hnsw"]["space"])
assert items.configuration["hnsw"]["space"] == "l2", "the behaviour has changed"

items.add(["a", "b"], [[1, 0], [0, 1]])
items.add(["a"], [[5, 5]])
items.update(["z"], [[7, 7]])
kept, count = items.get(["a"], include=["embeddings"])["embeddings"][0].tolist(), items.count()
print(f"after add() of [5, 5] as \"a\", and update() of \"z\": \"a\" is {kept}, {count} rows")
assert kept == [1, 0] and count == 2, "the behaviour has changed"
PYTHON
