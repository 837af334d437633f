"""Every error has a code, a code stands for one sentence of its package, and the sentences are those approved."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from tests.sentences import approved, listed, made, packages

LITERAL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
HANDED_ON = re.compile(r"\{\w+\.code\}")  # of another error, which is told in other words


@pytest.mark.parametrize("package", packages())
def test_the_sentences_of_a_package_are_approved(package: str) -> None:
    file = approved(package)
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    assert listed(package) == there, f"python -m tests.sentences writes {file}: read what changed there"


def test_every_error_has_a_literal_code() -> None:
    codes = [(one.place, one.code or "") for one in made()]
    without = [place for place, code in codes if not (LITERAL.fullmatch(code) or HANDED_ON.fullmatch(code))]
    assert not without, "give the error code='what-is-wrong' where it is made"


def test_a_code_stands_for_one_sentence_of_its_package() -> None:
    sentences: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in made():
        if one.code and LITERAL.fullmatch(one.code):
            sentences[one.package, one.code].add(one.sentence)
    assert not {kind: said for kind, said in sentences.items() if len(said) > 1}, "give each kind of fault its own code"
