"""Markup in any text or name that a page shows comes out as text, on each kind of page and in each figure."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from plotly.graph_objects import Figure

from fedtext.evaluation.win_rate import RuleJudge, compared_answers
from fedtext.federation.communication import Cost, Exchange
from fedtext.reporting import figures, figures_comparison, figures_partition, figures_wasp
from fedtext.reporting.comparison import compare_runs, measured_costs
from fedtext.reporting.comparison_text import render_page
from fedtext.reporting.figure_style import empty_figure
from fedtext.reporting.figures_pca import pca_panels
from fedtext.reporting.glossary import Terms
from fedtext.reporting.html import Sample, render_report
from fedtext.reporting.preferences import gap_histogram, preference_scorecard, render_preferences
from fedtext.reporting.templates import render
from tests.evaluation.examples import CLIENTS, HELD_OUT, PCA, accuracy, card, cloud, protection
from tests.evaluation.test_win_rate import ANSWERS, PROMPTS, SHARPNESS
from tests.reporting.test_comparison import CLAIMS, RUNS
from tests.reporting.test_preferences import MEMBERSHIP

ROOT = Path(__file__).parents[2] / "src"
SOURCES = [*ROOT.rglob("*.py"), *ROOT.rglob("*.j2")]
ATTACKS = (
    "<planted>",
    '"><planted a="b">',
    "'><planted a='b'>",
    "</script><planted>",
    "</style></title><planted>",
    "<!--<planted>",
    "<![CDATA[<planted>]]>",
    "{{ 7 * 7 }}<planted>{% raw %}",
    "&lt;b&gt;<planted>&amp;",
)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp", "Cn")), max_size=8)
NASTY = st.builds("{}{}{}".format, WORDS, st.sampled_from(ATTACKS), WORDS)
FEW = settings(max_examples=12, deadline=None)


class Shown(HTMLParser):
    """The elements of a page, their attributes, and the text that a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


KNOWN = {
    "html", "head", "meta", "title", "style", "script", "body", "main", "section", "h1", "h2", "div", "p", "span", "abbr",
    "figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "ol", "li", "blockquote",
    "dl", "dt", "dd", "aside",
}  # fmt: skip


def assert_shown(page: str, *texts: str) -> None:
    """The texts stand on the page as they are, and have made nothing else of it."""
    shown = Shown(page)
    assert shown.elements <= KNOWN
    assert "a" not in shown.attributes
    seen = " ".join(shown.text.split())
    for text in texts:
        assert " ".join(text.split()) in seen


@FEW
@given(corpus=NASTY, algorithm=NASTY, text=NASTY, label=NASTY, value=NASTY)
def test_a_report_shows_markup_as_text(corpus: str, algorithm: str, text: str, label: str, value: str) -> None:
    facts = {
        "command": value,
        "models": {value: value},
        "parameters": {"corpus": {value: value}},
        "unrecorded": [value],
    }
    found = card(corpus=corpus, algorithm=algorithm)
    found["limits"] = [value]
    found["notes"] = [value]
    found["protection"]["assumptions"] = [value]
    found["cost"][0]["method"] = value
    drawn = {"privacy": figures.privacy_price({text: 0.9}, 1.0)}
    page = render_report(found, drawn, [Sample(text, label)], facts)
    without_library = re.sub(r"<script>.*?</script>", "", page, count=1, flags=re.DOTALL)
    assert_shown(without_library, corpus, algorithm, text, label, value)


@FEW
@given(prompt=NASTY, one=NASTY, other=NASTY, judge=NASTY)
def test_a_page_of_preferences_shows_markup_as_text(prompt: str, one: str, other: str, judge: str) -> None:
    rates = {**compared_answers(RuleJudge(SHARPNESS), PROMPTS, ANSWERS), "judge": judge}
    found = preference_scorecard(
        corpus=prompt, protection=protection(), cost=cost(), pairs=1, terms=Terms(), accuracy=None, win_rates=rates,
        membership={**MEMBERSHIP, "alone": True},
    )  # fmt: skip
    pairs = pd.DataFrame({"prompt": [prompt], "chosen": [one], "rejected": [other], "gap": [1.0]})
    answers = pd.DataFrame({"prompt": [prompt], "policy": [one], "untuned": [other]})
    assert_shown(render_preferences(found, {}, pairs, {"command": one}, answers), prompt, one, other, judge)


@FEW
@given(entry=NASTY, corpus=NASTY, says=NASTY, price=NASTY)
def test_a_comparison_shows_markup_as_text(entry: str, corpus: str, says: str, price: str) -> None:
    found = {**compare_runs(RUNS, CLAIMS), "corpus": corpus, "prices": [price]}
    found["entries"] = {entry: found["entries"]["popri"]}
    found["claims"] = {"more": {**found["claims"]["more"], "says": says, "better": entry}}
    drawn = {"a": empty_figure(f"Figure {entry}", says)}
    assert_shown(render_page(found, measured_costs([]), drawn), entry, corpus, says, price)


def cost() -> Cost:
    return Cost.of("DPPrefSyn", Exchange(variant="steps", down_floats=0, up_floats=1, exchanges=1))


def drawn_with(name: str) -> dict[str, Figure]:
    """Every figure that shows a name or a text of others, with `name` in all places."""
    runs = compare_runs(RUNS, CLAIMS)
    entries = {
        name: runs["entries"]["popri"],
        f"{name}2": {**runs["entries"]["pe"], "params": {"popri": {"scoring": 1}}},
    }
    found = {**runs, "entries": entries}
    texts = pd.DataFrame({"round": [0, 0], "model": [name, name], "label": [name, name], "text": [name, ""]})
    examples = texts.assign(kind="good")
    state = {"weights": {name: 1.0}, "history": []}
    panels = pca_panels("Sets", {name: cloud(300, 1)}, HELD_OUT, CLIENTS, PCA)
    levels = accuracy()
    levels["conditions"] = {**levels["conditions"], name: levels["conditions"]["synthetic"]}
    return {
        "accuracy_bars": figures.accuracy_bars(levels),
        "privacy_price": figures.privacy_price({name: 0.9}, 1.0),
        "pca_panels": panels,
        "sets_panels": figures_comparison.sets_panels({name: json.loads(panels.to_json())}),
        "accuracy_by_entry": figures_comparison.accuracy_by_entry(found),
        "rounds": figures_comparison.rounds(found),
        "scoring": figures_comparison.scoring(found),
        "absent": empty_figure("a figure", name),
        "partition": figures_partition.partition_figure(
            np.repeat(np.arange(40), 2), [name] * 80, described="clients"
        ),
        "model_shares": figures_wasp.model_shares(texts, state, examples),
        "example_table": figures_wasp.example_table(examples),
        "class_balance": figures_wasp.class_balance(texts),
        "gap_histogram": gap_histogram(np.asarray([1.0])),
    }  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_plotly_is_given_no_markup_of_others(attack: str) -> None:
    for name, figure in drawn_with(attack).items():
        told = json.loads(figure.to_json())
        told["layout"].pop("meta", None)  # of a figure that is left out: the page shows it as text
        assert "<planted" not in json.dumps(told), name


def test_a_value_that_was_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="intro"):
        render("samples", samples=[])


def test_nothing_is_escaped_by_hand_but_what_plotly_shows() -> None:
    """One that is forgotten would let markup through: templates escape by themselves."""
    by_hand = re.compile(r"html import .*escape|html\.escape|markupsafe import .*escape|Markup\(f|\| safe")
    found = {path.name for path in SOURCES if by_hand.search(path.read_text("utf-8"))}
    assert found == {"figure_style.py"}
