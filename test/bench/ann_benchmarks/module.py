"""ecp, an index access method of PostgreSQL, on pgvector's type "vector".

The server is found as pgvector's module finds it: the environment variables
ANN_BENCHMARKS_PG_USER, _PASSWORD, _DBNAME ("ann" each), _HOST and _PORT; with
ANN_BENCHMARKS_PG_START_SERVICE=false it runs already.  The table "items" there
is dropped.

What is varied is the declared recall (ecp.target_recall): the index measures
when it is built how many clusters a search has to read for it.
"""

import os
import subprocess

import pgvector.psycopg
import psycopg

from ...util import get_bool_env_var
from ..base.module import BaseANN

METRICS = {
    "angular": ("vector_cosine_ops", "<=>"),
    "euclidean": ("vector_l2_ops", "<->"),
}
PARAMETERS = {"user": "ann", "password": "ann", "dbname": "ann", "host": None, "port": None}


def connect():
    """Start the server if need be, and connect."""
    if get_bool_env_var("ANN_BENCHMARKS_PG_START_SERVICE", True):
        subprocess.run(["service", "postgresql", "start"], check=True)
    values = {name: os.getenv(f"ANN_BENCHMARKS_PG_{name.upper()}") or default for name, default in PARAMETERS.items()}
    connection = psycopg.connect(autocommit=True, **{name: value for name, value in values.items() if value})
    connection.execute("CREATE EXTENSION IF NOT EXISTS ecp_pgvector CASCADE")
    pgvector.psycopg.register_vector(connection)
    return connection


class Ecp(BaseANN):
    def __init__(self, metric, memory):
        if metric not in METRICS:
            raise ValueError(f'ecp has no distance "{metric}" of floats')
        self.operator_class, self.operator = METRICS[metric]
        self.memory = memory
        self.target = None
        self.cursor = None

    def fit(self, X):
        """Load the rows of X, and create the index on one processor."""
        self.cursor = connect().cursor(binary=True)
        execute = self.cursor.execute
        execute("DROP TABLE IF EXISTS items")
        execute(f"CREATE TABLE items (id integer, v vector({X.shape[1]}))")
        execute("ALTER TABLE items ALTER v SET STORAGE PLAIN")
        with self.cursor.copy("COPY items FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "vector"])
            for row in enumerate(X):
                copy.write_row(row)
        execute(f"SET maintenance_work_mem = '{self.memory}'")
        execute("SET max_parallel_maintenance_workers = 0")
        execute(f"CREATE INDEX items_v ON items USING ecp (v {self.operator_class}) INCLUDE (id)")
        execute("VACUUM ANALYZE items")  # then id is taken from the index

    def set_query_arguments(self, target):
        """Declare the recall of the searches that follow."""
        self.target = target
        self.cursor.execute(f"SET ecp.target_recall = {target}")

    def query(self, v, n):
        self.cursor.execute(f"SELECT id FROM items ORDER BY v {self.operator} %s LIMIT {n}", (v,), prepare=True)
        return [row[0] for row in self.cursor.fetchall()]

    def batch_query(self, X, n):
        """One statement for all queries, which the server may share among its workers."""
        self.cursor.execute(f"SET max_parallel_workers_per_gather = {os.cpu_count() - 1}")
        self.cursor.execute(
            "SELECT array_agg(id ORDER BY rank) FROM ecp_knn_batch('items_v', %s, %s) AS b "
            "JOIN items ON items.ctid = b.tid GROUP BY query ORDER BY query",
            (list(X), n),
        )
        self.res = [row[0] for row in self.cursor.fetchall()]

    def get_memory_usage(self):
        """Kilobytes of the index."""
        if self.cursor is None:
            return 0
        self.cursor.execute("SELECT pg_relation_size('items_v') / 1024")
        return self.cursor.fetchone()[0]

    def get_additional(self):
        return {"build_memory": self.memory}

    def done(self):
        if self.cursor is not None:
            self.cursor.connection.close()

    def __str__(self):
        return f"ecp(target_recall={self.target})"
