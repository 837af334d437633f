"""The report explains its words where they stand and at its end, and says how its run was made."""

from __future__ import annotations

import re

from fedtext.reporting.glossary import WORDS, explained
from fedtext.reporting.html import render_report
from fedtext.reporting.page import glossary
from fedtext.reporting.run_facts import facts_table
from tests.evaluation.examples import card

FACTS = {
    "command": "kedro run --params corpus.path='<mine>.csv'",
    "date": "2026-11-24",
    "version": "fedtext 0.1.0, 0123456789",
    "models": {"generator": "smollm2", "on_device": "bundled:on_device"},
    "parameters": {"popri": {"rounds": 2, "labels": [], "seed": 3, "sampler": {"top_p": 1.0, "min_p": None}}},
}


def test_a_word_is_explained_at_its_first_mention_and_everything_else_is_escaped() -> None:
    said = explained("MMD <b> and MMD")
    assert said == f'<abbr title="{WORDS["MMD"]}">MMD</abbr> &lt;b&gt; and MMD'
    assert explained("ε = 1") == "ε = 1"


def test_the_glossary_has_the_words_that_are_used_and_no_others() -> None:
    assert re.findall(r"<dt>(.*?)</dt>", glossary("the medoid at ε")) == ["ε", "medoid"]
    assert glossary("nothing") == ""


def test_the_report_explains_what_it_names() -> None:
    page = render_report(card(), {}, [])
    words = re.findall(r"<dt>(.*?)</dt>", page)
    assert {"on-device model", "medoid", "MMD", "zero-out", "FID"} <= set(words)


def test_the_report_says_how_its_run_was_made() -> None:
    page = render_report(card(), {}, [], FACTS)
    for said in ("2026-11-24", "fedtext 0.1.0, 0123456789", "smollm2", "model: on-device", "rounds 2", "top_p 1"):
        assert said in page
    assert "&lt;mine&gt;.csv" in page
    assert "How it was made" not in render_report(card(), {}, [])


def test_what_is_not_set_is_not_said() -> None:
    table = facts_table(FACTS)
    assert not any(word in table for word in ("labels", "seed", "min_p"))


def test_a_figure_precedes_every_table() -> None:
    from fedtext.reporting.figures import accuracy_bars

    page = render_report(found := card(), {"accuracy": accuracy_bars(found["accuracy"])}, [], FACTS)
    assert page.index("<figure") < page.index("<table")
