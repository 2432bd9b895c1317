"""asyncpg: parameters get the types that the server infers."""

import asyncio

import asyncpg
import numpy

from common import *

version("asyncpg", "pgvector")


async def main():
    db = await asyncpg.connect()
    if VECTOR:
        from pgvector.asyncpg import register_vector

        await register_vector(db)
    await db.execute(TABLE)
    marks = ", ".join(f"${n}" for n in range(1, 7 if VECTOR else 6))
    await db.executemany(
        f"INSERT INTO items ({COLUMNS}) VALUES ({marks})",
        [(i, key(i), vector(i), vector(i), data(i)) +
         ((numpy.array(vector(i)),) if VECTOR else ()) for i in range(ROWS)])
    for statement in INDEXES + ["ANALYZE items", SETTINGS]:
        await db.execute(statement)


    async def ask(column, value, index, name):
        order = f"{column} <-> $1"
        sql = f"SELECT {order} FROM items ORDER BY {order} LIMIT 10"
        plan = await db.fetch("EXPLAIN (COSTS OFF) " + sql, value)
        check(any(f"using {index}" in row[0] for row in plan), f"{name}: index in use")
        exact = await db.fetch(f"SELECT {order} FROM items ORDER BY ({order}) + 0 * id LIMIT 10", value)
        found = await db.fetch(sql, value)
        check([r[0] for r in found] == [r[0] for r in exact], f"{name}: answer")

    await ask("r", vector(7), "items_r", "list, real[]")
    await ask("d", vector(7), "items_d", "list, double precision[]")
    await ask("b", data(7), "items_b", "bytes")
    if VECTOR:
        await ask("v", numpy.array(vector(7)), "items_v", "numpy, vector")
    low, high = sorted([key(3), key(4)])
    rows = {}
    for sql in ("EXPLAIN (COSTS OFF) ", ""):
        rows[sql] = await db.fetch(sql + "SELECT k FROM items WHERE k >= $1 AND k < $2 ORDER BY k", low, high)
    ranges(lambda sql, *_: rows["EXPLAIN (COSTS OFF) " if sql.startswith("EXPLAIN") else ""], ["$1", "$2"])


asyncio.run(main())
finish()
