"""Which texts a report shows."""

from __future__ import annotations

import pandas as pd

from fedtext.pipelines.report.nodes import write_text_report
from tests.evaluation.examples import card


def shown(texts: list[str], labels: list[str | None]) -> str:
    page = write_text_report(card(), pd.DataFrame({"text": texts, "label": labels}), {})
    return page.partition('<ol class="samples">')[2].partition("</ol>")[0]


def test_texts_are_drawn_at_random_and_the_same_ones_again() -> None:
    texts = [f"text {n:02d}" for n in range(30)]
    samples = shown(texts, [None] * 30)
    drawn = [text for text in texts if f"{text}<" in samples]
    assert len(drawn) == 10
    assert drawn != texts[:10]
    assert samples == shown(texts, [None] * 30)
    assert 'class="class"' not in samples


def test_over_a_text_stands_its_class() -> None:
    samples = shown([f"text {n}" for n in range(30)], ["lost card"] * 15 + ["<b>"] * 15)
    assert samples.count(">lost card<") + samples.count(">&lt;b&gt;<") == 10


def test_the_page_says_how_they_were_drawn() -> None:
    page = write_text_report(card(), pd.DataFrame({"text": ["one", "two"], "label": [None, None]}), {})
    assert "2 of the 2,500 synthetic texts, drawn at random (seed 0) and not picked." in page
