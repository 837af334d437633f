"""Leaks that a mistake makes, planted in the toy project and run as a user would run them.

`code` defines functions and a list NODES (and OTHER, of a second pipeline); `catalog` and `params` come on top of the
toy project's. `refused` is how the run is refused; None where it goes through and nothing is told. `seen` is false where
something is told and nothing here sees it. `needs` is a package without which the leak cannot be planted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from fedtext.system.refusal import RunRefusedError
from tests.refusals import faults_in
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

from fedtext.datasets.files import ParquetDataset
from toy import nodes


class Printing(ParquetDataset):
    def save(self, data: pd.DataFrame) -> None:
        print(data["text"].iloc[0])
        super().save(data)


class Copying(ParquetDataset):
    def save(self, data: pd.DataFrame) -> None:
        Path("copy.txt").write_text(data["text"].iloc[0])
        super().save(data)


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
  type: fedtext.datasets.files.ParquetDataset
  filepath: "${data_root:}/03_primary/private_{split}.parquet"
  metadata: {fedtext: {privacy: private}}
shown:
  type: &json fedtext.datasets.files.JSONDataset
  filepath: "${data_root:}/08_reporting/shown.json"
  metadata: &released {fedtext: {privacy: released}}
"""


class Refused:
    """How a leak is refused.

    Args:
        codes: Code of the error, or two that depend on what the system notices first, such as `left-behind or
            file-written`.
        value: The error's value: the node or data set, or the rule of the flow check.
        names: What the sentence must name.
    """

    def __init__(self, codes: str, value: str, *names: str) -> None:
        self.codes, self.value, self.names = codes.split(" or "), value, names

    def is_it(self, error: RunRefusedError) -> bool:
        """Return whether this is the error, or one of the faults that it lists."""
        found = [one for one in faults_in(error) if one.code in self.codes and one.value == self.value]
        assert any(all(name in str(one) for name in self.names) for one in found), f"{vars(self)} is expected: {error}"
        return True


@dataclass(frozen=True)
class Planted:
    """One leak; see the module."""

    code: str
    refused: Refused | None
    catalog: str = ""
    seen: bool = True
    params: dict[str, Any] = field(default_factory=dict)
    needs: str | None = None

    def plant(self, toy: ToyProject) -> None:
        """Writes it into a copy of the toy project."""
        package = toy.path / "src/toy"
        (package / "planted.py").write_text(COMMON + dedent(self.code))
        with (package / "pipeline_registry.py").open("a") as registry:
            registry.write(REGISTRY)
        (toy.path / "conf/base/catalog").mkdir(exist_ok=True)
        (toy.path / "conf/base/catalog/planted.yml").write_text(CATALOG + dedent(self.catalog))
        (toy.path / "notes.txt").write_text("\n".join(f"secret-{i}" for i in range(40)))


PRIVATE_CORPUS = {"corpus": {"path": "notes.txt", "declared_public": False}}  # a table that is not declared public

