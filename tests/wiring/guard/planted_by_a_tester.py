"""Leaks that a tester found who looked for what the guard does not see; see tests.wiring.guard.planted."""

from __future__ import annotations

from tests.wiring.guard.planted import PRIVATE_CORPUS, Planted, Refused, _a_node_that


def _a_node_of(function: str, before: str = "") -> str:
    """Code of a node that reads nothing private, with the table TEXTS at hand."""
    return f"""
TEXTS = pd.DataFrame({{"text": ["secret-0"]}})


def plain(start: int) -> dict[str, Any]:
    return {{"start": start}}


{before}


NODES = [node({function}, "params:toy.start", "shown", name="tell")]
"""


# What a node's function holds.
HELD = {
    "a table behind a decorator": Planted(
        _a_node_of(
            "with_(TEXTS)(plain)",
            """
def with_(table: pd.DataFrame) -> Any:
    def around(function: Any) -> Any:
        @functools.wraps(function)
        def told(start: int) -> dict[str, Any]:
            return {**function(start), **first_text(table)}

        return told

    return around
""",
        ),
        Refused("private-data-would-flow", "bound", "tell", "shown", "a DataFrame ('table')"),
        params=PRIVATE_CORPUS,
    ),
    "a table that is a function's attribute": Planted(
        _a_node_of("plain", "plain.table = TEXTS"),
        Refused("private-data-would-flow", "bound", "tell", "shown", "a DataFrame ('table')"),
        params=PRIVATE_CORPUS,
    ),
}


def _after_private_data(tells: str, kept: str = "private_train", before: str = "") -> str:
    """Code of a node that shows what `tells` makes while private data sets lie on disk, of which it reads none."""
    return f"""
{before}


def leak(private_train: pd.DataFrame) -> Any:
    return {kept}


def tell(rows: dict[str, Any]) -> dict[str, Any]:
    return {{"told": {tells}}}


NODES = [
    node(leak, "private_train", "private_rows", name="leak"),
    node(length, "private_test", "rows", name="length", tags="held_out_evaluation"),
    node(tell, "rows", "shown", name="tell", tags="report"),
]
"""


ROWS = "rows: {type: MemoryDataset, metadata: *released}\n"
OUTPUT = "capture_output=True, text=True, check=False).stdout"

# What a node that reads nothing private takes from private files by other ways than to open them.
TAKEN = {
    "a program that is given a private file": Planted(
        _a_node_of("head", f"def head(start: int):\n    return subprocess.run(['head', '-n1', 'notes.txt'], {OUTPUT}"),
        Refused("private-file-by-path", "node 'tell'", "notes.txt"),
        params=PRIVATE_CORPUS,
    ),
    "a shell that is given a private file": Planted(
        _a_node_of("head", "def head(start: int):\n    return os.popen('head -n1 <notes.txt >copy.txt').read()"),
        Refused("private-file-by-path", "node 'tell'", "notes.txt"),
        params=PRIVATE_CORPUS,
    ),
    "a program that is given the file of a private data set": Planted(
        _after_private_data(f"subprocess.run(['strings', 'data/03_primary/private_train.parquet'], {OUTPUT}"),
        Refused("private-data-set-by-path", "node 'tell'", "private_train.parquet"),
        ROWS,
    ),
    "a program that is given a folder with private files in it": Planted(
        _after_private_data(f"subprocess.run(['grep', '-r', 'secret', '--include=*', 'data'], {OUTPUT}"),
        Refused("private-folder-by-path", "node 'tell'", "data"),
        ROWS,
    ),
    "safetensors opened in Rust": Planted(
        _after_private_data(
            "list(safe_open('data/03_primary/private_rows.safetensors', 'np').keys())",
            "{private_train['text'].iloc[0]: np.ones(1)}",
            "from safetensors import safe_open",
        ),
        Refused("private-data-set-by-path", "node 'tell'", "private_rows.safetensors"),
        ROWS
        + """
private_rows:
  type: fedtext.datasets.files.ArraysDataset
  filepath: "${data_root:}/03_primary/private_rows.safetensors"
  metadata: {fedtext: {privacy: private}}
""",
    ),
    "Parquet that Arrow maps into memory": Planted(
        _after_private_data(
            "pq.read_table(pa.memory_map('data/03_primary/private_train.parquet')).to_pylist()[0]['text']",
            before="import pyarrow as pa\nimport pyarrow.parquet as pq",
        ),
        Refused("private-data-set-by-path", "node 'tell'", "private_train.parquet"),
        ROWS,
    ),
    "Parquet through a file of Arrow's": Planted(
        _after_private_data(
            "pq.read_table(pa.OSFile('data/03_primary/private_train.parquet')).to_pylist()[0]['text']",
            before="import pyarrow as pa\nimport pyarrow.parquet as pq",
        ),
        Refused("private-data-set-by-path", "node 'tell'", "private_train.parquet"),
        ROWS,
    ),
    "Arrow's reader of CSV that was imported before": Planted(
        _a_node_of(
            "read",
            "from pyarrow.csv import read_csv\n\n\n"
            "def read(start: int):\n    return read_csv('notes.txt').to_pylist()[0]",
        ),
        Refused("private-file-by-path", "node 'tell'", "notes.txt"),
        params=PRIVATE_CORPUS,
    ),
    "a tokenizer that learns from a private file": Planted(
        _a_node_of(
            "learn",
            "from tokenizers import Tokenizer, models\n\n\n"
            "def learn(start: int):\n    made = Tokenizer(models.BPE())\n    made.train(['notes.txt'])\n"
            "    return sorted(made.get_vocab())",
        ),
        Refused("private-file-by-path", "node 'tell'", "notes.txt"),
        params=PRIVATE_CORPUS,
    ),
    "the names in a private folder": Planted(
        _after_private_data("os.listdir('data/03_primary/private_rows')", "{'private_0': private_train}"),
        Refused("private-data-set-by-path", "node 'tell'", "private_rows"),
        ROWS
        + """
private_rows:
  type: partitions.PartitionedDataset
  path: "${data_root:}/03_primary/private_rows"
  dataset: pandas.CSVDataset
  metadata: {fedtext: {privacy: private}}
""",
    ),
}

