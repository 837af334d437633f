"""Made-up scorecards of preference pairs and policies: accuracy and win rate compared over two seeds, by document."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.compare import Claims
from fedtext.reporting.comparison import REFUTED, REPRODUCED, Run, compare_runs
from fedtext.reporting.comparison_text import claim_rows, table1_csv, table1_rows
from tests.evaluation.examples import card
from tests.refusals import refuses

SEEDS = (1, 2)
ORDERED = {"dpprefsyn": (0.60, 0.601), "dp_ft": (0.55, 0.551)}
WON = {"dpprefsyn": (0.70, 0.702), "dp_ft": (0.52, 0.521)}
PLAIN = {"relation": "more", "measures": ""}
CLAIMS = Claims.model_validate(
    {
        "measures": "",
        "margin": 0.1,
        "judged": {
            "over": {**PLAIN, "says": "DPPrefSyn > DP-FT", "better": "dpprefsyn", "worse": "dp_ft"},
            "wins": {**PLAIN, "says": "it wins", "better": "dpprefsyn", "worse": "untuned"},
            "length": {**PLAIN, "says": "it beats length", "better": "dpprefsyn", "worse": "longest_policy"},
        },
    }
)


def ratio(measure: str, value: float) -> dict[str, Any]:
    return {measure: value, "pairs": 100, "low": value - 0.05, "high": value + 0.05, "texts": 0}


def run(entry: str, seed: int) -> Run:
    """A run whose accuracy and win rate are exactly those above; length orders 58% and its policy wins 75%."""
    judged = "preferences" if entry == "dpprefsyn" else "policy"
    ordered, won = ORDERED[entry][seed - 1], WON[entry][seed - 1]
    accuracy = {judged: ratio("pairwise_accuracy", ordered), "longer": ratio("pairwise_accuracy", 0.58)}
    rates = {"policy": won, "longest_policy": 0.75 + 0.001 * seed, "untuned": 0.5}
    win_rates = {name: ratio("win_rate", rate) for name, rate in rates.items()}
    compared: dict[str, Any] = {"gains": {}, "gap_closed": {}}
    found = card(distribution=None)
    found["accuracy"] = {"measures": ["pairwise_accuracy"], "conditions": accuracy, "judged": judged, **compared}
    found["win_rates"] = {"measures": ["win_rate"], "conditions": win_rates, "judged": "policy", **compared}
    found["texts"] = None
    return Run(entry, entry, seed, {}, found, {}, [])


RUNS = [run(entry, seed) for seed in SEEDS for entry in ORDERED]


def test_accuracy_is_what_was_learned_and_the_win_rate_is_the_policy_s() -> None:
    found = compare_runs(RUNS, CLAIMS)
    assert found["measures"] == ["pairwise_accuracy", "win_rate"]
    for name in ORDERED:
        measured = found["entries"][name]["measures"]
        assert measured["pairwise_accuracy"]["mean"] == pytest.approx(sum(ORDERED[name]) / 2)
        assert measured["win_rate"]["mean"] == pytest.approx(sum(WON[name]) / 2)
    assert set(found["conditions"]) == {"longer", "longest_policy", "untuned"}
    assert found["conditions"]["untuned"]["measures"]["pairwise_accuracy"] is None


def test_claims_are_judged_by_each_measure_that_both_sides_have() -> None:
    claims = compare_runs(RUNS, CLAIMS)["claims"]
    verdicts = {name: {by: one["verdict"] for by, one in claim["measured"].items()} for name, claim in claims.items()}
    assert verdicts == {
        "over": {"pairwise_accuracy": REPRODUCED, "win_rate": REPRODUCED},
        "wins": {"win_rate": REPRODUCED},
        "length": {"win_rate": REFUTED},
    }
    assert claims["wins"]["measured"]["win_rate"]["mean"] == pytest.approx(0.201)


def test_tables_have_a_column_for_each_and_a_dash_where_nothing_was_measured() -> None:
    found = compare_runs(RUNS, CLAIMS)
    rows = {row[0]: row for row in table1_rows(found)}
    assert rows["the model as it was"][3] == "–"
    assert rows["dpprefsyn"][3].startswith("60.1 (")
    assert rows["dpprefsyn"][6].startswith("70.1 (")
    assert "win_rate" in table1_csv(found).splitlines()[0]
    assert any("win rate higher by 20.10" in row[1] for row in claim_rows(found))


def test_a_private_corpus_is_compared_by_win_rates_alone_or_not_at_all() -> None:
    unpaid = [one._replace(card={**one.card, "accuracy": None}) for one in RUNS]
    assert compare_runs(unpaid, CLAIMS)["measures"] == ["win_rate"]
    nothing = [one._replace(card={**one.card, "win_rates": None}) for one in unpaid]
    with refuses("nothing-to-compare"):
        compare_runs(nothing, CLAIMS)