RUN = {
    "a file path in params": Planted(
        """
        def peek(notes: str) -> dict[str, Any]:
            return {"first": Path(notes).read_text()}

        NODES = [node(peek, "params:toy.notes", "shown", name="peek")]
        """,
        Refused("private-data-would-flow", "undeclared file", "toy.notes"),
        params={"toy": {"notes": "notes.txt"}},
    ),
    "the private path itself in params": Planted(
        """
        def peek(corpus: dict[str, Any]) -> dict[str, Any]:
            return {"first": Path(corpus["path"]).exists()}

        NODES = [node(peek, "params:corpus", "shown", name="peek")]
        """,
        Refused("path-of-private-file-read", "peek", "params:corpus"),
        params=PRIVATE_CORPUS,
    ),
    "a private file opened by its path": Planted(
        """
        def peek(start: int) -> dict[str, Any]:
            return {"first": Path("notes.txt").read_text()[:8]}

        NODES = [node(peek, "params:toy.start", "shown", name="peek")]
        """,
        Refused("private-file-by-path", "node 'peek'", "notes.txt"),
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
        Refused("private-data-set-by-path", "node 'peek'", "private_train.parquet"),
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
        Refused("private-data-would-flow", "held-out name", "x.private_test"),
        catalog="""
        "x.private_{split}":
          type: fedtext.datasets.files.ParquetDataset
          filepath: "${data_root:}/03_primary/private_x_{split}.parquet"
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "verbatim text through held_out_evaluation": Planted(
        """
        NODES = [node(first_text, "private_test", "shown", name="show", tags="held_out_evaluation")]
        """,
        Refused("shows-held-out-text", "show", "shown"),
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
        Refused("shows-held-out-text", "draw", "shown_figure"),
        catalog="""
        shown_figure:
          type: fedtext.datasets.files.PlotlyDataset
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
        Refused("shows-no-numbers", "show", "shown"),
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
        Refused("control-no-numbers", "bound", "private_bound"),
    ),
    "population carrying text": Planted(
        """
        NODES = [node(first_text, "private_train", "population", name="count", tags="public_count")]
        """,
        Refused("count-no-whole-numbers", "count", "population"),
        catalog="""
        population: {type: *json, filepath: "${data_root:}/population.json", metadata: *released}
        """,
    ),
    "a private corpus counted": Planted(
        """
        NODES = [node(length, "private_train", "population", name="count", tags="public_count")]
        """,
        Refused("private-data-would-flow", "counted", "count", "private_train", "population"),
        catalog="""
        population: {type: *json, filepath: "${data_root:}/population.json", metadata: *released}
        """,
        params=PRIVATE_CORPUS,
    ),
    "two catalog entries on one file": Planted(
        """
        NODES = [node(length, "peeked", "shown", name="show")]
        """,
        Refused("private-data-would-flow", "shared file", "peeked", "released_mean"),
        catalog="""
        peeked: {type: *json, filepath: "${data_root:}/02_released/mean.safetensors", metadata: *released}
        """,
    ),
    "a private data set's file under a public entry": Planted(
        """
        NODES = [node(first_text, "peeked", "shown", name="show")]
        """,
        Refused("private-data-would-flow", "shared file", "peeked", "private_train"),
        catalog="""
        peeked:
          type: fedtext.datasets.files.ParquetDataset
          filepath: "${data_root:}/03_primary/../03_primary/private_train.parquet"
          metadata: {fedtext: {privacy: public}}
        """,
    ),
    "a private file under a public entry": Planted(
        """
        NODES = [node(str.upper, "peeked", "shown", name="show")]
        """,
        Refused("private-data-would-flow", "shared file", "params:corpus.path", "peeked"),
        catalog="""
        peeked: {type: text.TextDataset, filepath: notes.txt, metadata: {fedtext: {privacy: public}}}
        """,
        params=PRIVATE_CORPUS,
    ),
    "a cached data set around a tracking one": Planted(
        """
        NODES = [node(length, "private_train", "private_metric", name="measure")]
        """,
        Refused("private-data-would-flow", "shown", "private_metric"),
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
        Refused("private-data-would-flow", "steers", "steer", "shown", "show"),
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
        Refused("writes-itself", "node 'copy'", "copy.csv"),
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
        Refused("side-effect", "node 'send'"),
    ),
    "a program started inside a node": Planted(
        """
        def send(private_train: pd.DataFrame) -> pd.DataFrame:
            subprocess.run(["touch", private_train["text"].iloc[0]], check=True)
            return private_train

        NODES = [node(send, "private_train", "private_rows", name="send")]
        """,
        Refused("side-effect", "node 'send'"),
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
        Refused("logs-to-mlflow or side-effect", "node 'track'"),
    ),
    "bound arguments": Planted(
        """
        TEXTS = pd.DataFrame({"text": ["secret-0"]})

        def tell(table: pd.DataFrame, start: int) -> dict[str, Any]:
            return first_text(table)

        NODES = [node(functools.partial(tell, TEXTS), "params:toy.start", "shown", name="tell")]
        """,
        Refused("private-data-would-flow", "bound", "tell", "shown", "argument 1"),
    ),
    "a private entry saved under 08_reporting": Planted(
        """
        NODES = [node(length, "private_train", "private_rows", name="copy")]
        """,
        Refused("private-data-would-flow", "misplaced", "private_rows"),
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
        Refused("private-data-would-flow", "two roles", "publish", "shown"),
    ),
}


