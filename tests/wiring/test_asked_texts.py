"""What generators are asked for: description, prompt, sampling and length, in every sampler of a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fedtext.params.corpus import Chunking, Corpus
from tests.refusals import refuses
from tests.wiring.test_config import loader

PAGE = 'def {name}(self):\n    """{text}"""\n\n\n'
WORK = "docstrings of Python functions that work with files, networks, dates, text, numbers and threads"


@pytest.mark.parametrize(
    ("env", "corpus", "described"),
    [
        (None, {}, WORK),
        (None, {"description": "letters"}, "letters"),
        (None, {"description": ""}, ""),  # refused, and not taken for none
        (None, {"source": "table"}, None),
        (None, {"source": "table", "description": "letters"}, "letters"),
        (None, {"description": None}, None),
        ("tiny", {}, None),
        ("paper", {}, None),  # its source is a table, which it says in a file of parameters
    ],
)
def test_the_description_follows_the_source(
    env: str | None, corpus: dict[str, str | None], described: str | None
) -> None:
    """The docstrings' description is never said of a user's own text; every sampler says the same."""
    read = loader(Path(__file__).parents[2], env, corpus=corpus)["parameters"]
    assert read["corpus"]["description"] == described
    assert read["popri"]["sampler"]["description"] == described
    assert read["described"]["texts"]["sampler"]["description"] == described


@pytest.mark.parametrize(
    ("env", "given", "prompt", "alone"),
    [
        (None, {}, PAGE, PAGE),
        (None, {"corpus": {"source": "table"}}, "list", "chat"),
        (None, {"corpus": {"source": "table", "description": "letters"}}, "chat", "chat"),
        (None, {"corpus": {"source": "table", "description": "letters", "public_path": "a.csv"}}, "list", "chat"),
        (None, {"corpus": {"source": "table"}, "generation": {"prompt": "chat"}}, "chat", "chat"),
        (
            None,
            {"corpus": {"source": "table"}, "generation": {"prompt": "Customer: {text}"}},
            *["Customer: {text}"] * 2,
        ),
        (None, {"generation": {"prompt": "list"}}, "list", "chat"),
        ("tiny", {}, "list", "chat"),
    ],
)
def test_how_a_generator_is_asked_follows_the_source(
    env: str | None, given: dict[str, dict[str, str]], prompt: str, alone: str
) -> None:
    """A docstring's page is never a user's own text's; every sampler and the generator's own check say the same."""
    read = loader(Path(__file__).parents[2], env, **given)
    parameters = read["parameters"]
    assert (
        parameters["popri"]["sampler"]["prompt"] == parameters["evaluation"]["untuned"]["sampler"]["prompt"] == prompt
    )
    assert parameters["described"]["texts"]["sampler"]["prompt"] == alone
    assert parameters["described"]["topics"]["sampler"]["prompt"] == "chat"
    assert read["catalog"]["generator"]["prompt"] == prompt


@pytest.mark.parametrize(
    ("given", "drawn", "alone", "examples"),
    [
        ({}, (1.0, 1.0), (1.0, 1.0), False),  # pages, and public text of the generator's own
        ({"corpus": {"description": None}}, (1.0, 1.0), (1.0, 1.0), True),
        ({"generation": {"prompt": "chat"}}, (1.0, 1.2), (1.0, 1.2), False),
        ({"generation": {"prompt": "list"}}, (1.0, 1.0), (1.0, 1.2), False),
        ({"generation": {"prompt": "chat", "temperature": 0.9}}, (0.9, 1.2), (0.9, 1.2), False),
        ({"generation": {"prompt": "chat"}, "corpus": {"public_path": "mine.csv"}}, (1.0, 1.2), (1.0, 1.2), True),
    ],
)
def test_how_texts_are_drawn_follows_how_they_are_asked_for(
    given: dict[str, dict[str, Any]], drawn: tuple[float, float], alone: tuple[float, float], examples: bool
) -> None:
    read = loader(Path(__file__).parents[2], None, **given)["parameters"]
    samplers = (read["popri"]["sampler"], read["described"]["texts"]["sampler"])
    found = [(sampler["temperature"], sampler["repetition_penalty"]) for sampler in samplers]
    assert found == [drawn, alone]
    assert [sampler["examples"] for sampler in samplers] == [examples] * 2


@pytest.mark.parametrize(
    ("given", "openings"),
    [
        (None, []),
        ("My order; I received", ["My order", "I received"]),
        (["The food, it"], ["The food, it"]),
        ("", None),
    ],
)
def test_openings_are_those_of_every_sampler(given: Any, openings: list[str] | None) -> None:
    read = loader(Path(__file__).parents[2], None, corpus={"source": "table", "openings": given})
    if openings is None:
        with refuses("no-opening", value=""):
            _ = read["parameters"]
        return
    found = read["parameters"]
    assert list(Corpus.model_validate(found["corpus"]).openings) == found["popri"]["sampler"]["openings"] == openings
    assert found["described"]["texts"]["sampler"]["openings"] == openings


def test_an_environment_that_names_another_source_loses_the_docstrings_description(tmp_path: Path) -> None:
    project = Path(__file__).parents[2]
    shutil.copytree(project / "conf", tmp_path / "conf")
    (tmp_path / "conf" / "mine").mkdir()
    (tmp_path / "conf" / "mine" / "parameters.yml").write_text("corpus: {source: table, path: mine.csv}\n")
    assert loader(tmp_path, "mine")["parameters"]["corpus"]["description"] is None
    (tmp_path / "conf" / "mine" / "globals.yml").write_text("generation: {description: letters}\n")
    assert loader(tmp_path, "mine")["parameters"]["corpus"]["description"] == "letters"
    (tmp_path / "conf" / "mine" / "globals.yml").write_text('generation: {description: ""}\n')
    assert loader(tmp_path, "mine")["parameters"]["corpus"]["description"] == ""


@pytest.mark.parametrize(("env", "length"), [(None, 64), (None, 256), ("tiny", 64), ("flexible", 128)])
def test_texts_are_as_long_as_samples(env: str | None, length: int) -> None:
    """A control that ends sooner than the texts beside it would be no control."""
    given = {"chunking": {"length": length}} if env is None else {}
    read = loader(Path(__file__).parents[2], env, **given)["parameters"]
    assert read["chunking"]["length"] == length
    controls = (read["evaluation"]["untuned"], read["described"]["texts"])
    writers = [read[name] for name in ("popri", "pe", "pe_sft", "wasp", "ctcl", "dp_rft", "flexible")]
    assert {one["sampler"]["max_new_tokens"] - length for one in (*writers, *controls)} <= {0, 4, 8}


def test_a_length_that_is_no_number_is_refused_as_itself() -> None:
    read = loader(Path(__file__).parents[2], None, chunking={"length": "long"})["parameters"]
    assert read["chunking"]["length"] == "long"
    with pytest.raises(ValidationError, match="length"):
        Chunking.model_validate(read["chunking"])
