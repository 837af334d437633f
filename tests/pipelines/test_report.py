"""Which texts a report shows."""

from __future__ import annotations

import pandas as pd

from fedtext.pipelines.report.nodes import write_text_report
from tests.evaluation.examples import card


def shown(texts: list[str], labels: list[str | None]) -> str:
    page = write_text_report(card(), pd.DataFrame({"text": texts, "label": labels}), {})
    return page.partition('<ol class="samples">')[2].partition("</ol>")[0]


def test_of_every_class_there_is_a_text_and_its_name() -> None:
    samples = shown([f"text {n}" for n in range(30)], ["lost card"] * 20 + ["<b>"] * 10)
    assert samples.count(">lost card<") == samples.count(">&lt;b&gt;<") == 6
    assert samples.index("text 0<") < samples.index("text 20<") < samples.index("text 1<")


def test_without_classes_texts_stand_in_their_order() -> None:
    samples = shown([f"text {n}" for n in range(30)], [None] * 30)
    assert [samples.index(f"text {n}<") for n in range(12)] == sorted(samples.index(f"text {n}<") for n in range(12))
    assert 'class="class"' not in samples
    assert "text 12<" not in samples