def _a_node_that(does: str, before: str = "") -> str:
    """Code of a node that reads private data, does `does`, and returns nothing new; `before` stands above it."""
    return f"""
{before}

def leak(private_train: pd.DataFrame) -> pd.DataFrame:
    text = private_train["text"].iloc[0]
    {does}
    return private_train


NODES = [node(leak, "private_train", "private_rows", name="leak")]
"""


# What libraries write in their own C++ or Rust: the operating system refuses what is written, and names are taken back.
NATIVE = {
    "a table written as Parquet": Planted(
        _a_node_that("private_train.to_parquet('copy.parquet')"), Refused("left-behind", "node 'leak'", "copy.parquet")
    ),
    "a table written as Parquet, its error caught": Planted(
        _a_node_that("with contextlib.suppress(Exception): private_train.to_parquet('copy.parquet')"),
        Refused("left-behind", "node 'leak'", "copy.parquet"),
    ),
    "Parquet in folders named by clients": Planted(
        _a_node_that("private_train.to_parquet('data/copy', partition_cols=['text'])"),
        Refused("left-behind", "node 'leak'", "data/copy"),
    ),
    "Parquet through a writer": Planted(
        _a_node_that(
            "table = pa.Table.from_pandas(private_train)\n    pq.ParquetWriter('copy.parquet', table.schema).write(table)",
            "import pyarrow as pa\nimport pyarrow.parquet as pq",
        ),
        Refused("left-behind or file-written", "node 'leak'"),
    ),
    "a function of torch that was imported before": Planted(
        _a_node_that("save(text, 'copy.pt')", "from torch import save"),
        Refused("left-behind", "node 'leak'", "copy.pt"),
    ),
    "safetensors that are first imported in the node": Planted(
        _a_node_that(
            "import importlib, sys\n    del sys.modules['safetensors.numpy']\n"
            "    importlib.import_module('safetensors.numpy').save_file({'x': np.frombuffer(text.encode(), 'u1')}, 'copy')"
        ),
        Refused("left-behind or file-written", "node 'leak'"),
    ),
    "Arrow's CSV": Planted(
        _a_node_that(
            "write_csv(pa.Table.from_pandas(private_train), 'copy.csv')",
            "import pyarrow as pa\nfrom pyarrow.csv import write_csv",
        ),
        Refused("left-behind", "node 'leak'", "copy.csv"),
    ),
    "a data set of Arrow's": Planted(
        _a_node_that(
            "write_dataset(pa.Table.from_pandas(private_train), 'copy', format='parquet')",
            "import pyarrow as pa\nfrom pyarrow.dataset import write_dataset",
        ),
        Refused("left-behind", "node 'leak'"),
    ),
    "a tokenizer that learned private words": Planted(
        _a_node_that(
            "tokenizer = Tokenizer(WordLevel({text: 0}, unk_token=text))\n    tokenizer.save('copy.json')",
            "from tokenizers import Tokenizer\nfrom tokenizers.models import WordLevel",
        ),
        Refused("left-behind or file-written", "node 'leak'"),
    ),
    "a file that was opened before": Planted(
        _a_node_that("os.write(KEPT, text.encode())", "KEPT = os.open('kept.txt', os.O_CREAT | os.O_WRONLY)"),
        Refused("file-written or writes-open-file", "node 'leak'"),
    ),
    "a buffer of a file that was opened before": Planted(
        _a_node_that("KEPT.write(text)", "KEPT = open('kept.txt', 'a')"),
        Refused("writes-open-file", "node 'leak'", "kept.txt"),
    ),
    "a compressed file that was opened before": Planted(
        _a_node_that(
            "print(text, file=KEPT)", "import gzip\nKEPT = gzip.open('kept.gz', 'wt')\nKEPT.write(' ')\nKEPT.flush()"
        ),
        Refused("writes-open-file", "node 'leak'", "kept.gz"),
    ),
    "a temporary file of C++": Planted(
        _a_node_that("private_train.to_parquet(tempfile.gettempdir() + '/copy')", "import tempfile"),
        Refused("left-behind", "node 'leak'"),
    ),
    "a file moved in C++": Planted(
        _a_node_that(
            "LocalFileSystem().move('data/03_primary/private_train.parquet', 'shown.parquet')",
            "from pyarrow.fs import LocalFileSystem",
        ),
        Refused("left-behind", "node 'leak'", "shown.parquet"),
    ),
    "a folder made in C++": Planted(
        _a_node_that("LocalFileSystem().create_dir('data/new/' + text)", "from pyarrow.fs import LocalFileSystem"),
        Refused("left-behind", "node 'leak'", "data/new"),
    ),
    "a folder made in C++ in the working folder": Planted(
        _a_node_that("LocalFileSystem().create_dir(text)", "from pyarrow.fs import LocalFileSystem"),
        Refused("left-behind", "node 'leak'"),
    ),
    "a folder made in C++ before an interrupt": Planted(
        _a_node_that(
            "LocalFileSystem().create_dir('data/new/' + text)\n    raise SystemExit",
            "from pyarrow.fs import LocalFileSystem",
        ),
        None,
    ),
}

