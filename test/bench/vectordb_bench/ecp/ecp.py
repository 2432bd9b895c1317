"""The access method ecp of PostgreSQL, on a column of pgvector's type "vector"."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from vectordb_bench.backend.filter import Filter, FilterOp

from ..api import VectorDB
from .config import EcpIndexConfig

log = logging.getLogger(__name__)


class Ecp(VectorDB):
    """Columns of filters are key columns of the index, which checks them during the search."""

    name = "ecp"
    thread_safe = False
    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE, FilterOp.StrEqual]

    def __init__(
        self,
        dim: int,
        db_config: dict,
        db_case_config: EcpIndexConfig,
        collection_name: str = "vdbbench_ecp",
        drop_old: bool = False,
        with_scalar_labels: bool = False,
        **kwargs,
    ):
        self.db_config = db_config
        self.case_config = db_case_config
        self.table = collection_name
        self.with_labels = with_scalar_labels
        self.condition = ""
        self.cursor: psycopg.Cursor | None = None

        with psycopg.connect(**db_config, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS ecp_pgvector CASCADE")
            if drop_old:
                label = ", label varchar(64)" if with_scalar_labels else ""
                connection.execute(f"DROP TABLE IF EXISTS {self.table}")
                connection.execute(
                    f"CREATE TABLE {self.table} (id bigint PRIMARY KEY, embedding vector({dim}){label})",
                )

    @contextmanager
    def init(self) -> Generator[None, None, None]:
        with psycopg.connect(**self.db_config, autocommit=True) as connection:
            register_vector(connection)
            self.cursor = connection.cursor(binary=True)
            self._set(self.case_config.search_param()["settings"])
            try:
                yield
            finally:
                self.cursor = None

    def _set(self, settings: dict[str, str]):
        for name, value in settings.items():
            self.cursor.execute("SELECT set_config(%s, %s, false)", (name, value))

    def insert_embeddings(
        self,
        embeddings: list[list[float]],
        metadata: list[int],
        labels_data: list[str] | None = None,
        **kwargs: Any,
    ) -> tuple[int, Exception | None]:
        types = ["int8", "vector"]
        columns = [metadata, np.asarray(embeddings, dtype=np.float32)]
        if self.with_labels:
            types.append("varchar")
            columns.append(labels_data)
        try:
            with self.cursor.copy(f"COPY {self.table} FROM STDIN (FORMAT binary)") as copy:
                copy.set_types(types)
                for row in zip(*columns, strict=True):
                    copy.write_row(row)
        except psycopg.Error as e:
            log.warning(f"could not insert into {self.table}: {e}")
            return 0, e
        return len(metadata), None

    def optimize(self, data_size: int | None = None):
        """Build the index; VACUUM lets searches take the id from it instead of the table."""
        for statement in self.index_statements():
            log.info(statement)
            self.cursor.execute(statement)

    def index_statements(self) -> list[str]:
        param = self.case_config.index_param()
        label = ", label" if self.with_labels else ""
        options = ", ".join(f"{name} = {value}" for name, value in param["options"].items())
        return [
            *(f"SET {name} = '{value}'" for name, value in param["settings"].items()),
            f"DROP INDEX IF EXISTS {self.table}_embedding",
            f"CREATE INDEX {self.table}_embedding ON {self.table} "
            f"USING ecp (embedding {param['operator_class']}, id{label}) INCLUDE (id)"
            + (f" WITH ({options})" if options else ""),
            f"VACUUM ANALYZE {self.table}",
        ]

    def prepare_filter(self, filters: Filter):
        if filters.type == FilterOp.NonFilter:
            self.condition = ""
        elif filters.type == FilterOp.NumGE:
            self.condition = f"WHERE id >= {filters.int_value}"
        elif filters.type == FilterOp.StrEqual:
            self.condition = f"WHERE label = '{filters.label_value}'"
        else:
            msg = f"ecp has no filter {filters}"
            raise ValueError(msg)

    def search_statement(self, k: int) -> str:
        operator = self.case_config.search_param()["operator"]
        return f"SELECT id FROM {self.table} {self.condition} ORDER BY embedding {operator} %s LIMIT {k}"

    def search_embedding(self, query: list[float], k: int = 100, **kwargs: Any) -> list[int]:
        self.cursor.execute(self.search_statement(k), (np.asarray(query, dtype=np.float32),), prepare=True)
        return [row[0] for row in self.cursor.fetchall()]
