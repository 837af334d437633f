from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from fedtext.evaluation.scorecard import Protection, epsilon_after
from fedtext.evaluation.tables import protection_table
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Release, open_ledger
from fedtext.privacy.report import privacy_report
from tests.evaluation.examples import accuracy, card, protection


def test_scorecard_is_strict_json_and_starts_with_the_headline():
    made = card(protection=protection(epsilon=float("inf"), unaccounted=("a metric steered",)))
    text = json.dumps(made, allow_nan=False)
    assert json.loads(text) == made
    assert next(iter(made)) == "headline"
    assert len(made["headline"]) == 3
    assert made["protection"]["epsilon"] is None
    assert "a metric steered" in made["headline"][1]


def test_infinite_epsilon_is_never_silent():
    made = card(protection=protection(epsilon=float("inf")))
    assert "no finite ε" in made["headline"][1]


def test_cost_has_this_run_and_the_published_rows():
    methods = [row["method"] for row in card()["cost"]]
    assert "this run" in methods[0]
    assert sum("published" in method for method in methods) == 3
    assert card()["cost"][0]["up_bytes"] == 1024 * 8


def test_limits_state_the_bias_and_unequal_conditions():
    made = card()
    assert any("FID is biased upwards" in limit for limit in made["limits"])
    assert not any("different numbers of texts" in limit for limit in made["limits"])
    uneven = accuracy()
    uneven["conditions"]["public_control"]["texts"] = 100
    assert any("public_control 100" in limit for limit in card(accuracy=uneven)["limits"])
    assert any("this is one run" in limit for limit in made["limits"])


def report(**declared: object) -> dict[str, Any]:
    privacy = Privacy(**{"epsilon": 2.0, "delta": 1e-5, **declared})
    release = Release(name="scores", round=1, mechanism="discrete Gaussian", sensitivity=1.0, noise_stddev=6.0)
    ledger = open_ledger(privacy, 1000, [release])
    for round_number in (1, 2):
        ledger = ledger.charge(release.model_copy(update={"round": round_number}))
    return privacy_report(ledger)


def test_protection_says_what_the_privacy_report_says():
    found = report()
    short = Protection.of(found)
    assert (short.unit, short.units, short.adjacency, short.delta) == ("client", 1000, "zero_out", 1e-5)
    assert short.epsilon == found["epsilon"]
    assert not short.simulated
    assert Protection.of(report(noise_seed=3)).simulated
    spent = list(epsilon_after(found).values())
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(short.epsilon)
    assert "ε under replace-one" in protection_table(card(protection=short)["protection"])


def test_unaccounted_read_reaches_the_report():
    found = {**report(), "epsilon": "infinity", "unaccounted": [{"name": "checkpoint", "reason": "a choice was free"}]}
    made = card(protection=Protection.of(found))
    assert "a choice was free" in made["headline"][1]
    assert "infinite" in protection_table(made["protection"])


def test_protection_refuses_nonsense():
    with pytest.raises(ValidationError):
        protection(adjacency="swap")
    with pytest.raises(ValidationError):
        protection(delta=0)
