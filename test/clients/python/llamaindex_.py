"""LlamaIndex's PGVectorStore without hnsw_kwargs: the index is one statement more."""

import math
import os

import psycopg
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.vector_stores.postgres import PGVectorStore

from common import *

version("llama-index-vector-stores-postgres")


def far(i, j):
    a, b = vector(i), vector(j)
    return 1 - sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


db = psycopg.connect(autocommit=True)
for setting in ["enable_seqscan = off", "enable_bitmapscan = off", "ecp.probes = 1000"]:
    db.execute(f"ALTER DATABASE {os.environ['PGDATABASE']} SET {setting}")
store = PGVectorStore.from_params(
    host=os.environ["PGHOST"], port=os.environ["PGPORT"], database=os.environ["PGDATABASE"],
    user=os.environ["PGUSER"], password="none", table_name="items", embed_dim=DIMS)
store.add([TextNode(text=str(i), id_=str(i), embedding=vector(i)) for i in range(ROWS)])
db.execute("CREATE INDEX items_v ON data_items USING ecp (embedding vector_cosine_ops)")
db.execute("ANALYZE data_items")
answer = store.query(VectorStoreQuery(query_embedding=vector(7), similarity_top_k=10))
exact = sorted(far(7, i) for i in range(ROWS))[:10]
found = sorted(far(7, int(i)) for i in answer.ids)
check(len(found) == 10 and all(abs(x - y) < 1e-6 for x, y in zip(found, exact)), "query: answer")
store._engine.dispose()
scanned(db, "items_v", 1, "query")
finish()
