"""How to connect to a server with ecp, and what index to make there."""

from pydantic import BaseModel, SecretStr

from ..api import DBCaseConfig, DBConfig, MetricType

# operator class and operator
METRICS = {
    MetricType.L2: ("vector_l2_ops", "<->"),
    MetricType.IP: ("vector_ip_ops", "<#>"),
    MetricType.COSINE: ("vector_cosine_ops", "<=>"),
}


class EcpConfig(DBConfig):
    user_name: str = "postgres"
    password: SecretStr | None = None
    host: str = "localhost"
    port: int = 5432
    db_name: str = "postgres"

    def to_dict(self) -> dict:
        """Arguments of psycopg.connect()."""
        return {
            "user": self.user_name,
            "password": self.password.get_secret_value() if self.password else None,
            "host": self.host,
            "port": self.port,
            "dbname": self.db_name,
        }


class EcpIndexConfig(BaseModel, DBCaseConfig):
    """None leaves a setting as it is on the server."""

    metric_type: MetricType | None = None
    target_recall: float | None = None
    vectors: str | None = None
    maintenance_work_mem: str | None = None
    max_parallel_workers: int | None = None

    def metric(self) -> tuple[str, str]:
        if self.metric_type not in METRICS:
            msg = f"ecp has no operator class of vectors for {self.metric_type}"
            raise ValueError(msg)
        return METRICS[self.metric_type]

    def index_param(self) -> dict:
        return {
            "operator_class": self.metric()[0],
            "options": given({"vectors": self.vectors}),
            "settings": given(
                {
                    "maintenance_work_mem": self.maintenance_work_mem,
                    "max_parallel_maintenance_workers": self.max_parallel_workers,
                },
            ),
        }

    def search_param(self) -> dict:
        return {
            "operator": self.metric()[1],
            "settings": given({"ecp.target_recall": self.target_recall}),
        }


def given(values: dict) -> dict:
    return {name: str(value) for name, value in values.items() if value is not None}
