"""A report says where its texts cannot make sense, since figures do not."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.reporting.html import Sample, render_report
from fedtext.reporting.run_facts import language_notes
from tests.evaluation.examples import card

FRENCH = {"description": "messages que des clients envoient à une boutique", "openings": ["Ma commande"]}


def facts(corpus: dict[str, Any], **models: str) -> dict[str, Any]:
    return {"models": {"encoder": "offline", **models}, "parameters": {"corpus": {"source": "table", **corpus}}}


@pytest.mark.parametrize("role", ["generator", "plm_small"])
def test_a_generator_that_does_not_know_the_language_is_named_before_the_figures(role: str) -> None:
    (note,) = language_notes(facts(FRENCH, **{role: "smollm2"}))
    assert "French" in note
    assert "smollm2" in note
    page = render_report(card(), {}, [Sample("Je ne sais pas.")], facts(FRENCH, **{role: "smollm2"}))
    assert page.index(note) < page.index("Privacy")
    assert note not in render_report(card(), {}, [Sample("Je ne sais pas.")], facts(FRENCH, **{role: "/my/model"}))


@pytest.mark.parametrize(
    ("corpus", "generator"),
    [
        ({"description": "messages that customers send", "openings": ["My order"]}, "smollm2"),
        ({"description": None}, "smollm2"),
        (FRENCH, "Qwen/Qwen2.5-1.5B-Instruct"),
    ],
)
def test_nothing_is_said_where_nothing_is_known(corpus: dict[str, Any], generator: str) -> None:
    assert language_notes(facts(corpus, generator=generator)) == []
    assert language_notes({}) == []
