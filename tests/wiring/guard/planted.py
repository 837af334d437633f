"""Leaks that a mistake makes, planted in the toy project and run as a user would run them.

`code` defines functions and a list NODES (and OTHER, of a second pipeline); `catalog` and `params` come on top of the
toy project's. `said` is what refuses the run; None where it goes through and nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from tests.wiring.conftest import ToyProject

REGISTRY = """

from toy.planted import planted

_own = register_pipelines


def register_pipelines():
    return {**_own(), **planted()}
"""
COMMON = """
import contextlib
import functools
import logging
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kedro.pipeline import Pipeline, node

from toy import nodes


def split(private_records: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return private_records.iloc[:20], private_records.iloc[20:30], private_records.iloc[30:]


BASE = [
    node(nodes.read_private, "params:corpus", "private_records", name="read_private"),
    node(split, "private_records", ["private_train", "private_validation", "private_test"], name="split",
         tags="splits_clients"),
]
OTHER = []


def planted():
    return {"planted": Pipeline([*BASE, *NODES]), "other": Pipeline(OTHER)}


def first_text(table: pd.DataFrame) -> dict[str, Any]:
    return {"first": table["text"].iloc[0]}


def length(table: pd.DataFrame) -> dict[str, Any]:
    return {"rows": len(table)}
"""
CATALOG = """
"private_{split}":
  type: fedtext.datasets.tables.ParquetDataset
  filepath: "${data_root:}/03_primary/private_{split}.parquet"
  metadata: {fedtext: {privacy: private}}
shown:
  type: &json fedtext.datasets.documents.JSONDataset
  filepath: "${data_root:}/08_reporting/shown.json"
  metadata: &released {fedtext: {privacy: released}}
"""


@dataclass(frozen=True)
class Planted:
    """One leak; see the module."""

    code: str
    said: str | None
    catalog: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def plant(self, toy: ToyProject) -> None:
        """Writes it into a copy of the toy project."""
        package = toy.path / "src/toy"
        (package / "planted.py").write_text(COMMON + dedent(self.code))
        with (package / "pipeline_registry.py").open("a") as registry:
            registry.write(REGISTRY)
        (toy.path / "conf/base/catalog_planted.yml").write_text(CATALOG + dedent(self.catalog))
        (toy.path / "notes.txt").write_text("\n".join(f"secret-{i}" for i in range(40)))


PRIVATE_CORPUS = {"corpus": {"path": "notes.txt", "declared_public": False}}  # a table that is not declared public

RUN = {
    "a file path in params": Planted(
        """
        def peek(notes: str) -> dict[str, Any]:
            return {"first": Path(notes).read_text()}

        NODES = [node(peek, "params:toy.notes", "shown", name="peek")]
        """,
        r"parameter 'toy.notes' names notes.txt, but is not declared to name a file",
        params={"toy": {"notes": "notes.txt"}},
    ),
    "the private path itself in params": Planted(
        """
        def peek(corpus: dict[str, Any]) -> dict[str, Any]:
            return {"first": Path(corpus["path"]).exists()}

        NODES = [node(peek, "params:corpus", "shown", name="peek")]
        """,
        r"node 'peek' reads the path of a private file from 'params:corpus' and writes what is not private",
        params=PRIVATE_CORPUS,
    ),
    "a private file opened by its path": Planted(
        """
        def peek(start: int) -> dict[str, Any]:
            return {"first": Path("notes.txt").read_text()[:8]}

        NODES = [node(peek, "params:toy.start", "shown", name="peek")]
        """,
        r"node 'peek' opens notes.txt, which is private, and writes what is not",
        params=PRIVATE_CORPUS,
    ),
    "a private data set opened by its path": Planted(
        """
        def peek(rows: dict[str, Any]) -> dict[str, Any]:
            return {"first": pd.read_parquet("data/03_primary/private_train.parquet")["text"].iloc[0]}

        NODES = [
            node(length, "private_test", "rows", name="length", tags="held_out_evaluation"),
            node(peek, "rows", "shown", name="peek", tags="report"),
        ]
        """,
        r"node 'peek' opens data/03_primary/private_train.parquet, the file of a private data set, itself",
        catalog="""
        rows: {type: MemoryDataset, metadata: *released}
        """,
    ),
    "x.private_test made from training text": Planted(
        """
        def rename(private_train: pd.DataFrame) -> pd.DataFrame:
            return private_train

        NODES = [
            node(rename, "private_train", "x.private_test", name="rename"),
            node(length, "x.private_test", "shown", name="show", tags="held_out_evaluation"),
        ]
        """,
        r"data set 'x.private_test' has the name of held-out text, which only the split makes",
        catalog="""
        "x.private_{split}":
          type: fedtext.datasets.tables.ParquetDataset
          filepath: "${data_root:}/03_primary/private_x_{split}.parquet"
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "verbatim text through held_out_evaluation": Planted(
        """
        NODES = [node(first_text, "private_test", "shown", name="show", tags="held_out_evaluation")]
        """,
        r"node 'show' shows held-out text in 'shown'",
    ),
    "verbatim text in a figure of an evaluation": Planted(
        """
        def draw(table: pd.DataFrame):
            import plotly.graph_objects as go

            return go.Figure(go.Scatter(x=[1], y=[1], hovertext=["in the words of " + 3 * table["text"].iloc[0]]))

        def lengthen(private_test: pd.DataFrame) -> pd.DataFrame:
            return private_test.assign(text=3 * private_test["text"])

        NODES = [
            node(lengthen, "private_test", "private_long", name="lengthen"),
            node(draw, "private_long", "shown_figure", name="draw", tags="held_out_evaluation"),
        ]
        """,
        r"node 'draw' shows held-out text in 'shown_figure'",
        catalog="""
        shown_figure:
          type: fedtext.datasets.figures.PlotlyDataset
          filepath: "${data_root:}/08_reporting/shown_figure.json"
          metadata: *released
        """,
    ),
    "a table through held_out_evaluation": Planted(
        """
        def table(private_test: pd.DataFrame) -> pd.DataFrame:
            return private_test

        NODES = [node(table, "private_test", "shown", name="show", tags="held_out_evaluation")]
        """,
        r"node 'show' shows a DataFrame in 'shown'",
    ),
    "verbatim text through unprotected_control": Planted(
        """
        def table(private_train: pd.DataFrame) -> pd.DataFrame:
            return private_train

        NODES = [
            node(table, "private_train", "private_bound", name="bound", tags="unprotected_control"),
            node(first_text, "private_bound", "shown", name="show", tags="held_out_evaluation"),
        ]
        """,
        r"node 'bound' hands a DataFrame to evaluations in 'private_bound'",
    ),
    "population carrying text": Planted(
        """
        NODES = [node(first_text, "private_train", "population", name="count", tags="public_count")]
        """,
        r"node 'count' writes more than whole numbers to 'population'",
        catalog="""
        population: {type: *json, filepath: "${data_root:}/population.json", metadata: *released}
        """,
    ),
    "a private corpus counted": Planted(
        """
        NODES = [node(length, "private_train", "population", name="count", tags="public_count")]
        """,
        r"node 'count' counts private data \('private_train'\) into 'population', but the corpus is not declared public",
        catalog="""
        population: {type: *json, filepath: "${data_root:}/population.json", metadata: *released}
        """,
        params=PRIVATE_CORPUS,
    ),
    "two catalog entries on one file": Planted(
        """
        NODES = [node(length, "peeked", "shown", name="show")]
        """,
        r"data sets 'peeked' and 'released_mean' are one file",
        catalog="""
        peeked: {type: *json, filepath: "${data_root:}/02_released/mean.safetensors", metadata: *released}
        """,
    ),
    "a private data set's file under a public entry": Planted(
        """
        NODES = [node(first_text, "peeked", "shown", name="show")]
        """,
        r"data sets 'peeked' and 'private_train' are one file",
        catalog="""
        peeked:
          type: fedtext.datasets.tables.ParquetDataset
          filepath: "${data_root:}/03_primary/../03_primary/private_train.parquet"
          metadata: {fedtext: {privacy: public}}
        """,
    ),
    "a private file under a public entry": Planted(
        """
        NODES = [node(str.upper, "peeked", "shown", name="show")]
        """,
        r"data sets 'params:corpus.path' and 'peeked' are one file",
        catalog="""
        peeked: {type: text.TextDataset, filepath: notes.txt, metadata: {fedtext: {privacy: public}}}
        """,
        params=PRIVATE_CORPUS,
    ),
    "a cached data set around a tracking one": Planted(
        """
        NODES = [node(length, "private_train", "private_metric", name="measure")]
        """,
        r"data set 'private_metric' is private, but its catalog entry has it sent to the experiment tracker",
        catalog="""
        private_metric:
          type: CachedDataset
          dataset: {type: kedro_mlflow.io.metrics.MlflowMetricDataset, key: rows}
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "evaluation that steers another pipeline": Planted(
        """
        NODES = [node(length, "private_test", "shown", name="show", tags="held_out_evaluation")]

        def steer(shown: dict[str, Any]) -> dict[str, Any]:
            return shown

        OTHER = [node(steer, "shown", "steered", name="steer")]
        """,
        r"node 'steer' reads 'shown', which comes from the held-out evaluation 'show'",
        catalog="""
        steered: {type: *json, filepath: "${data_root:}/steered.json", metadata: *released}
        """,
    ),
    "open().write inside a node": Planted(
        """
        def copy(private_train: pd.DataFrame) -> dict[str, Any]:
            private_train.to_csv("copy.csv")
            return length(private_train)

        NODES = [node(copy, "private_train", "private_rows", name="copy")]
        """,
        r"node 'copy' writes copy.csv itself while it reads private data",
    ),
    "open().write whose error is caught": Planted(
        """
        def copy(private_train: pd.DataFrame) -> pd.DataFrame:
            with contextlib.suppress(OSError):
                open("copy.csv", "w").write(private_train["text"].iloc[0])
            return private_train

        NODES = [node(copy, "private_train", "private_rows", name="copy")]
        """,
        None,
    ),
    "logging and printing inside a node": Planted(
        """
        def tell(private_train: pd.DataFrame) -> pd.DataFrame:
            print(private_train["text"].iloc[0])
            logging.getLogger("fedtext.tell").warning("first: %s", private_train["text"].iloc[0])
            return private_train

        NODES = [node(tell, "private_train", "private_rows", name="tell")]
        """,
        None,
    ),
    "a connection inside a node": Planted(
        """
        def send(private_train: pd.DataFrame) -> pd.DataFrame:
            socket.create_connection(("127.0.0.1", 9)).send(private_train["text"].iloc[0].encode())
            return private_train

        NODES = [node(send, "private_train", "private_rows", name="send")]
        """,
        r"node 'send' looks up 127.0.0.1 while it reads private data",
    ),
    "a program started inside a node": Planted(
        """
        def send(private_train: pd.DataFrame) -> pd.DataFrame:
            subprocess.run(["touch", private_train["text"].iloc[0]], check=True)
            return private_train

        NODES = [node(send, "private_train", "private_rows", name="send")]
        """,
        r"node 'send' starts touch while it reads private data",
    ),
    "tracking calls inside a node": Planted(
        """
        def track(private_train: pd.DataFrame) -> pd.DataFrame:
            import mlflow
            import mlflow.store.db.utils

            mlflow.store.db.utils.MAX_RETRY_COUNT = 0  # it would ask ten times in two minutes
            mlflow.set_tracking_uri("sqlite:///data/mlflow.db")
            mlflow.log_param("first", private_train["text"].iloc[0])
            return private_train

        NODES = [node(track, "private_train", "private_rows", name="track")]
        """,
        r"node 'track' (logs to MLflow|opens the database .*) while it reads private data",
    ),
    "bound arguments": Planted(
        """
        TEXTS = pd.DataFrame({"text": ["secret-0"]})

        def tell(table: pd.DataFrame, start: int) -> dict[str, Any]:
            return first_text(table)

        NODES = [node(functools.partial(tell, TEXTS), "params:toy.start", "shown", name="tell")]
        """,
        r"node 'tell', which writes 'shown', carries a DataFrame \('argument 1'\) in its function",
    ),
    "a private entry saved under 08_reporting": Planted(
        """
        NODES = [node(length, "private_train", "private_rows", name="copy")]
        """,
        r"data set 'private_rows' is private but lies in 08_reporting",
        catalog="""
        private_rows:
          type: *json
          filepath: "${data_root:}/08_reporting/private_rows.json"
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "release and report tags together": Planted(
        """
        def publish(private_train: pd.DataFrame, ledger: nodes.Ledger) -> tuple[dict[str, Any], nodes.Ledger]:
            return first_text(private_train), ledger

        NODES = [
            node(nodes.open_ledger, "params:privacy", "ledger_open", name="open_ledger"),
            node(publish, ["private_train", "ledger_open"], ["shown", "ledger"], name="publish",
                 tags=["release", "report"]),
            node(nodes.report, ["shown", "ledger"], "toy_report", name="report"),
        ]
        """,
        r"node 'publish', which writes 'shown', has the tags release and report",
    ),
}
