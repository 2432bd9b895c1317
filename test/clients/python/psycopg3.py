"""psycopg 3: parameters on the server, with the types that the driver gives them."""

import numpy
import psycopg

from common import *

version("psycopg", "pgvector")
db = psycopg.connect(autocommit=True)
if VECTOR:
    from pgvector.psycopg import register_vector

    register_vector(db)
db.execute(TABLE)
with db.cursor() as cursor:
    marks = ", ".join(["%s"] * (6 if VECTOR else 5))
    cursor.executemany(
        f"INSERT INTO items ({COLUMNS}) VALUES ({marks})",
        [(i, key(i), vector(i), vector(i), data(i)) +
         ((numpy.array(vector(i)),) if VECTOR else ()) for i in range(ROWS)])
for statement in INDEXES + ["ANALYZE items"] + SETTINGS.split(";"):
    db.execute(statement)


def run(sql, *values, **options):
    repeated = [v for v in values for _ in range(sql.count("%s") // len(values))]
    return db.execute(sql, repeated, **options).fetchall()


nearest(run, "r", "%s", vector(7), "items_r", "list, real[]")
nearest(run, "d", "%s", vector(7), "items_d", "list, double precision[]")
nearest(run, "b", "%s", data(7), "items_b", "bytes")
nearest(lambda sql, value: run(sql, value, prepare=True), "d", "%s", vector(9), "items_d", "prepared")
nearest(lambda sql, value: run(sql, value, binary=True), "d", "%s", vector(9), "items_d", "binary")
if VECTOR:
    nearest(run, "v", "%s", numpy.array(vector(7)), "items_v", "numpy, vector")
ranges(run, ["%s", "%s"])
finish()
