"""Where MLflow's records go: an environment's mlflow.yml, completed from conf/base/mlflow.yml."""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fedtext.system.refusal import RunRefusedError
from fedtext.system.remote_files import shown

PORTS = {"http": 80, "https": 443}
SERVERS = (*PORTS, "databricks", "databricks-uc")
PATIENCE = 5.0  # seconds; MLflow itself would try again for minutes
SQLITE = "sqlite:///"
QUOTED = frozenset("?%")
AT_WORK = 5.0  # seconds without a write, after which nobody is making a database


def database_uri(uri: str, root: Path) -> str:
    """Return the URI of the same database with the path of `root` quoted, as it was pasted into a sqlite URI.

    SQLAlchemy, which reads the URI, decodes the path and ends it at `?`.
    """
    path = uri.removeprefix(SQLITE)
    if path == uri or not path.startswith(f"{root}/") or not set(path) & QUOTED:
        return uri
    return f"sqlite+pysqlite:///{quote(path)}"  # the driver is named: of `sqlite:///` MLflow makes a folder undecoded


def database_path(uri: object) -> Path | None:
    """Return the file of a SQLite database, as `database_uri` wrote its path; None if the URI is of something else."""
    kind, _, path = str(uri).partition(":///")
    if not kind.startswith("sqlite"):
        return None
    return Path(unquote(path) if kind.endswith("+pysqlite") else path)


def remove_half_made(uri: object) -> None:
    """Remove a SQLite database that a run was making when it was killed: without an experiment it holds no run."""
    path = database_path(uri)
    if path is None or not path.is_file():
        return
    while not _has_experiment(path):
        if time.time() - path.stat().st_mtime > AT_WORK:
            path.unlink()
            return
        time.sleep(0.2)


def _has_experiment(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as database:
            return database.execute("select 1 from experiments").fetchone() is not None
    except sqlite3.Error as error:
        return "no such table" not in str(error)  # what else is wrong, MLflow says


def complete_tracking(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return the configuration `mlflow` with the values that follow from the rest of it.

    A server chooses where artifacts lie, which is not below the `root` of the run. The template
    that `kedro mlflow init` writes is for projects whose hooks do not log: kedro-mlflow starts the run again at every
    node, so that nested ones would pile up, and the parameters that it logs beside ours may be long.
    """
    server, tracking = dict(config.get("server") or {}), dict(config.get("tracking") or {})
    experiment, params = dict(tracking.get("experiment") or {}), dict(tracking.get("params") or {})
    create = dict(experiment.get("create_experiment_kwargs") or {})
    uri, place = server.get("mlflow_tracking_uri"), create.get("artifact_location")
    if is_remote(uri) and isinstance(place, str) and place.startswith(root.as_uri()):
        create["artifact_location"] = None
    if isinstance(uri, str):
        server["mlflow_tracking_uri"] = database_uri(uri, root)
    if params.get("long_params_strategy") == "fail":
        params["long_params_strategy"] = "truncate"
    tracking |= {
        "experiment": experiment | {"create_experiment_kwargs": create},
        "params": params,
        "run": {**(tracking.get("run") or {}), "nested": False},
    }
    return {**config, "server": server, "tracking": tracking}


def is_remote(uri: object) -> bool:
    """Return whether records go to a server, and not to a local file or database."""
    return (isinstance(uri, str) and urlsplit(uri).scheme.lower() in SERVERS) or uri in SERVERS


def without_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration without nulls: a null key of an environment leaves the base's value."""
    return {
        key: without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value is not None
    }


def check_server(uri: object) -> None:
    """Raise RunRefusedError if records go to a server that cannot be reached."""
    parts = urlsplit(uri) if isinstance(uri, str) else None
    if parts is None or parts.scheme not in PORTS:
        return
    try:
        socket.create_connection((parts.hostname or "", parts.port or PORTS[parts.scheme]), timeout=PATIENCE).close()
    except (OSError, ValueError) as error:
        place = shown(str(uri))
        raise RunRefusedError(
            f"MLflow's server {place} cannot be reached ({error}): start it, correct server.mlflow_tracking_uri in "
            "mlflow.yml, or run without it: FEDTEXT_TRACKING=off",
            code="tracking-server-unreachable",
            parameter="server.mlflow_tracking_uri",
            value=place,
        ) from None
