"""Made-up scorecards: the arithmetic over seeds, the verdicts, what is left out, and the words around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedtext.evaluation.intervals import Interval
from fedtext.evaluation.measures.measure import SHARE
from fedtext.params.compare import Claim, Claims, Compare
from fedtext.reporting.comparison import (
    REFUTED,
    REPRODUCED,
    UNDECIDED,
    Run,
    compare_runs,
    figures_cost_sentence,
    measured_costs,
    privacy_cost_sentence,
    verdict,
)
from fedtext.reporting.comparison_text import (
    claim_rows,
    interval,
    render_markdown,
    render_page,
    table1_csv,
    table1_head,
    table1_rows,
    table2_csv,
)
from fedtext.reporting.glossary import Terms, TestUnits
from tests.evaluation.examples import accuracy, card, protection
from tests.refusals import refuses

SEEDS = (1, 2, 3)
LEVELS = {"popri": (0.13, 0.14, 0.13), "pe": (0.12, 0.122, 0.119), "dp_fedavg": (0.091, 0.092, 0.090)}
FID = {"popri": (0.30, 0.31, 0.32), "pe": (0.34, 0.36, 0.36)}
COMPARE = Compare.model_validate(
    {
        "algorithms": "popri pe dp_fedavg",
        "seeds": "1 2 3",
        "entries": {name: {"algorithm": name, "params": {}} for name in (*LEVELS, "absent")},
    }
)
PLAIN = {"relation": "more", "measures": ""}


def plain_claims(measures: str, judged: dict[str, dict[str, str]]) -> Claims:
    said = {name: {**PLAIN, **claim} for name, claim in judged.items()}
    return Claims.model_validate({"measures": measures, "margin": 0.1, "judged": said})


CLAIMS = plain_claims(
    "top_1 fid",
    {
        "more": {"says": "POPri > PE", "better": "popri", "worse": "pe"},
        "wrong": {"says": "PE > POPri", "better": "pe", "worse": "popri"},
        "alike": {"says": "DP-FL at the start", "better": "dp_fedavg", "worse": "eps0", "relation": "alike"},
        "unlike": {"says": "POPri at the start", "better": "popri", "worse": "eps0", "relation": "alike"},
        "public": {"says": "POPri > public text", "better": "popri", "worse": "public_control"},
        "model": {"says": "POPri > DP-FedAvg", "better": "popri", "worse": "dp_fedavg"},
        "control": {"says": "public text is better", "better": "public_control", "worse": "popri"},
        "not_run": {"says": "nothing", "better": "popri", "worse": "absent"},
    },
)


def run(entry: str, seed: int, **changed: Any) -> Run:
    """A run whose accuracies and FIDs are exactly those above; eps0 is 9%, the private text 22%."""
    made = "trained_model" if entry == "dp_fedavg" else "synthetic"
    found = card(accuracy=accuracy(), **({"distribution": None} if made == "trained_model" else {}), **changed)
    conditions = found["accuracy"]["conditions"]
    conditions[made] = {**conditions["synthetic"], "top_1": LEVELS[entry][seed - 1]}
    conditions["eps0"]["top_1"], conditions["private"]["top_1"] = 0.09, 0.22
    found["accuracy"]["judged"] = made
    found["accuracy"]["gap_closed"][made] = {"share": (LEVELS[entry][seed - 1] - 0.09) / 0.13}
    if made == "synthetic":
        found["distribution"]["sets"]["synthetic"]["fid"] = FID[entry][seed - 1]
        found["distribution"]["sets"]["public_control"]["fid"] = 0.5 + 0.001 * seed - 0.002
    return Run(entry, entry, seed, {}, found, {}, [])


RUNS = [run(entry, seed) for seed in SEEDS for entry in LEVELS]


def test_means_gains_and_gaps_are_those_of_the_seeds() -> None:
    entry = compare_runs(RUNS, CLAIMS)["entries"]["popri"]
    assert entry["measures"]["top_1"]["mean"] == pytest.approx(0.4 / 3)
    assert entry["gain"]["mean"] == pytest.approx(0.4 / 3 - 0.09)
    assert entry["gap_closed"]["mean"] == pytest.approx((0.04 + 0.05 + 0.04) / 0.13 / 3)
    shares = [run.card["accuracy"]["remaining_gap"]["top_1"]["share"] for run in RUNS if run.entry == "popri"]
    assert entry["remaining_gap"]["mean"] == pytest.approx(sum(shares) / 3)
    assert entry["measures"]["top_1"]["low"] < 0.13 < entry["measures"]["top_1"]["high"]
    assert entry["measures"]["fid"]["mean"] == pytest.approx(0.31)
    assert [len(seed) for seed in entry["curves"]["fid"]] == [3, 3, 3]


def test_the_gap_of_a_seed_that_is_within_noise_is_in_no_average() -> None:
    runs = [run("popri", seed) for seed in SEEDS]
    conditions = runs[0].card["accuracy"]["conditions"]
    conditions["private"]["top_1"] = conditions["eps0"]["top_1"] + 1e-5  # the gain over it would be 4000 times the gap
    runs[0].card["accuracy"]["gap_closed"]["synthetic"] = {"share": None, "reason": "no gap to close"}
    found = compare_runs(runs, CLAIMS)
    assert found["entries"]["popri"]["gap_closed"] is None, "as that run's own report has none"
    assert found["entries"]["popri"]["gain"] is not None


def test_a_model_has_no_distances_and_an_infinite_epsilon_stays_infinite() -> None:
    runs = [*RUNS[:-1], run("dp_fedavg", 3, protection=protection(unaccounted=("a reason",)))]
    entries = compare_runs(runs, CLAIMS)["entries"]
    assert entries["dp_fedavg"]["measures"]["fid"] is None
    assert entries["dp_fedavg"]["curves"]["fid"] == []
    assert entries["popri"]["epsilon"] == pytest.approx(0.9987)


def test_nothing_is_less_than_nothing() -> None:
    assert interval({"mean": -0.0001, "low": -0.0002, "high": 0.001}, SHARE, 1) == "0.0 (0.0 to 0.1)"


def test_claims_are_judged_by_paired_differences() -> None:
    claims = compare_runs(RUNS, CLAIMS)["claims"]
    assert "not_run" not in claims
    verdicts = {
        name: tuple(claim["measured"].get(by, {}).get("verdict") for by in ("top_1", "fid"))
        for name, claim in claims.items()
    }
    assert verdicts == {
        "more": (REPRODUCED, REPRODUCED),
        "wrong": (REFUTED, REFUTED),
        "alike": (REPRODUCED, None),
        "unlike": (REFUTED, None),
        "public": (REPRODUCED, REPRODUCED),
        "model": (REPRODUCED, None),
        "control": (REFUTED, REFUTED),
    }
    assert claims["public"]["measured"]["fid"]["mean"] == pytest.approx(0.5 - 0.31)
    assert claims["more"]["measured"]["top_1"]["mean"] == pytest.approx((0.01 + 0.018 + 0.011) / 3)
    assert claims["alike"]["measured"]["top_1"]["tolerance"] == pytest.approx(0.013)


def test_a_claim_is_judged_by_its_own_measures_each_in_its_own_direction() -> None:
    said = {"says": "x", "better": "popri", "worse": "pe"}
    own = {**said, "measures": "cross_entropy repeated_texts"}
    claims = plain_claims("top_1", {"own": own, "common": said})
    runs = [one._replace(card=json.loads(json.dumps(one.card))) for one in RUNS]
    for one in runs:
        if one.entry == "popri":
            one.card["accuracy"]["conditions"]["synthetic"]["cross_entropy"] = 3.0
            one.card["texts"]["sets"]["synthetic"]["repeated_texts"] = 0.9
    found = compare_runs(runs, claims)["claims"]
    assert list(found["common"]["measured"]) == ["top_1"]
    measured = found["own"]["measured"]
    assert measured["cross_entropy"]["mean"] == pytest.approx(1.0), "4 nats less 3: lower is better"
    assert measured["repeated_texts"]["mean"] == pytest.approx(0.5 - 0.9)
    assert [each["verdict"] for each in measured.values()] == [REPRODUCED, REFUTED]


def test_without_names_a_claim_is_judged_by_all_that_both_sides_have() -> None:
    claims = CLAIMS.model_copy(update={"measures": ()})
    found = compare_runs(RUNS, claims)
    texts = {"fid", "mean_gap", "mmd_squared", "median_distance", "repeated_texts"}
    both = {"top_1", "top_3", "top_5", "cross_entropy"}
    assert set(found["claims"]["more"]["measured"]) == texts | both
    assert set(found["claims"]["model"]["measured"]) == both, "a model has no texts"
    assert set(found["claims"]["alike"]["measured"]) == both
    assert found["measures"][0] == "top_1"
    assert len(table1_rows(found)[0]) == len(table1_head(found)) == 6 + len(texts | both)


def test_a_claim_s_row_says_where_accuracy_and_distance_disagree() -> None:
    runs = [one._replace(card=json.loads(json.dumps(one.card))) for one in RUNS]
    for one in runs:
        if one.entry == "popri":
            one.card["distribution"]["sets"]["synthetic"]["fid"] += 0.5
    rows = {row[0]: row[1:] for row in claim_rows(compare_runs(runs, CLAIMS))}
    measured, said = rows["POPri > PE"]
    assert measured.startswith("popri against pe: accuracy higher by 1.30 (")
    assert " points; FID lower by -0.457 (" in measured
    assert said == f"accuracy: {REPRODUCED}; FID: {REFUTED}"
    measured, said = rows["DP-FL at the start"]
    assert measured.endswith("; alike within 1.30")
    assert said == REPRODUCED


def test_one_seed_decides_nothing() -> None:
    claims = compare_runs([run(entry, 1) for entry in LEVELS], CLAIMS)["claims"]
    verdicts = [(by, found["verdict"]) for claim in claims.values() for by, found in claim["measured"].items()]
    assert set(verdicts) == {("top_1", UNDECIDED), ("fid", UNDECIDED)}


@pytest.mark.parametrize(
    ("relation", "low", "high", "expected"),
    [
        ("more", 0.001, 0.01, REPRODUCED),
        ("more", -0.001, 0.01, UNDECIDED),
        ("more", -0.01, -0.001, REFUTED),
        ("alike", -0.01, 0.01, REPRODUCED),
        ("alike", -0.01, 0.03, UNDECIDED),
        ("alike", 0.021, 0.03, REFUTED),
        ("alike", -0.03, -0.021, REFUTED),
        ("alike", -0.03, -0.01, UNDECIDED),
    ],
)
def test_verdicts(relation: str, low: float, high: float, expected: str) -> None:
    claim = Claim.model_validate({"says": "x", "better": "a", "worse": "b", "relation": relation, "measures": ""})
    assert verdict(claim, Interval((low + high) / 2, low, high, 3), tolerance=0.02) == expected


def test_where_training_on_the_private_text_gains_nothing_nothing_is_called_alike() -> None:
    claim = Claim(says="x", better="a", worse="b", relation="alike", measures=())
    assert verdict(claim, Interval(0.0, -1e-4, 1e-4, 3), tolerance=-1e-3) == UNDECIDED


def test_without_a_control_on_the_private_text_the_gap_is_unknown_and_nothing_is_called_alike() -> None:
    runs = [run(entry, seed) for seed in SEEDS for entry in LEVELS]
    for one in runs:
        del one.card["accuracy"]["conditions"]["private"]
        one.card["accuracy"]["gap_closed"] = {}
        if one.card["distribution"]:  # a DP evaluation's
            one.card["distribution"] |= {"bias": None, "sets": {}}
    found = compare_runs(runs, CLAIMS)
    assert found["entries"]["popri"]["gap_closed"] is None
    assert found["entries"]["popri"]["measures"]["fid"] is None
    assert found["fid_sizes"] == []
    assert "private" not in found["conditions"]
    for name in ("alike", "unlike"):
        assert found["claims"][name]["measured"]["top_1"]["tolerance"] is None
        assert found["claims"][name]["measured"]["top_1"]["verdict"] == UNDECIDED
    known = compare_runs(RUNS, CLAIMS)["claims"]["more"]["measured"]["top_1"]["verdict"]
    assert found["claims"]["more"]["measured"]["top_1"]["verdict"] == known
    assert any("no model was trained on the private text itself" in row[1] for row in claim_rows(found))
    json.dumps(found, allow_nan=False)


def test_a_claim_about_two_conditions_is_refused() -> None:
    with refuses("claim-of-one-side"):
        Claim(says="x", better="eps0", worse="private", relation="more", measures=())


def test_costs_carry_measured_seconds_above_the_published_rows() -> None:
    timed = [
        {"entry": "popri", "units": 2470, "cost": run("popri", seed).card["cost"][0],
         "clients": {"popri.release": 2470.0 * seed}, "server": {"popri.round_01.train": 10.0}}
        for seed in SEEDS
    ]  # fmt: skip
    rows = measured_costs(timed)
    assert (rows[0]["method"], rows[0]["algorithm"]) == ("popri", "POPri")
    assert rows[0]["client_seconds"] == pytest.approx(2.0)
    assert rows[0]["server_seconds"] == pytest.approx(10.0)
    assert len(rows) == 4
    assert table2_csv(rows).splitlines()[0].startswith("method,algorithm,down_floats,up_floats")


def comparison() -> dict[str, Any]:
    return {
        **compare_runs(RUNS, CLAIMS),
        "prices": [privacy_cost_sentence({"epsilon": 2.0, "reason": None, "runs": 3}, 1e-5, "all")],
    }


def test_tables_say_what_was_measured() -> None:
    text = render_markdown(comparison())
    assert (
        "| popri | synthetic texts | 1.00 | 13 (13 to 13) | 13.3 (11.9 to 14.8) | 4.3 (2.9 to 5.8) | 33 (22 to 44) | 0.310 (0.285 to 0.335) |"
        in text
    )
    assert "| dp_fedavg | private text, under DP |" in text
    assert "| PE > POPri | pe against popri: accuracy higher by -1.30" in text
    assert "costs ε = 2.00 at δ = 1e-05" in text
    lines = table1_csv(comparison()).splitlines()
    assert lines[0].startswith("entry,algorithm,made,epsilon,top_1,top_1_low,top_1_high,gain")
    assert len(lines) == 1 + 3 + 5


def test_fids_of_different_sizes_are_not_compared() -> None:
    other = run("popri", 3)
    bias = other.card["distribution"]["bias"]
    size = bias["size"]
    assert f"Every FID is taken at {size:,} texts a side" in render_markdown(comparison())
    other.card["distribution"]["bias"] = {**bias, "size": size + 1}
    mixed = compare_runs([*(r for r in RUNS if (r.entry, r.seed) != ("popri", 3)), other], CLAIMS)
    assert mixed["fid_sizes"] == [size, size + 1]
    assert mixed["entries"]["popri"]["measures"]["fid"] is None
    assert all(found["measures"]["fid"] is None for found in mixed["conditions"].values())
    assert all("fid" not in claim["measured"] for claim in mixed["claims"].values())
    assert f"FIDs are of {size:,}, {size + 1:,} texts a side" in render_markdown({**mixed, "prices": []})


def test_a_price_is_rounded_up_and_a_simulation_is_called_one() -> None:
    price = {"epsilon": 1.8312, "reason": None, "runs": 2}
    assert "costs ε = 1.84 at δ = 1e-05: 2 different sets of releases" in privacy_cost_sentence(price, 1e-5, "all runs")
    assert "there is one set of releases" in privacy_cost_sentence({**price, "runs": 1}, 1e-5, "all runs")
    nothing = {"epsilon": 0.0, "reason": None, "runs": 0}
    assert "costs nobody anything: none of them released" in privacy_cost_sentence(nothing, 1e-5, "all runs")
    said = privacy_cost_sentence(price, 1e-5, "all runs", simulated=True)
    assert "would cost ε = 1.84" in said
    assert "nobody is protected" in said
    runs = [*RUNS[:-1], run("dp_fedavg", 3, protection=protection(simulated=True))]
    text = render_markdown({**compare_runs(runs, CLAIMS), "prices": [said]})
    assert "- The noise came from a public seed" in text
    assert "public seed" not in render_markdown(comparison())


def test_what_the_figures_of_all_runs_cost_test_clients_is_their_sum() -> None:
    tested = TestUnits(unit="client", units=494, epsilon=1.001, delta=1e-5, simulated=False)
    runs = [run("popri", seed, terms=Terms(tested=tested)) for seed in SEEDS]
    said = figures_cost_sentence(runs, "all runs")
    assert said is not None
    assert "costs each of about 494 test clients at most ε = 3.01 at δ = 3e-05" in said
    simulated = run("popri", 1, terms=Terms(tested=tested.model_copy(update={"simulated": True})))
    assert "would cost each" in str(figures_cost_sentence([*runs, simulated], "all runs"))
    assert figures_cost_sentence(RUNS, "all runs") is None, "exact figures have no price"


def test_each_condition_has_the_epsilon_of_the_run_that_gave_it() -> None:
    costly = [run(e, s, protection=protection(epsilon=7.0)) for s in SEEDS for e in ("pe",)]
    for one in costly:
        del one.card["accuracy"]["conditions"]["matched_control"]
    found = compare_runs([*costly, *(r for r in RUNS if r.entry == "popri")], CLAIMS)
    epsilons = {name: condition["epsilon"] for name, condition in found["conditions"].items()}
    assert epsilons == {
        "eps0": 0.0,
        "public_control": 0.0,
        "untuned_control": 0.0,
        "matched_control": pytest.approx(0.9987),
        "private": None,
    }


def test_a_control_on_which_entries_disagree_has_a_row_for_each() -> None:
    runs = [run(entry, seed) for entry in ("popri", "pe") for seed in SEEDS]
    for one in runs:
        if one.entry == "pe":
            one.card["accuracy"]["conditions"]["matched_control"]["top_1"] = 0.18  # another release matches other texts
    found = compare_runs(runs, CLAIMS)
    first, other = (found["conditions"][name] for name in ("matched_control", "matched_control_of_pe"))
    assert (first["of"], other["of"]) == (["popri"], ["pe"])
    assert other["measures"]["top_1"]["mean"] == pytest.approx(0.18)
    assert first["measures"]["top_1"]["mean"] != pytest.approx(0.18)
    assert found["conditions"]["public_control"]["of"] == [], "both have the same"
    titles = [row[0] for row in table1_rows(found)]
    assert [title for title in titles if "match" in title] == [
        "public texts that match the release (same ε) of popri",
        "public texts that match the release (same ε) of pe",
    ]


def test_a_comparison_without_finite_price_says_why() -> None:
    said = privacy_cost_sentence({"epsilon": None, "reason": "they differ", "runs": 2}, 1e-5, "all runs")
    assert said == "Publishing all runs together has no finite ε: they differ."


def test_the_comparison_is_json_and_the_page_is_whole() -> None:
    from fedtext.reporting import figures_comparison as figures

    found = json.loads(json.dumps(comparison()))
    drawn = {"a": figures.accuracy_by_entry(found), "b": figures.scoring(found)}
    html = render_page(found, measured_costs([]), drawn)
    assert html.count("<section") == 6
    assert "Left out" not in html
    assert "left out: no entry that varies this" in html
    assert 'id="figure-a"' in html


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"seeds": "1 1"}, "compared-twice"),
        ({"entries": {"a-b": {"algorithm": "popri", "params": {}}}}, "unusable-entry-name"),
        ({"entries": {"a": {"algorithm": "popri", "params": {"popri": {"seed": 5}}}}}, "entry-with-seed"),
        ({"entries": {"a": {"algorithm": "pe", "params": {"privacy": {"noise_seed": 0}}}}}, "entry-with-seed"),
    ],
)
def test_a_comparison_that_means_nothing_is_refused(changed: dict[str, Any], code: str) -> None:
    with refuses(code):
        Compare.model_validate({**COMPARE.model_dump(), **changed})


def test_an_algorithm_is_compared_by_its_name_and_any_other_needs_an_entry() -> None:
    given = Compare.model_validate({**COMPARE.model_dump(), "algorithms": "popri other"})
    assert given.chosen["other"].algorithm == "other"
    given.validate_names(["other", *LEVELS])
    with refuses("unknown-comparison", value=["other"]):
        given.validate_names(list(LEVELS))


def test_a_claim_about_nobody_is_refused() -> None:
    CLAIMS.validate_names(COMPARE.entries)
    with refuses("claim-of-unknown-entry", value="absent"):
        CLAIMS.validate_names(LEVELS)


def test_the_command_line_gives_words_and_numbers() -> None:
    given = Compare.model_validate({**COMPARE.model_dump(), "algorithms": "dp_fedavg popri", "seeds": 7})
    assert (given.algorithms, given.seeds) == (("dp_fedavg", "popri"), (7,))