# What Python reports before it happens.
MOVED = {
    "a private file renamed": Planted(
        _a_node_that("os.rename('data/03_primary/private_train.parquet', 'shown.parquet')"),
        Refused("side-effect", "node 'leak'"),
    ),
    "a private file replacing another": Planted(
        _a_node_that("os.replace('data/03_primary/private_train.parquet', 'shown.parquet')"),
        Refused("side-effect", "node 'leak'"),
    ),
    "a private file moved": Planted(
        _a_node_that("shutil.move('data/03_primary/private_train.parquet', 'shown.parquet')", "import shutil"),
        Refused("private-data-set-by-path", "node 'leak'", "private_train.parquet"),  # to copy it
    ),
    "a private file moved by a node that reads nothing": Planted(
        """
        def leak(rows: dict[str, Any]) -> dict[str, Any]:
            os.rename("data/03_primary/private_train.parquet", "shown.parquet")
            return rows

        NODES = [
            node(length, "private_test", "rows", name="length", tags="held_out_evaluation"),
            node(leak, "rows", "shown", name="leak", tags="report"),
        ]
        """,
        Refused("private-data-set-by-path", "node 'leak'", "private_train.parquet"),
        catalog="rows: {type: MemoryDataset, metadata: *released}",
    ),
    "a folder named by private text": Planted(
        _a_node_that("os.makedirs('data/' + text)"),
        Refused("makes-folder", "node 'leak'"),
    ),
    "a file named by private text": Planted(
        _a_node_that("open(f'{text}.txt', 'w')"), Refused("writes-itself", "node 'leak'")
    ),
    "a pipe named by private text": Planted(_a_node_that("os.mkfifo(text)"), Refused("side-effect", "node 'leak'")),
    "a private file made readable for all": Planted(
        _a_node_that("os.chmod('data/03_primary/private_train.parquet', 0o644)"),
        Refused("side-effect", "node 'leak'", "private_train.parquet"),
    ),
    "private text as an attribute of a file": Planted(
        _a_node_that("os.setxattr('notes.txt', 'user.text', text.encode())"),
        Refused("side-effect", "node 'leak'", "notes.txt"),
    ),
}

