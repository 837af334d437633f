"""Text, Markdown, HTML and JSON files."""

from __future__ import annotations

from typing import Any, ClassVar

from kedro_datasets import json, text

from fedtext.datasets.atomic import AtomicSave

_UTF8_SAVE = {"mode": "w", "encoding": "utf-8", "newline": "\n"}
_UTF8_LOAD = {"mode": "r", "encoding": "utf-8"}


class JSONDataset(AtomicSave, json.JSONDataset):  # type: ignore[misc]
    """A JSON document in UTF-8, saved all-or-nothing."""

    DEFAULT_FS_ARGS: ClassVar[dict[str, Any]] = {"open_args_save": _UTF8_SAVE, "open_args_load": _UTF8_LOAD}


class TextDataset(AtomicSave, text.TextDataset):  # type: ignore[misc]
    """Text in UTF-8 (also Markdown and HTML), saved all-or-nothing."""

    DEFAULT_FS_ARGS: ClassVar[dict[str, Any]] = {"open_args_save": _UTF8_SAVE, "open_args_load": _UTF8_LOAD}
