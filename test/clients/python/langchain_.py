"""LangChain's PGVectorStore: an index and a setting are a class of two lines each."""

import math
import os
from dataclasses import dataclass

import psycopg
from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import BaseIndex, QueryOptions

from common import *

version("langchain-postgres", "psycopg")


@dataclass
class EcpIndex(BaseIndex):
    index_type: str = "ecp"

    def index_options(self):
        return "(target_recall = 0.98)"


@dataclass
class EcpQueryOptions(QueryOptions):
    def to_parameter(self):
        return ["ecp.probes = 1000"]

    def to_string(self):
        return self.to_parameter()[0]


class Numbers(Embeddings):
    """the text of a number is its vector"""

    def embed_query(self, text):
        return vector(int(text))

    def embed_documents(self, texts):
        return [vector(int(text)) for text in texts]


def far(i, j):
    a, b = vector(i), vector(j)
    return 1 - sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


db = psycopg.connect(autocommit=True)
for setting in ["enable_seqscan = off", "enable_bitmapscan = off"]:
    db.execute(f"ALTER DATABASE {os.environ['PGDATABASE']} SET {setting}")
engine = PGEngine.from_connection_string("postgresql+psycopg://")
engine.init_vectorstore_table("items", DIMS)
store = PGVectorStore.create_sync(engine, Numbers(), "items", index_query_options=EcpQueryOptions())
store.add_texts([str(i) for i in range(ROWS)], [{"odd": i % 2} for i in range(ROWS)])
store.apply_vector_index(EcpIndex(name="items_v"))
db.execute("ANALYZE items")

found = store.similarity_search_with_score("7", k=10)
exact = sorted(far(7, i) for i in range(ROWS))[:10]
check(all(abs(score - best) < 1e-5 for (_, score), best in zip(found, exact)) and len(found) == 10,
      "similarity_search: answer")
found = store.similarity_search_with_score("7", k=10, filter={"odd": 1})
exact = sorted(far(7, i) for i in range(1, ROWS, 2))[:10]
check(all(abs(score - best) < 1e-5 for (_, score), best in zip(found, exact)) and len(found) == 10,
      "similarity_search with a filter: answer")

engine._run_as_sync(engine.close())
scanned(db, "items_v", 2, "similarity_search")
finish()