# What runs beside a node, or after it.
BESIDE = {
    "a thread that outlives its node": Planted(
        _a_node_that(
            "threading.Thread(target=later, args=[text], daemon=True, name='later').start()",
            "import threading\nimport time\n\n\ndef later(text: str) -> None:\n    time.sleep(2)\n"
            "    open('copy.txt', 'w').write(text)",
        ),
        Refused("left-behind", "node 'leak'"),
    ),
    "a timer": Planted(
        _a_node_that("threading.Timer(2, lambda: open('copy.txt', 'w').write(text)).start()", "import threading"),
        Refused("left-behind", "node 'leak'"),
    ),
    "a process by spawn": Planted(
        _a_node_that(
            "multiprocessing.get_context('spawn').Process(target=print, args=[text]).start()", "import multiprocessing"
        ),
        Refused("side-effect", "node 'leak'"),
    ),
    "a process by fork": Planted(
        _a_node_that(
            "multiprocessing.get_context('fork').Process(target=print, args=[text]).start()", "import multiprocessing"
        ),
        Refused("side-effect", "node 'leak'"),
    ),
    "workers that were started before": Planted(
        _a_node_that(
            "POOL.submit(Path('copy.txt').write_text, text).result()",
            "from concurrent.futures import ProcessPoolExecutor\n"
            "POOL = ProcessPoolExecutor(1)\nPOOL.submit(int).result()",
        ),
        Refused("something-runs-beside", "node 'read_private'"),
    ),
    "an exit handler": Planted(
        _a_node_that("atexit.register(lambda: open('copy.txt', 'w').write(text))", "import atexit"),
        None,
    ),
    "an exit handler by a function that was imported before": Planted(
        _a_node_that("register(open, 'copy.txt', 'w')", "from atexit import register"),
        Refused("registers-exit-handler", "node 'leak'"),
    ),
    "a logger that does its own handling": Planted(
        _a_node_that(
            "Own('own').error(text)",
            "class Own(logging.Logger):\n    def handle(self, record):\n        logging.getLogger().callHandlers(record)\n",
        ),
        None,
    ),
    "a connection that was open before": Planted(
        _a_node_that("HERE.sendall(text.encode())", "HERE, THERE = socket.socketpair()\n"),
        Refused("side-effect", "node 'leak'"),
    ),
}

# In the workers of a run's engine.
WRITE = """
    from fedtext.system.engine import current


    def write(text: str) -> None:
        open("copy.txt", "w").write(text)


    def write_parquet(text: str) -> None:
        pd.DataFrame({"text": [text]}).to_parquet("copy.parquet")


    def write_later(text: str) -> None:
        import threading

        threading.Timer(2, write, [text]).start()
"""


def _on(name: str) -> dict[str, Any]:
    return {"engine": {"name": name, "workers": 1}}


WORKERS = {
    "a file written by a worker of the engine": Planted(
        _a_node_that("list(current().map(write, [text]))", dedent(WRITE)),
        Refused("writes-itself", "node 'leak'"),
        params=_on("processes"),
    ),
    "a table written as Parquet by a worker": Planted(
        _a_node_that("list(current().map(write_parquet, [text]))", dedent(WRITE)),
        Refused("left-behind", "node 'leak'", "copy.parquet"),
        params=_on("processes"),
    ),
    "a timer in a worker": Planted(
        _a_node_that("list(current().map(write_later, [text]))", dedent(WRITE)),
        Refused("left-behind", "node 'leak'"),
        params=_on("processes"),
    ),
    "a file written by a worker of Ray": Planted(
        _a_node_that("list(current().map(write, [text]))", dedent(WRITE)),
        Refused("writes-itself", "node 'leak'"),
        params=_on("ray"),
        needs="ray",
    ),
    "work handed to Ray past the engine": Planted(
        _a_node_that("import ray; ray.get(ray.remote(write).remote(text))", dedent(WRITE)),
        Refused("hands-work-to-ray", "node 'leak'"),
        params=_on("ray"),
        needs="ray",
    ),
}

