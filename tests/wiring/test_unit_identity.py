"""What the history is told of who is whose and what is a record: all that decides it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from kedro.pipeline import Pipeline, node

from fedtext.privacy.spending import Rules
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.unit_identity import unit_rules

TEXTS = Pipeline([node(lambda _: None, "private_train", "out", name="n")])
PAIRS = Pipeline([node(lambda _: None, "pairs.private_train", "out", name="n")])


@cache
def loader(models: str) -> ProjectConfigLoader:
    """conf/base, read once for each choice of models, in JSON; other parameters are laid over it."""
    return loader_for(None, {"models": json.loads(models)})


def rules(graph: Pipeline = TEXTS, models: dict[str, str] | None = None, **given: Any) -> Rules:
    base, of_run = loader("{}").parameters, loader(json.dumps(models or {}))
    ProjectConfigLoader.active = of_run
    of_run.__dict__["parameters"] = base | {group: {**base[group], **values} for group, values in given.items()}
    told = unit_rules(graph, of_run)
    of_run.__dict__["parameters"] = base
    return told


@pytest.fixture(autouse=True)
def own_loader() -> Iterator[None]:
    before = ProjectConfigLoader.active
    yield
    ProjectConfigLoader.active = before


@pytest.mark.parametrize(
    "changed",
    [
        {"partition": {"seed": 1}},
        {"partition": {"test_share": 0.2}},
        {"corpus": {"source": "table", "path": "a.csv"}},
        *({"corpus": {f"{of}_column": "other"}} for of in ("client", "text", "label", "date")),
        {"corpus": {"code_columns": ["kind"]}},
        {"corpus": {"client_ids": "folded"}},
    ],
)
def test_whatever_names_clients_or_splits_them_makes_another_split(changed: dict[str, Any]) -> None:
    """Without a column of owners a row is named by all that it holds: another label makes it somebody else."""
    assert rules(**changed).split != rules().split
    assert rules(**changed).spans == rules().spans


@pytest.mark.parametrize(
    "changed",
    [
        {"chunking": {"length": 512}},
        {"chunking": {"first_only": True}},
        {"models": {"generator": "bundled:generator"}},
        {"models": {"chunk_tokenizer": "bundled:generator"}},
    ],
)
def test_whatever_cuts_texts_makes_other_records(changed: dict[str, Any]) -> None:
    assert rules(**changed).spans != rules().spans
    assert rules(**changed).split == rules().split
    assert rules(PAIRS, **changed) == rules(PAIRS), "a pair is never cut"


def test_the_first_span_of_a_text_is_one_record_however_long() -> None:
    first = {"first_only": True}
    assert rules(chunking={**first, "length": 512}).spans == rules(chunking=first).spans != rules().spans


def test_a_generator_whose_tokens_are_not_counted_cuts_nothing() -> None:
    counted = {"chunk_tokenizer": "smollm2"}
    assert rules(models={**counted, "generator": "bundled:generator"}).spans == rules(models=counted).spans


def test_pairs_and_texts_of_one_file_are_split_in_two_ways() -> None:
    assert rules(PAIRS).split != rules(TEXTS).split


def test_what_a_run_makes_of_the_text_changes_no_rule() -> None:
    other = {"privacy": {"epsilon": 4.0}, "popri": {"rounds": 3}, "corpus": {"public_texts": 50}}
    assert rules(**other) == rules()
