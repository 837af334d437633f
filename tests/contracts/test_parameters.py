"""conf/base is the one home of defaults: it has a value for every field, and the models have none for any."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import pytest
import yaml
from kedro.validation.type_extractor import TypeExtractor
from pydantic import BaseModel

import fedtext.params
from fedtext.corpora.table import USUAL
from fedtext.params import Parameters
from fedtext.params.compare import Compare
from fedtext.params.corpus import Corpus
from fedtext.params.engine import EngineParameters
from fedtext.params.federation import FederationParameters
from fedtext.params.plan import Planning
from fedtext.pipeline_registry import algorithms
from tests.contracts.test_pipelines import registered
from tests.parameters import BASE, HOMES, conf_base, parameters

NOT_GROUPS = {"old", "new"}  # largefedbench_diff's two names


def all_models() -> set[type[Parameters]]:
    """All but bases: those have no field of their own."""
    for module in pkgutil.iter_modules(fedtext.params.__path__):
        import_module(f"fedtext.params.{module.name}")
    return {one for one in below(Parameters) if one.__module__.startswith("fedtext.params.") and one.model_fields}


def below(kind: type[Parameters]) -> Iterator[type[Parameters]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def groups() -> dict[str, type[Parameters]]:
    """The groups that nodes are given whole, by name, as Kedro finds and validates them; and those of no node."""
    types = TypeExtractor(registered()).extract_types_from_pipelines()
    found = {name: kind for name, kind in types.items() if isinstance(kind, type) and issubclass(kind, Parameters)}
    # the runner's own, `kedro plan`'s, and those of a run whose private text lies with silos
    return found | {"engine": EngineParameters, "federation": FederationParameters, "plan": Planning}


def parts(kind: Any) -> Iterator[type[Parameters]]:
    """A model and those of its fields, wherever they stand in a type."""
    if isinstance(kind, type) and issubclass(kind, Parameters):
        yield kind
        for field in kind.model_fields.values():
            yield from parts(field.annotation)
    for inner in get_args(kind):
        yield from parts(inner)


def optional_fields(kind: type[BaseModel]) -> list[str]:
    return [f"{kind.__qualname__}.{name}" for name, field in kind.model_fields.items() if not field.is_required()]


def test_no_field_of_any_model_has_a_default() -> None:
    found = all_models()
    assert len(found) >= 30
    assert [name for kind in found for name in optional_fields(kind)] == []


def test_a_default_would_be_found() -> None:
    class Faulty(Parameters):
        width: int = 3
        height: int | None

    assert optional_fields(Faulty) == [f"{Faulty.__qualname__}.width"]
    assert Faulty in set(below(Parameters))


def test_conf_base_has_every_field_and_no_other() -> None:
    """A missing key and an unknown one are errors to every model."""
    for name, kind in groups().items():
        value: Any = parameters()
        for key in name.split("."):
            value = value[key]
        kind.model_validate(value)


def test_every_group_of_conf_base_is_some_model_s() -> None:
    whole = {name for name in groups() if "." not in name}
    assert set(parameters()) == whole | NOT_GROUPS


def test_every_model_is_part_of_a_group() -> None:
    assert {one for kind in groups().values() for one in parts(kind)} == all_models()


def test_every_entry_of_a_comparison_is_one_that_its_algorithm_takes() -> None:
    kinds, asked = {home: kind for kind, home in HOMES.items()}, conf_base(Compare)
    asked.model_copy(update={"algorithms": tuple(asked.entries)}).validate_names(algorithms())
    models = yaml.safe_load((BASE / "globals.yml").read_text("utf-8"))["models"]
    for entry in asked.entries.values():
        assert entry.params.keys() <= {*kinds, "models"}
        assert entry.params.get("models", {}).keys() <= models.keys()
        for group in entry.params.keys() - {"models"}:
            declared = {"population": 300} if group == "privacy" else {}  # as the command line has to
            conf_base(kinds[group], declared | entry.params[group])


@pytest.mark.parametrize("kind", HOMES)
def test_what_tests_are_given_is_conf_base_s(kind: type[Parameters]) -> None:
    conf_base(kind)
    assert kind in all_models()


def test_changes_are_laid_over_key_by_key() -> None:
    from fedtext.params.popri import Popri

    plain = conf_base(Popri)
    changed = conf_base(Popri, {"rounds": 7}, preference={"lora": {"rank": 3}})
    assert (changed.rounds, changed.preference.lora.rank) == (7, 3)
    assert changed.model_dump(exclude={"rounds": True, "preference": {"lora": {"rank"}}}) == plain.model_dump(
        exclude={"rounds": True, "preference": {"lora": {"rank"}}}
    )


def test_a_table_may_do_without_the_columns_that_conf_base_names() -> None:
    corpus = conf_base(Corpus)
    assert {field: getattr(corpus, field) for field in USUAL} == USUAL