# Standard streams.
STREAMS = {
    "a descriptor of standard output": Planted(
        _a_node_that("os.write(1, text.encode())"), Refused("writes-past-stream", "node 'leak'")
    ),
    "Python's first standard output": Planted(
        _a_node_that("print(text, file=sys.__stdout__)", "import sys"), Refused("writes-past-stream", "node 'leak'")
    ),
    "a stream that was kept": Planted(
        _a_node_that("print(text, file=KEPT)", "KEPT = os.fdopen(1, 'w', closefd=False, buffering=1)"),
        Refused("writes-past-stream", "node 'leak'"),
    ),
    "a copy of standard output's descriptor": Planted(
        _a_node_that("os.write(KEPT, text.encode())", "READ, PIPE = os.pipe()\nos.dup2(PIPE, 1)\nKEPT = os.dup(1)"),
        Refused("writes-past-stream", "node 'leak'"),
    ),
    "standard output of C": Planted(
        _a_node_that("ctypes.CDLL(None).puts(text.encode())", "import ctypes"),
        Refused("writes-past-stream", "node 'leak'"),
    ),
    "a descriptor of standard error": Planted(_a_node_that("os.write(2, text.encode() + b'\\n')"), None),
    "a data set that prints while it is saved": Planted(
        _a_node_that("pass"),
        None,
        catalog="""
        private_rows:
          type: toy.planted.Printing
          filepath: "${data_root:}/03_primary/private_rows.parquet"
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "a data set that writes elsewhere while it is saved": Planted(
        _a_node_that("pass"),
        Refused("writes-itself", "data set 'private_rows'", "copy.txt"),
        catalog="""
        private_rows:
          type: toy.planted.Copying
          filepath: "${data_root:}/03_primary/private_rows.parquet"
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "a private entry that is a table of a database": Planted(
        _a_node_that("pass"),
        Refused("private-data-would-flow", "misplaced", "private_rows"),
        catalog="""
        private_rows:
          type: pandas.SQLTableDataset
          table_name: rows
          credentials: {con: "sqlite:///copy.db"}
          metadata: {fedtext: {privacy: private}}
        """,
    ),
    "a private entry outside of the data root": Planted(
        _a_node_that("pass"),
        Refused("private-data-would-flow", "misplaced", "private_rows"),
        catalog="""
        private_rows:
          type: fedtext.datasets.files.ParquetDataset
          filepath: private_rows.parquet
          metadata: {fedtext: {privacy: private}}
        """,
    ),
}

# What nothing here sees.
UNSEEN = {
    "a file that was mapped into memory before": Planted(
        _a_node_that(
            "KEPT[:8] = text[:8].encode()\n    KEPT.flush()",
            "import mmap\nPath('kept.txt').write_text(' ' * 64)\nKEPT = mmap.mmap(os.open('kept.txt', os.O_RDWR), 64)",
        ),
        None,
        seen=False,
    ),
    "an object that writes when it is thrown away": Planted(
        """
        class Late:
            def __init__(self, text: str) -> None:
                self.text = text

            def __del__(self) -> None:
                open("copy.txt", "w").write(self.text)


        KEPT = []


        def leak(private_test: pd.DataFrame) -> dict[str, Any]:
            KEPT.append(Late(private_test["text"].iloc[0]))
            return length(private_test)


        def forget(rows: dict[str, Any]) -> dict[str, Any]:
            KEPT.clear()
            return rows


        NODES = [
            node(leak, "private_test", "rows", name="leak", tags="held_out_evaluation"),
            node(forget, "rows", "shown", name="tidy", tags="report"),
        ]
        """,
        None,
        catalog="rows: {type: MemoryDataset, metadata: *released}",
        seen=False,
    ),
    "a module's own variable": Planted(
        """
        KEPT = []


        def leak(private_test: pd.DataFrame) -> dict[str, Any]:
            KEPT.append(private_test["text"].iloc[0])
            return length(private_test)


        def tell(rows: dict[str, Any]) -> dict[str, Any]:
            return {"first": KEPT[0]}


        NODES = [
            node(leak, "private_test", "rows", name="leak", tags="held_out_evaluation"),
            node(tell, "rows", "shown", name="tell", tags="report"),
        ]
        """,
        None,
        catalog="rows: {type: MemoryDataset, metadata: *released}",
        seen=False,
    ),
    "a thread that was there before": Planted(
        """
        import queue
        import threading

        WAITING, DONE = queue.Queue(), threading.Event()


        def later() -> None:
            text = WAITING.get()
            DONE.wait(30)
            open("copy.txt", "w").write(text)


        THREAD = threading.Thread(target=later, daemon=True)
        THREAD.start()


        def leak(private_test: pd.DataFrame) -> dict[str, Any]:
            WAITING.put(private_test["text"].iloc[0])
            return length(private_test)


        def tidy(rows: dict[str, Any]) -> dict[str, Any]:
            DONE.set()
            THREAD.join(30)
            return rows


        NODES = [
            node(leak, "private_test", "rows", name="leak", tags="held_out_evaluation"),
            node(tidy, "rows", "shown", name="tidy", tags="report"),
        ]
        """,
        None,
        catalog="rows: {type: MemoryDataset, metadata: *released}",
        seen=False,
    ),
}
FURTHER = NATIVE | MOVED | BESIDE | WORKERS | STREAMS | UNSEEN
RUN |= FURTHER
