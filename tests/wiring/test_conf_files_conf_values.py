"""Values are read, laid over one another and resolved as OmegaConf does it, without its objects."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, reject
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fedtext.wiring.conf_files import deep_merge, read, resolved, with_defaults
from tests.refusals import refuses

YAML = """
numbers: [1, -2, 1.5, 1e-3, 1E5, 1_000, 0x1f, .5, -.5, 3., 1.0e+15, 1:30, 1.2.3, e5, .inf, .nan, 0o17, 017]
words: [yes, no, on, off, true, null, ~, 2023-04-01, "1.0", '']
below: &below {a: 1, b: [x, y]}
merged: {<<: *below, a: 2}
again: *below
"""
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab1. ", max_size=8)
NAMES = st.text("abcdef", min_size=1, max_size=2)
TREES = st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=3))
GROUPS = st.dictionaries(NAMES, TREES, max_size=4)


@pytest.fixture(autouse=True)
def _resolvers() -> None:
    for name, value in {"data_root": "/data", "description": None, "prompt": "a ${x}"}.items():
        OmegaConf.register_new_resolver(name, lambda value=value: value, replace=True)
    OmegaConf.register_new_resolver("globals", {"one": 1, "models": {"a": "b"}}.__getitem__, replace=True)


def omegaconf(values: Any, *, resolve: bool = True) -> Any:
    return OmegaConf.to_container(OmegaConf.create(values), resolve=resolve)


def test_yaml_is_omegaconf_s() -> None:
    assert yaml.safe_dump(resolved(read(YAML))) == yaml.safe_dump(omegaconf(YAML, resolve=False))
    assert read("1: one") == {1: "one"}
    assert read("") == read("# nothing") == {}
    assert read('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("text", ["a: 1\nb: {c: 1, c: 2}", "a: &x [*x]", "a: [1", "a: *nobody"])
def test_what_is_no_yaml_is_an_error(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        read(text)


@pytest.mark.parametrize("text", ["- 1", "word"])
def test_what_has_no_names_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no names"):
        read(text)


@given(GROUPS, GROUPS)
def test_one_is_laid_over_the_other_as_omegaconf_merges(below: dict[str, Any], above: dict[str, Any]) -> None:
    plain = [yaml.safe_dump(below), yaml.safe_dump(above)]
    try:
        merged = OmegaConf.to_container(OmegaConf.merge(below, above))
    except TypeError:  # a list in place of a mapping: here the parameter's own check says so
        reject()
    assert deep_merge(below, above) == merged
    assert [yaml.safe_dump(below), yaml.safe_dump(above)] == plain


INTERPOLATIONS = [
    "${data_root:}",
    "${data_root:}/${data_root:}/x",
    "${description:}",
    "it is ${description:}",
    "${prompt:}",
    "${globals:one}",
    "${globals:models}",
    "${globals:models}.",
    "\\${data_root:}",
    "${other}",
    "${.beside}",
    "${oc.select:nothing,${data_root:}}",
    "$data {x}",
]


@pytest.mark.parametrize("text", INTERPOLATIONS)
def test_what_stands_for_something_is_resolved_as_omegaconf_resolves_it(text: str) -> None:
    values = {"other": {"a": 1}, "group": {"beside": "b", "asks": text, "list": ["x", {"asks": text}]}}
    if text == "${.beside}":  # in the list there is none
        values["group"]["list"] = []
    assert resolved(values) == omegaconf(values)


@pytest.mark.parametrize("text", ["${nothing}", "${globals:two}", "${nobody:}", "${"])
def test_what_stands_for_nothing_is_omegaconf_s_error_with_its_place(text: str) -> None:
    values = {"group": {"asks": text}}
    with pytest.raises(OmegaConfBaseException) as of_omegaconf:
        omegaconf(values)
    with pytest.raises(OmegaConfBaseException) as ours:
        resolved(values)
    assert str(ours.value) == str(of_omegaconf.value)


def test_a_block_starts_from_the_defaults_that_it_names() -> None:
    groups = {
        "_defaults": {"sampler": {"top_p": 1.0, "min_p": 0.1}},
        "popri": {"sampler": {"_defaults": "sampler", "min_p": 0.2, "batch": 3}, "rounds": 1},
        "pe": {"sampler": {"_defaults": "sampler"}},
    }
    assert with_defaults(groups) == {
        "popri": {"sampler": {"top_p": 1.0, "min_p": 0.2, "batch": 3}, "rounds": 1},
        "pe": {"sampler": {"top_p": 1.0, "min_p": 0.1}},
    }
    assert with_defaults({"a": {"b": 1}}) == {"a": {"b": 1}}
    with refuses("unknown-defaults", value="sampel"):
        with_defaults({**groups, "pe": {"sampler": {"_defaults": "sampel"}}})