# What a node that reads private data writes into memory that is a file.
MAPPED = {
    "a file that Arrow maps to write into it": Planted(
        _a_node_that(
            "pa.memory_map('there.bin', 'r+').write(text.encode())",
            "import pyarrow as pa\nPath('there.bin').write_bytes(bytes(64))",
        ),
        Refused("writes-itself", "node 'leak'", "there.bin"),
    ),
    "a file that torch maps to write into it": Planted(
        _a_node_that(
            "mapped = torch.from_file('there.bin', shared=True, size=8, dtype=torch.uint8)\n"
            "    mapped[:] = torch.frombuffer(bytearray(text.encode()[:8]), dtype=torch.uint8)",
            "import torch\nPath('there.bin').write_bytes(bytes(64))",
        ),
        Refused("writes-itself", "node 'leak'", "there.bin"),
    ),
}
# What a node leaves set in the process.
LEFT = {
    "private text in an environment variable": Planted(
        _a_node_that("os.environ['BEST'] = text"), Refused("left-behind", "node 'leak'", "environment")
    ),
    "a signal's handler, and a timer": Planted(
        _a_node_that(
            "signal.signal(signal.SIGVTALRM, lambda *_: Path('copy.txt').write_text(text))\n"
            "    signal.setitimer(signal.ITIMER_VIRTUAL, 30)",
            "import signal",
        ),
        Refused("left-behind", "node 'leak'", "a timer", "SIGVTALRM"),
    ),
    "a function that makes log records": Planted(
        _a_node_that(
            "logging.setLogRecordFactory(lambda *given, **named: logging.LogRecord(*given[:4], text, (), None))"
        ),
        Refused("left-behind", "node 'leak'", "log records"),
    ),
    "a public object in memory that is handed on as it is": Planted(
        """
        def make(start: int) -> dict[str, Any]:
            return {}


        def leak(private_train: pd.DataFrame, notes: dict[str, Any]) -> pd.DataFrame:
            notes |= first_text(private_train)
            return private_train


        def tell(rows: dict[str, Any], notes: dict[str, Any]) -> dict[str, Any]:
            return notes


        NODES = [
            node(make, "params:toy.start", "notes", name="make"),
            node(leak, ["private_train", "notes"], "private_rows", name="leak"),
            node(length, "private_test", "rows", name="length", tags="held_out_evaluation"),
            node(tell, ["rows", "notes"], "shown", name="tell", tags="report"),
        ]
        """,
        None,
        ROWS + "notes: {type: MemoryDataset, copy_mode: assign, metadata: {fedtext: {privacy: public}}}\n",
        seen=False,
    ),
}
BY_A_TESTER = HELD | TAKEN | MAPPED | LEFT
