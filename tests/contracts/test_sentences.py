"""Every error has a code, a code stands for one sentence of its package, and the sentences are those approved."""

from __future__ import annotations

import re

import pytest

from tests.sentences import approved, listed, made, packages

CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DONE = ("federation", "params", "privacy", "system", "voting")


@pytest.mark.parametrize("package", [name for name in packages() if name in DONE])
def test_the_sentences_of_a_package_are_approved(package: str) -> None:
    file = approved(package)
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    assert listed(package) == there, f"python -m tests.sentences writes {file}: read what changed there"


def test_every_error_has_a_literal_code() -> None:
    without = [one.place for one in made() if one.package in DONE and not CODE.fullmatch(one.code or "")]
    assert not without, "give the error code='what-is-wrong' where it is made"


def test_a_code_stands_for_one_sentence_of_its_package() -> None:
    sentences: dict[tuple[str, str | None], dict[str, str]] = {}
    for one in made():
        if one.package in DONE:
            sentences.setdefault((one.package, one.code), {})[one.sentence] = one.place
    assert not [found for found in sentences.values() if len(found) > 1], "name each kind of fault by a code of its own"
