"""The command "vectordbbench ecp"."""

import os
from typing import Annotated, Unpack

import click
from pydantic import SecretStr

from vectordb_bench.backend.clients import DB

from ....cli.cli import CommonTypedDict, cli, click_parameter_decorators_from_typed_dict, run


class EcpTypedDict(CommonTypedDict):
    user_name: Annotated[str, click.option("--user-name", default="postgres", show_default=True, help="Db username")]
    password: Annotated[
        str,
        click.option(
            "--password",
            default=lambda: os.environ.get("POSTGRES_PASSWORD"),
            show_default="$POSTGRES_PASSWORD",
            help="Db password",
        ),
    ]
    host: Annotated[str, click.option("--host", default="localhost", show_default=True, help="Db host")]
    port: Annotated[int, click.option("--port", type=int, default=5432, show_default=True, help="Db port")]
    db_name: Annotated[str, click.option("--db-name", default="postgres", show_default=True, help="Db name")]
    target_recall: Annotated[
        float | None,
        click.option("--target-recall", type=float, help="Share of the nearest rows to find (ecp.target_recall)"),
    ]
    vectors: Annotated[
        str | None,
        click.option(
            "--vectors",
            type=click.Choice(["full", "half", "codes"]),
            help="What the index keeps of the vectors",
        ),
    ]
    maintenance_work_mem: Annotated[
        str | None,
        click.option("--maintenance-work-mem", help="Memory of the build, such as 256MB"),
    ]
    max_parallel_workers: Annotated[
        int | None,
        click.option("--max-parallel-workers", type=int, help="Parallel workers of the build"),
    ]


@cli.command()
@click_parameter_decorators_from_typed_dict(EcpTypedDict)
def Ecp(**parameters: Unpack[EcpTypedDict]):
    from .config import EcpConfig, EcpIndexConfig

    password = parameters["password"]
    run(
        db=DB.Ecp,
        db_config=EcpConfig(
            db_label=parameters["db_label"],
            user_name=parameters["user_name"],
            password=SecretStr(password) if password else None,
            host=parameters["host"],
            port=parameters["port"],
            db_name=parameters["db_name"],
        ),
        db_case_config=EcpIndexConfig(
            target_recall=parameters["target_recall"],
            vectors=parameters["vectors"],
            maintenance_work_mem=parameters["maintenance_work_mem"],
            max_parallel_workers=parameters["max_parallel_workers"],
        ),
        **parameters,
    )
