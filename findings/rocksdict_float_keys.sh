#!/bin/bash
#
# rocksdict 0.3.29 (RocksDB for Python): keys of the type float are ordered by the bytes of
# IEEE 754: the negative ones come behind the positive ones, and in reverse.
#
# Expected: the order of numbers, as keys of the type int have it, negative ones included.
# What happens: a range that begins at a key (from_key) leaves out what is larger and
# returns what is smaller.
#
# To avoid it: keys of fixed-point int, or bytes with the sign bit flipped (and all bits of
# negative numbers).

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check rocksdict==0.3.29
"$work/venv/bin/python" - "$work" <<'PYTHON'
import sys
from rocksdict import Rdict

def keys(name, values, start):
    db = Rdict(f"{sys.argv[1]}/{name}")
    for value in values:
        db[value] = b""
    found = list(db.keys()), list(db.keys(from_key=start))
    db.close()
    print(f"{name}: all {found[0]}, from {start} on {found[1]}")
    return found

assert keys("int", [300, -2, 5, -1, 0], -1) == ([-2, -1, 0, 5, 300], [-1, 0, 5, 300]), "the behaviour has changed"
assert keys("float", [300.5, -2.5, 5.5, -1.5, 0.0], -1.5) == (
    [0.0, 5.5, 300.5, -1.5, -2.5], [-1.5, -2.5]), "the behaviour has changed"
PYTHON
