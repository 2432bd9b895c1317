"""Tests of the client ecp, without a server: pytest tests/test_ecp.py"""

from unittest.mock import patch

import pytest

from vectordb_bench.backend.clients import DB
from vectordb_bench.backend.clients.api import MetricType
from vectordb_bench.backend.clients.ecp.config import EcpConfig, EcpIndexConfig
from vectordb_bench.backend.filter import LabelFilter, NewIntFilter, non_filter


def client(with_scalar_labels: bool = False, **config):
    with patch("psycopg.connect"):
        return DB.Ecp.init_cls(
            dim=3,
            db_config=EcpConfig().to_dict(),
            db_case_config=EcpIndexConfig(**{"metric_type": MetricType.COSINE, **config}),
            with_scalar_labels=with_scalar_labels,
        )


def test_registered():
    assert DB.Ecp.config_cls is EcpConfig
    assert DB.Ecp.case_config_cls() is EcpIndexConfig


def test_connection():
    values = EcpConfig(password="secret", port=5433).to_dict()
    assert values["password"] == "secret"
    assert values["port"] == 5433
    assert EcpConfig().to_dict()["password"] is None


def test_settings_that_are_not_given():
    config = EcpIndexConfig(metric_type=MetricType.L2)
    assert config.index_param() == {"operator_class": "vector_l2_ops", "options": {}, "settings": {}}
    assert config.search_param() == {"operator": "<->", "settings": {}}


def test_metric_without_operator_class():
    with pytest.raises(ValueError, match="HAMMING"):
        EcpIndexConfig(metric_type=MetricType.HAMMING).index_param()


def test_index():
    statements = client(True, vectors="half", maintenance_work_mem="256MB").index_statements()
    assert statements[0] == "SET maintenance_work_mem = '256MB'"
    assert statements[2].endswith("(embedding vector_cosine_ops, id, label) INCLUDE (id) WITH (vectors = half)")
    assert client().index_statements()[1].endswith("(embedding vector_cosine_ops, id) INCLUDE (id)")


def test_filters():
    db = client(True)
    db.prepare_filter(NewIntFilter(filter_rate=0.01, int_value=500))
    assert "WHERE id >= 500 ORDER BY embedding <=> %s LIMIT 10" in db.search_statement(10)
    db.prepare_filter(LabelFilter(label_percentage=0.01))
    assert "WHERE label = 'label_1p' ORDER" in db.search_statement(10)
    db.prepare_filter(non_filter)
    assert "WHERE" not in db.search_statement(10)
