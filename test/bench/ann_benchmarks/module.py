"""The access method ecp as an algorithm of ann-benchmarks.

Copy this folder to ann_benchmarks/algorithms/ecp of a checkout of
ann-benchmarks.  The server is that of the usual environment variables of libpq
(PGHOST, PGPORT, PGUSER, PGDATABASE) and needs the extension ecp; the table
"items" there is dropped.  A query is a prepared statement with a binary
parameter, so that what is measured is the search and not the parsing of text.
"""

import numpy
import psycopg

from ..base.module import BaseANN

OPERATORS = {'angular': '<=>', 'euclidean': '<->'}
CLASSES = {'angular': 'real_cosine_ops', 'euclidean': 'real_l2_ops'}


class Ecp(BaseANN):
    def __init__(self, metric, arguments):
        if metric not in OPERATORS:
            raise ValueError(f'ecp has no distance "{metric}"')
        self.metric = metric
        self.arguments = arguments or {}
        self.target = None
        self.connection = None
        self.cursor = None

    def fit(self, X):
        """Load the rows of X, and create the index."""
        self.connection = psycopg.connect(autocommit=True)
        self.cursor = self.connection.cursor(binary=True)
        options = ', '.join(f'{name} = {value}'
                            for name, value in self.arguments.items())
        execute = self.cursor.execute
        execute('CREATE EXTENSION IF NOT EXISTS ecp')
        execute('DROP TABLE IF EXISTS items')
        execute('CREATE TABLE items (id integer, v real[])')
        with self.cursor.copy('COPY items FROM STDIN (FORMAT binary)') as copy:
            copy.set_types(['int4', 'float4[]'])
            for i, row in enumerate(X):
                copy.write_row((i, row.astype(numpy.float32).tolist()))
        execute('CREATE INDEX items_v ON items USING ecp '
                f'(v {CLASSES[self.metric]})'
                + (f' WITH ({options})' if options else ''))
        execute('VACUUM ANALYZE items')
        execute('SET enable_seqscan = off')

    def set_query_arguments(self, target):
        """Target of recall of the searches that follow."""
        self.target = target
        self.cursor.execute(f'SET ecp.target_recall = {float(target)}')

    def query(self, v, n):
        self.cursor.execute(
            'SELECT id FROM items '
            f'ORDER BY v {OPERATORS[self.metric]} %b::real[] LIMIT {int(n)}',
            (v.tolist(),), prepare=True)
        return [row[0] for row in self.cursor.fetchall()]

    def get_memory_usage(self):
        """Kilobytes of the index."""
        if self.cursor is None:
            return 0
        self.cursor.execute("SELECT pg_relation_size('items_v') / 1024")
        return self.cursor.fetchone()[0]

    def done(self):
        if self.connection is not None:
            self.connection.close()

    def __str__(self):
        return f'ecp({self.arguments}, target_recall={self.target})'
