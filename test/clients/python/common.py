"""What the programs in Python share."""

import os
import sys
import uuid

ROWS = 2000
DIMS = 8
VECTOR = os.environ.get("PGVECTOR") == "1"
SETTINGS = "SET ecp.probes = 1000; SET enable_seqscan = off; SET enable_bitmapscan = off"
failed = False


def vector(i):
    return [float((37 * i + 101 * j + 13 * i * j) % 251) for j in range(DIMS)]


def data(i):
    return bytes(int(x) for x in vector(i))


def key(i):
    return uuid.UUID(int=(i * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)


def check(good, name):
    global failed
    failed = failed or not good
    print("ok" if good else "not ok", "-", name)


def version(*names):
    from importlib.metadata import version as of

    print("version:", ", ".join(f"{name} {of(name)}" for name in names))


def nearest(run, column, parameter, value, index, name):
    """run(sql, value) returns rows; parameter is the text that stands for it."""
    order = f"{column} <-> {parameter}"
    sql = f"SELECT {order} FROM items ORDER BY {order} LIMIT 10"
    plan = run("EXPLAIN (COSTS OFF) " + sql, value)
    used = any(f"using {index}" in row[0] for row in plan)
    check(used, f"{name}: index in use")
    exact = run(f"SELECT {order} FROM items ORDER BY ({order}) + 0 * id LIMIT 10", value)
    check([r[0] for r in run(sql, value)] == [r[0] for r in exact], f"{name}: answer")


def scanned(db, index, least, name):
    """Other sessions have scanned the index so often; their counts come late."""
    for _ in range(100):
        scans = db.execute("SELECT idx_scan FROM pg_stat_user_indexes"
                           " WHERE indexrelname = %s", (index,)).fetchone()[0]
        if scans >= least:
            break
        db.execute("SELECT pg_sleep(0.1)")
    check(scans >= least, f"{name}: index in use")


def ranges(run, parameters, name="uuid, betree"):
    """run(sql, low, high) returns rows; parameters are the texts of both."""
    low, high = sorted([key(3), key(4)])
    sql = f"SELECT k FROM items WHERE k >= {parameters[0]} AND k < {parameters[1]} ORDER BY k"
    plan = run("EXPLAIN (COSTS OFF) " + sql, low, high)
    check(any("items_k" in row[0] for row in plan), f"{name}: index in use")
    rows = [uuid.UUID(str(row[0])) for row in run(sql, low, high)]
    keys = sorted(key(i) for i in range(ROWS) if low <= key(i) < high)
    check(rows == keys, f"{name}: answer")


TABLE = f"""CREATE TABLE items (id int PRIMARY KEY, k uuid, r real[], d double precision[],
    b bytea{f", v vector({DIMS})" if VECTOR else ""})"""
INDEXES = ["CREATE INDEX items_k ON items USING betree (k)",
           "CREATE INDEX items_r ON items USING ecp (r)",
           "CREATE INDEX items_d ON items USING ecp (d)",
           "CREATE INDEX items_b ON items USING ecp (b)"]
if VECTOR:
    INDEXES.append("CREATE INDEX items_v ON items USING ecp (v vector_l2_ops)")
COLUMNS = "id, k, r, d, b" + (", v" if VECTOR else "")


def finish():
    sys.exit(1 if failed else 0)
