"""Calls that read or map a file in a library's own C++ or Rust, which Python does not report: they are watched by name.

Such a function is replaced for good by one that asks the current watch first, in its module and wherever a loaded
module has imported it by name. Between nodes nothing is asked.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from fedtext.wiring.guard.watch import current


class NativeCall(NamedTuple):
    """A function, method or class that is given a path.

    Attributes:
        module: Its module.
        name: Its name there.
        position: Of the path among its arguments.
        keyword: The path's name.
        writes: Position and name of the argument that says whether it maps the file to write into it.
    """

    module: str
    name: str
    position: int
    keyword: str
    writes: tuple[int, str] | None = None


CALLS = (
    NativeCall("pyarrow", "OSFile", 0, "path"),  # what it writes, the operating system refuses
    NativeCall("pyarrow", "memory_map", 0, "path", (1, "mode")),
    NativeCall("pyarrow", "create_memory_map", 0, "path", (1, "size")),
    NativeCall("pyarrow", "input_stream", 0, "source"),
    NativeCall("pyarrow.csv", "read_csv", 0, "input_file"),
    NativeCall("pyarrow.csv", "open_csv", 0, "input_file"),
    NativeCall("pyarrow.json", "read_json", 0, "input_file"),
    NativeCall("pyarrow.dataset", "dataset", 0, "source"),
    NativeCall("pyarrow.feather", "read_feather", 0, "source"),
    NativeCall("pyarrow.feather", "read_table", 0, "source"),
    NativeCall("pyarrow.parquet", "read_table", 0, "source"),
    NativeCall("pyarrow.parquet", "ParquetFile", 0, "source"),
    NativeCall("pyarrow.parquet", "ParquetDataset", 0, "path_or_paths"),
    NativeCall("safetensors", "safe_open", 0, "filename"),
    NativeCall("safetensors.numpy", "load_file", 0, "filename"),
    NativeCall("safetensors.torch", "load_file", 0, "filename"),
    NativeCall("tokenizers", "Tokenizer.train", 1, "files"),
    NativeCall("torch", "from_file", 0, "filename", (1, "shared")),
    NativeCall("torch", "load", 0, "f"),
)
READING = (None, False, "r", "rb")  # what the argument says of a call that does not write


@functools.cache
def import_libraries() -> None:
    """Import the libraries before a node can."""
    for module in dict.fromkeys(call.module for call in CALLS):
        importlib.import_module(module)


def judge_calls() -> None:
    """Replace the functions of the libraries that are loaded; those that are replaced already stay."""
    replaced: dict[int, tuple[Any, Any]] = {}
    for call in CALLS:
        *around, name = call.name.split(".")
        owner = functools.reduce(lambda one, part: getattr(one, part, None), around, sys.modules.get(call.module))
        found = getattr(owner, name, None)
        if isinstance(found, type) and isinstance(own := vars(found).get("__init__"), FunctionType):
            if not hasattr(own, "judges"):
                after_self = call._replace(
                    position=call.position + 1, writes=call.writes and (call.writes[0] + 1, call.writes[1])
                )
                found.__init__ = _judged(own, after_self)  # type: ignore[misc]
        elif found is not None and not hasattr(found, "judges"):
            judged = _judged(found, call)
            setattr(owner, name, judged)
            replaced[id(found)] = found, judged
    if replaced:
        _replace_imported(replaced)


def _replace_imported(replaced: dict[int, tuple[Any, Any]]) -> None:
    """Replace functions where loaded modules have imported them by name; `replaced` has old and new by the old's id."""
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            names = vars(module)
            for name, value in list(names.items()):
                if id(value) in replaced:
                    names[name] = replaced[id(value)][1]


def _judged(function: Callable[..., Any], call: NativeCall) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def judged(*args: Any, **kwargs: Any) -> Any:
        if (watch := current()) is not None:

            def given(position: int, keyword: str) -> Any:
                return args[position] if len(args) > position else kwargs.get(keyword)

            writes = call.writes is not None and given(*call.writes) not in READING
            paths = given(call.position, call.keyword)
            for path in paths if isinstance(paths, list | tuple) else [paths]:
                watch.opens(path, writes=writes)
        return function(*args, **kwargs)

    judged.judges = call.name  # type: ignore[attr-defined]
    return judged
