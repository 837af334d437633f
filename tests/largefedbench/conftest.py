from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from fedtext.largefedbench.tokens import ChunkTokenizer
from tests.real_data import real_data

from .pages import write_raw


@pytest.fixture(scope="session")
def words() -> ChunkTokenizer:
    """A tokenizer whose tokens are words and punctuation marks."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return ChunkTokenizer("words", tokenizer.to_str())


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_raw(tmp_path / "raw")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory of real raw files, or a skip."""
    return real_data("congress").parent
