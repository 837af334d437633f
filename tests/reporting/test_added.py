"""What the private text added, in words and in tables."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.reporting.added import added_sentence, added_tables
from tests.evaluation.examples import accuracy

CURVE = [
    {"texts": 50, "draws": 1, "top_1": 0.11, "cross_entropy": 5.0, "low": 0.11, "high": 0.11},
    {"texts": 350, "draws": 3, "top_1": 0.22, "cross_entropy": 4.0, "low": 0.21, "high": 0.23},
]


def worth(synthetic: int | None) -> dict[str, Any]:
    samples = {"synthetic": synthetic, "matched_control": 60}
    return {**accuracy(), "private_curve": CURVE, "worth": {"samples": samples, "most": 350}}


def test_the_share_of_what_is_left_is_told_with_its_interval_and_all_three_levels() -> None:
    found = accuracy()
    said = added_sentence(found)
    share = found["remaining_gap"]["top_1"]
    assert said.startswith(
        "Of what private samples add to the best control, public texts that match the release, the private text "
        f"brought {100 * share['share']:.0f}% (95% interval {100 * share['low']:.0f}% to {100 * share['high']:.0f}%): "
    )
    for name in ("matched_control", "synthetic", "private"):
        assert f"{100 * found['conditions'][name]['top_1']:.1f}%" in said
    assert "worth" not in said


def test_the_worth_is_told_in_private_samples() -> None:
    assert added_sentence(worth(120)).endswith(
        " The synthetic texts are worth about 120 private samples, the control about 60."
    )
    assert "are worth more than 350 private samples" in added_sentence(worth(None))


@pytest.mark.parametrize("private", [0.11, 0.05])
def test_without_anything_left_no_number_is_told(private: float) -> None:
    said = added_sentence(accuracy(private=private))
    assert said.startswith("What the private text added cannot be said as a share: private samples (")
    assert "not measurably better than the best control" in said
    assert said.endswith("The synthetic texts come to 12.9%.")
    assert "interval" not in said
    assert "not above the control" in added_tables(accuracy(private=private))


def test_a_run_below_its_control_brought_nothing() -> None:
    assert "the private text brought nothing (-" in added_sentence(accuracy(synthetic=0.10))


def test_a_share_whose_interval_holds_zero_may_be_nothing() -> None:
    assert ", which may be nothing)" in added_sentence(accuracy(synthetic=0.116))
    assert "may be" not in added_sentence(accuracy(synthetic=0.16))


def test_without_a_private_control_nothing_is_said() -> None:
    assert added_sentence({**accuracy(), "remaining_gap": {}}) == ""
    assert added_tables({**accuracy(), "remaining_gap": {}}) == ""


def test_cross_entropy_stands_beside_accuracy_and_the_curve_below() -> None:
    tables = added_tables(worth(120))
    assert "cross-entropy of the next token" in tables
    assert "21.0% to 23.0%" in tables
    assert "4.000 nats" in tables
