from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

from fedtext.evaluation.measures.known import MEASURES
from fedtext.evaluation.measures.measure import SHARE, Direction, Distance
from fedtext.evaluation.private_evaluation import FeatureMap, ReleasedMean
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Release, open_ledger
from fedtext.privacy.report import privacy_report
from fedtext.reporting.glossary import Terms, TestUnits
from fedtext.reporting.html import render_report
from fedtext.reporting.scorecard import Distribution, Protection, epsilon_after
from fedtext.reporting.tables import distance_table, protection_table
from tests.evaluation.examples import HELD_OUT, accuracy, card, cloud, distribution, protection
from tests.parameters import conf_base

TESTED = TestUnits(unit="client", units=120, epsilon=0.5, delta=1e-5, simulated=False)


def test_scorecard_is_strict_json_and_starts_with_the_headline():
    made = card(protection=protection(epsilon=float("inf"), unaccounted=("a metric steered",)))
    text = json.dumps(made, allow_nan=False)
    assert json.loads(text) == made
    assert next(iter(made)) == "headline"
    assert len(made["headline"]) == 4
    assert made["headline"][2].startswith("Of what private samples add to the best control")
    assert made["accuracy"]["remaining_gap"].keys() == {"top_1", "cross_entropy"}
    assert made["protection"]["epsilon"] is None
    assert "a metric steered" in made["headline"][1]


def test_infinite_epsilon_is_never_silent():
    made = card(protection=protection(epsilon=float("inf")))
    assert "no finite ε" in made["headline"][1]


def test_cost_has_this_run_and_the_published_rows():
    methods, algorithms = zip(*((row["method"], row["algorithm"]) for row in card()["cost"]), strict=True)
    assert methods[0] == "POPri, witness_rff"
    assert algorithms == ("POPri", "", "", "")
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
    privacy = conf_base(Privacy, {"epsilon": 2.0, "delta": 1e-5, **declared})
    release = Release(name="scores", round=1, mechanism="discrete Gaussian", sensitivity=1.0, noise_stddev=6.0)
    rounds = [release.model_copy(update={"round": number}) for number in (1, 2)]
    ledger = open_ledger(privacy, 1000, rounds)
    for one in rounds:
        ledger = ledger.charge(one)
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


def released_distances() -> Distribution:
    phi = FeatureMap.of(cloud(300, 3), features=16, axes=3, seed=0)
    released = ReleasedMean.of(phi, phi(HELD_OUT).sum(axis=0), 5.0)
    rows = {name: released.compare(cloud(200, 4)) for name in ("synthetic", "public_control")}
    curve = {"adapter": 0, "released_score": 0.1, **rows["synthetic"]}
    return Distribution(rounds=(curve,), sets=rows, floor=released.floor(cloud(300, 3)))


def test_a_dp_evaluation_s_report_has_no_fid_and_says_what_test_clients_are_promised() -> None:
    made = card(distribution=released_distances(), terms=Terms(tested=TESTED))
    json.dumps(made, allow_nan=False)
    assert made["distribution"]["bias"] is None
    assert made["distribution"]["sets"]["synthetic"]["fid"] is None
    page = render_report(made, {}, [])
    assert "Each of about 120 test clients is protected as well, with ε = 0.50" in page.partition("<section")[0]
    assert "Frechet on main axes" in page
    assert not re.search(r"<th[^>]*>(<abbr[^>]*>)?FID<", page)
    assert "0.500 at δ = 10⁻⁵" in protection_table(made["protection"], made["terms"]["tested"])
    assert any("There is no FID" in limit for limit in made["limits"])


def test_terms_come_from_what_was_declared_and_reported() -> None:
    table = conf_base(Corpus, source="table", path="x.csv")
    private = conf_base(Privacy, epsilon=1.0, delta=1e-5)
    released = Terms.of(table, conf_base(Evaluation), private, {**report(), "epsilon": 0.5})
    assert released.tested == TESTED.model_copy(update={"units": 1000})
    assert not released.private_control
    assert Terms.of(conf_base(Corpus), conf_base(Evaluation), private) == Terms(
        private_control=True, aggregation="secure"
    )


@pytest.mark.parametrize(
    ("conditions", "written", "own"),
    [
        (("eps0", "public_control"), None, True),
        (("eps0", "public_control"), False, False),  # left out by choice: nothing is said of the public texts
        (("eps0", "public_control", "untuned_control"), None, False),
        ((), None, False),
    ],
)
def test_public_texts_that_are_the_untuned_generators_are_said_to_be(
    conditions: tuple[str, ...], written: bool | None, own: bool
) -> None:
    judged = conf_base(Evaluation, untuned={"written": written})
    terms = Terms.of(conf_base(Corpus), judged, conf_base(Privacy), conditions=conditions)
    assert terms.own_public == own
    assert any("stand for the untuned generator's texts too" in note for note in terms.notes()) == own


@pytest.mark.parametrize(
    ("terms", "said", "unsaid"),
    [
        (Terms(), "The test clients are not protected by these figures", "ε = ∞"),
        (Terms(tested=TESTED), "is protected as well", "not protected"),
        (Terms(tested=TESTED.model_copy(update={"simulated": True})), "would be protected as well", "is protected"),
        (Terms(private_control=True), "control at ε = ∞ was trained on the protected text itself", "secure"),
        (Terms(aggregation="secure"), "simulates secure aggregation in one process", "ε = ∞"),
        (Terms(aggregation="local"), "", "secure aggregation"),
    ],
)
def test_the_first_lines_say_the_terms(terms: Terms, said: str, unsaid: str) -> None:
    notes = " ".join(card(terms=terms)["notes"])
    assert said in notes
    assert unsaid not in notes


def test_what_texts_are_like_has_its_own_table_and_stays_out_without_measures() -> None:
    made = card()
    assert made["texts"]["sets"]["synthetic"]["repeated_texts"] == 0.5
    page = render_report(made, {}, [])
    assert "repeated texts (lower is better)" in page
    assert "50.0%" in page.partition("What the texts are like")[2]
    for nothing in (None, {"measures": [], "sets": {}}):
        assert "What the texts are like" not in render_report(card(texts=nothing), {}, [])


def test_a_distance_that_nobody_knew_gets_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Distance(name="strange", title="Strange", direction=Direction.HIGHER, unit=SHARE, decimals=1)
    monkeypatch.setattr("fedtext.reporting.tables.MEASURES", (*MEASURES, known))
    found = distribution().model_dump()
    found["bias"] = distribution().bias._asdict()
    assert "Strange" not in distance_table(found)
    found["sets"]["synthetic"]["strange"] = 0.914
    found["sets"]["public_control"]["strange"] = None
    drawn = distance_table(found)
    assert "<td>91.4%</td>" in drawn
    assert drawn.count("<td>–</td>") == 4, "what the public set has not, and what the floor has not"
