from __future__ import annotations

import pytest

from fedtext.largefedbench.cleaning.abstracts import clean_abstract


@pytest.mark.parametrize(
    ("text", "left", "rules"),
    [
        ("10{superscript -5} M of CO{subscript 2}", "10⁻⁵ M of CO2", []),
        ("{beta}-catenin and {Delta}G at 5{micro}m", "β-catenin and ΔG at 5µm", []),
        ("p &lt; 0.05 &amp;amp; rising", "p < 0.05 & rising", []),
        ("We fit [Formula: see text] well.", "We fit well.", ["formula_placeholder"]),
        ("BackgroundWe study. ResultsThey grew. MethodsNone.", "We study. They grew. None.", ["fused_heading"] * 3),
        ("ABSTRACTSummaryCells move.", "Cells move.", ["fused_heading"]),
        ("Background noise matters. Results differ.", "Background noise matters. Results differ.", []),
        ("<i>E. coli</i> grows", "E. coli grows", ["markup", "markup"]),
        ("a {weird_thing} b", "a {weird_thing} b", []),
        ("x < y and y > z", "x < y and y > z", []),
    ],
)
def test_preprints(text: str, left: str, rules: list[str]) -> None:
    cleaned = clean_abstract([text], "biorxiv")
    assert cleaned.text == left
    assert [removal.rule for removal in cleaned.removed] == rules


def test_other_abstracts_only_close_up_their_spaces() -> None:
    assert clean_abstract(["We  learn {x}\nand <y>.", "Then"], "scitldr")[:2] == ("We learn {x} and <y>. Then", [])
