"""psycopg2: the driver writes parameters into the statement."""

import numpy
import psycopg2
import psycopg2.extras

from common import *

version("psycopg2-binary", "pgvector")
db = psycopg2.connect("")
db.autocommit = True
psycopg2.extras.register_uuid(conn_or_curs=db)
cursor = db.cursor()
if VECTOR:
    from pgvector.psycopg2 import register_vector

    register_vector(db)
cursor.execute(TABLE)
psycopg2.extras.execute_values(
    cursor, f"INSERT INTO items ({COLUMNS}) VALUES %s",
    [(i, key(i), vector(i), vector(i), data(i)) +
     ((numpy.array(vector(i)),) if VECTOR else ()) for i in range(ROWS)])
for statement in INDEXES + ["ANALYZE items"] + SETTINGS.split(";"):
    cursor.execute(statement)


def run(sql, *values):
    cursor.execute(sql, [v for v in values for _ in range(sql.count("%s") // len(values))])
    return cursor.fetchall()


nearest(run, "r", "%s", vector(7), "items_r", "list, real[]")
nearest(run, "d", "%s", vector(7), "items_d", "list, double precision[]")
nearest(run, "b", "%s", data(7), "items_b", "bytes")
if VECTOR:
    nearest(run, "v", "%s", numpy.array(vector(7)), "items_v", "numpy, vector")
ranges(run, ["%s", "%s"])
finish()
