"""The privacy report: the verdict first, every release and its price, and no claim that the ledger does not bear."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from fedtext.privacy.assumptions import assumptions
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.report import final_report, privacy_report, render_markdown, reported_releases
from fedtext.privacy.wording import shown
from fedtext.reporting.headline import epsilon_sentence
from fedtext.reporting.scorecard import Protection
from tests.parameters import conf_base
from tests.privacy.histories import ledger as small_ledger
from tests.privacy.histories import party, release, spent


def ledger(rounds: int = 3, mechanism: str = "exact discrete Gaussian, grid step 2^-13", **changed: object) -> Ledger:
    declaration = conf_base(Privacy, {"epsilon": 1.0, "delta": 3e-6, **changed})
    rate = 0.1 if declaration.sampling != "full" else 1.0
    releases = tuple(
        Release(
            name="popri.scores",
            round=t,
            mechanism=mechanism,
            sensitivity=1.5,
            noise_stddev=30.0,
            sampling=declaration.sampling,
            rate=rate,
            unit=declaration.unit,
        )
        for t in range(1, rounds + 1)
    )
    return Ledger(declaration=declaration, population=3312, releases=releases)


def first_sentence(markdown: str) -> str:
    return markdown.splitlines()[2]


def test_the_first_sentence_says_what_was_protected_and_how_strongly() -> None:
    run = ledger()
    text = first_sentence(render_markdown(privacy_report(run)))
    assert text.startswith("Protected is every single client among 3,312")
    assert f"epsilon = {shown(run.epsilon())} and delta = 3e-06 (zero_out)" in text


def test_a_number_that_was_declared_is_told_from_one_that_was_counted() -> None:
    run = ledger(population=4416)
    assert privacy_report(run)["declared"] == 4416
    assert privacy_report(run, allowance=Allowance(public=True))["declared"] is None, "a public corpus is counted"
    assert privacy_report(ledger())["declared"] is None


def test_the_dictionary_has_every_release_with_its_price() -> None:
    run = ledger()
    report = privacy_report(run)
    assert report["epsilon"] == run.epsilon()
    assert (report["unit"], report["adjacency"], report["population"]) == ("client", "zero_out", 3312)
    assert [entry["round"] for entry in report["releases"]] == [1, 2, 3]
    assert report["releases"][0]["sensitivity"] == 1.5
    assert report["releases"][0]["noise_stddev"] == 30.0
    cumulative = [entry["epsilon_cumulative"] for entry in report["releases"]]
    assert cumulative == sorted(cumulative)
    assert cumulative[-1] == report["epsilon"]
    assert len({entry["epsilon_alone"] for entry in report["releases"]}) == 1
    assert report["releases"][0]["epsilon_alone"] == cumulative[0]


def test_epsilon_is_given_under_every_adjacency() -> None:
    by_adjacency = privacy_report(ledger())["epsilon_by_adjacency"]
    assert by_adjacency["zero_out"] == by_adjacency["add_remove"] < by_adjacency["replace_one"]


def test_what_cannot_be_priced_is_said_with_its_reason() -> None:
    report = privacy_report(ledger(sampling="fixed_size", clients_per_round=331))
    assert report["epsilon_by_adjacency"]["add_remove"].startswith("not available: sampling is 'fixed_size'")
    assert isinstance(report["epsilon_by_adjacency"]["replace_one"], float)
    assert "not available: sampling is 'fixed_size'" in render_markdown(report)


def test_an_unaccounted_read_takes_the_first_sentence() -> None:
    run = ledger().unaccounted_read("popri.checkpoint", "lowest FID on private validation text")
    report = privacy_report(run)
    text = render_markdown(report)
    assert report["epsilon"] == "infinity"
    assert first_sentence(text).startswith("No client is protected: epsilon is infinite")
    assert "'popri.checkpoint'" in first_sentence(text)
    assert "- popri.checkpoint: lowest FID on private validation text" in text
    assert set(report["epsilon_by_adjacency"].values()) == {"infinity"}


def test_evaluation_only_is_listed_apart() -> None:
    text = render_markdown(privacy_report(ledger().evaluation_only_read("fid", "held-out test clients")))
    after = text[text.index("## Evaluation only") :]
    assert "- fid: held-out test clients" in after
    assert "None." in text[text.index("## Unaccounted reads") : text.index("## Evaluation only")]


@pytest.mark.parametrize(("seed", "marked"), [(None, False), (3, True)])
def test_seeded_noise_is_marked(seed, marked) -> None:
    report = privacy_report(ledger(noise_seed=seed))
    text = render_markdown(report)
    assert ("simulation: seeded noise" in first_sentence(text)) is marked
    assert (report["noise"] == "simulation: seeded noise") is marked
    assert any("nothing real is protected" in line for line in report["assumptions"]) is marked


def test_the_published_claim_stands_beside_the_exact_price() -> None:
    declaration = conf_base(
            Privacy,
        epsilon=3.0, delta=3e-6, sampling="fixed_size", clients_per_round=1000, calibration="published",
        noise_multiplier=2.5,
    )  # fmt: skip
    entry = {"name": "s", "mechanism": "discrete", "sensitivity": 1.0, "noise_stddev": 2.5, "rate": 0.1}
    run = Ledger(
        declaration=declaration,
        population=10_000,
        releases=tuple(Release(round=t, sampling="fixed_size", **entry) for t in range(20)),
    )
    published = privacy_report(run)["published"]
    assert published["epsilon"] == pytest.approx(0.9617, abs=1e-4)
    assert published["exact"] == pytest.approx(1.6078, abs=1e-4)
    assert "epsilon = 0.9617" in render_markdown(privacy_report(run))
    assert privacy_report(ledger())["published"] is None


def test_what_the_noise_of_a_papers_formula_spends_stands_beside_what_it_was_meant_for() -> None:
    """WASP: a deviation of 9.690 for joint votes of norm 1.63298, four times, spends 1.287 of 4."""
    votes = tuple(release(9.690 / 1.63298, name="votes", round=t) for t in range(4))
    run = small_ledger(releases=votes, epsilon=4.0, delta=1e-5, calibration="published")
    published = privacy_report(run)["published"]
    assert published["epsilon"] == 4.0
    assert published["exact"] == pytest.approx(1.287, abs=1e-3)
    said = "for epsilon = 4. Priced exactly under zero_out, what was released spends epsilon = 1.28"
    assert said in render_markdown(privacy_report(run))
    assert privacy_report(run.model_copy(update={"releases": ()}))["published"] is None
    read = run.unaccounted_read("checkpoint", "lowest FID on private validation text")
    assert privacy_report(read)["published"] == published, "of the releases alone"


def test_phases_that_a_paper_adds_up_stand_beside_the_exact_price_of_each_kind_of_party() -> None:
    """Flexible participation on Yelp: 6 and 2 at half of delta each; the weak silo's 8 is 6.282."""
    held = (party("a", "strong silo", 15_000, 8.0), party("b", "weak silo", 15_000, 8.0))
    trained: dict[str, Any] = {"sampling": "poisson", "rate": 256 / 15_000, "steps": 10_000, "secret_sample": True}
    made = (
        release(1.537, name="train", parties=("a",), **trained),
        release(2.1047, name="profile"),
        release(1.783, name="votes", parties=("b",), sensitivity=5**0.5),
    )
    declared: dict[str, Any] = {"epsilon": 8.0, "delta": 6.93e-6, "calibration": "published"}
    run = small_ledger(parties=held, releases=made, **declared)
    report = privacy_report(run)
    strong, weak = report["published"]["parties"]
    assert (strong["kind"], weak["kind"]) == ("strong silo", "weak silo")
    assert (strong["epsilon"], weak["epsilon"]) == (pytest.approx(8, abs=0.02), pytest.approx(8, abs=0.004))
    assert (strong["exact"], weak["exact"]) == (pytest.approx(6.272, abs=0.02), pytest.approx(6.282, abs=4e-3))
    assert report["published"]["exact"] == report["epsilon"]
    assert f"a weak silo spends {shown(weak['exact'])} of {shown(weak['epsilon'])}" in render_markdown(report)
    exact = small_ledger(parties=held, releases=made, **{**declared, "calibration": "exact"})
    assert privacy_report(exact)["published"] is None
    one_phase = small_ledger(parties=held, releases=made[1:2], **declared)
    assert privacy_report(one_phase)["published"] is None, "nothing is added up"


def test_a_record_is_said_to_be_a_span_and_not_a_document() -> None:
    assert "a longer document is several records" in privacy_report(ledger(unit="record"))["statement"]
    assert "several records" not in privacy_report(ledger())["statement"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "Secure aggregation"),
        ({"aggregation": "trusted"}, "trusted curator"),
        ({"aggregation": "local"}, "one client's message"),
        ({}, "All of the noise shares arrive"),
        ({"honest_fraction": 0.9}, "At least 0.9 of the noise shares"),
        ({"sampling": "poisson", "clients_per_round": 331}, "which units were drawn"),
        ({"adjacency": "add_remove"}, "3312 clients is taken as public"),
        ({"mechanism": "DP-SGD"}, "floating point"),
    ],
)
def test_assumptions_follow_from_the_declaration(changed, said) -> None:
    assert any(said in line for line in privacy_report(ledger(**changed))["assumptions"])
    if changed:
        assert not any(said in line for line in privacy_report(ledger(aggregation="secure"))["assumptions"])


ALONE = "exact discrete Gaussian, by the party itself, grid step 2^-12"


def silos(aggregation: str, *more: Release, **declared: Any) -> Ledger:
    """Ten silos count, and the first trains alone by secret draws."""
    held = tuple(party(f"silo {k}", "silo", 400, 50.0) for k in range(10))
    drawn: dict[str, Any] = {"sampling": "poisson", "rate": 0.1, "steps": 4, "secret_sample": True}
    trained = release(2.0, name="train", mechanism=ALONE, parties=("silo 0",), **drawn)
    made = (trained, release(9.0, name="profile"), *more)
    return small_ledger(parties=held, releases=made, epsilon=50.0, **{"aggregation": aggregation, **declared})


@pytest.mark.parametrize("aggregation", ["secure", "local", "trusted"])
def test_what_a_party_answers_alone_is_seen_and_its_secret_sample_is_counted(aggregation: str) -> None:
    run = silos(aggregation)
    said = assumptions(run)
    assert any(line.startswith("'train': one party answers alone") and "whose it is" in line for line in said)
    assert any("knows which units were drawn" in line for line in said), "the draw makes it cheaper"
    watched = run.releases[0].model_copy(update={"secret_sample": False})
    priced = run.model_copy(update={"releases": (watched, run.releases[1])})
    assert (priced.epsilon() > run.epsilon()) is (aggregation == "local")
    assert any("knows which units" in line for line in assumptions(priced)) is (aggregation != "local")
    assert not any("no sampling is counted" in line for line in said)
    if aggregation != "local":
        assert any("of 'profile'" in line for line in said), "no message is hidden of what a party answers alone"
    alone = run.model_copy(update={"releases": run.releases[:1]})
    assert not any(word in line for line in assumptions(alone) for word in ("Secure agg", "Local noise", "curator"))


def test_a_party_that_knows_its_share_of_the_noise_sees_the_others_with_less() -> None:
    (said,) = (line for line in assumptions(silos("secure")) if "its own share" in line)
    run = silos("secure")
    thinner = release(9.0 * (1 - 1 / 10) ** 0.5, name="profile")
    against = run.model_copy(update={"releases": (run.releases[0], thinner)}).epsilon()
    assert against > run.epsilon()
    assert "among 10, 0.949 of the deviation" in said
    assert f"against another party epsilon is {shown(against)}." in said
    assert not any("its own share" in line for line in assumptions(silos("local")))
    two = release(9.0, name="votes", parties=("silo 1", "silo 2"))
    assert any("among 2, 0.707 of" in line for line in assumptions(silos("secure", two)))
    missing = assumptions(silos("secure", two, honest_fraction=0.5))
    assert any("among 2, 0 of the deviation are left" in line and "is infinity" in line for line in missing)
    assert any("A client knows its own share of the noise" in line for line in assumptions(ledger()))


def test_the_dictionary_is_strict_json() -> None:
    run = ledger().unaccounted_read("a", "b")
    report = privacy_report(run, further=["The corpus has one author a document."])
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert "- The corpus has one author a document." in render_markdown(report)


def test_a_run_without_releases_says_so() -> None:
    report = privacy_report(ledger(rounds=0))
    text = render_markdown(report)
    assert first_sentence(text) == (
        "Nothing was released of what the 3,312 clients hold: no result of the algorithm depends on it, and it costs "
        "them nothing (epsilon = 0)."
    )
    assert "None: no private data were released." in text
    assert (report["data_set"]["releases"], report["data_set"]["public"], report["data_set"]["budget"]) == (0, False, 1)
    assert "No release of what these clients hold is on record; epsilon 1 are allowed." in text
    assert "the corpus is public" not in text


def test_all_releases_of_the_same_data_are_priced_beside_the_run_s_own() -> None:
    run = ledger(rounds=2)
    own = [spent(one, f"{one.round}", delta=3e-6) for one in run.releases]
    alone, text = final_report(run, own)
    assert alone["data_set"]["epsilon"] == pytest.approx(alone["epsilon"])
    assert (alone["data_set"]["releases"], alone["data_set"]["budget"], alone["data_set"]["public"]) == (2, 1.0, False)
    together = (
        f"All releases on record of what these clients hold, 2 answers, cost epsilon = {shown(run.epsilon())} together"
    )
    assert f"{together}; epsilon 1 are allowed." in text
    assert "- 'popri.scores' x 2:" in text
    before = spent(release(30.0, name="other.votes", sensitivity=1.5), "before", delta=3e-6)
    more, text = final_report(run, [before, *own])
    assert more["epsilon"] == alone["epsilon"], "a run's own price is its own"
    assert more["data_set"]["epsilon"] == pytest.approx(ledger(rounds=3).epsilon())
    assert f"3 answers, cost epsilon = {shown(ledger(rounds=3).epsilon())} together" in text
    assert f"- 'other.votes' x 1: {ledger(rounds=1).epsilon():.4g}" in text
    assert "evaluation" in text


def test_the_total_is_that_of_the_promise_that_is_used_up_most_and_all_are_listed() -> None:
    run = ledger(rounds=1)
    own = spent(run.releases[0], "a", delta=3e-6)
    before = spent(release(30.0, name="other.votes", sensitivity=1.5), "b", adjacency="replace_one", delta=3e-6)
    report, text = final_report(run, [before, own])
    total = report["data_set"]
    assert total["promise"]["adjacency"] == "replace_one"
    assert [one["adjacency"] for one in total["promises"]] == ["replace_one", "zero_out"]
    worst, mildest = (one["epsilon"] for one in total["promises"])
    assert total["epsilon"] == worst > 1.5 * mildest
    assert f"epsilon = {shown(worst)} together, counted for a client under replace_one at delta 3e-06" in text
    assert f"| client | zero_out | 3e-06 | 1 | {shown(mildest)} |" in text
    said = epsilon_sentence({**Protection.of(report).model_dump(), "unaccounted": []})
    assert "of a budget of 1.00, counted as one run promised it (client, replace_one, δ = 3 × 10⁻⁶)" in said


def test_releases_of_another_data_root_are_counted_and_the_rules_are_this_one_s() -> None:
    run = ledger(rounds=1)
    own = spent(run.releases[0], "a", delta=3e-6)
    other = spent(run.releases[0], "b", delta=3e-6, split="s").model_copy(update={"elsewhere": "another data root"})
    report, text = final_report(run, [own, other])
    assert (report["data_set"]["releases"], report["data_set"]["elsewhere"]) == (2, 1)
    assert "2 answers, 1 of them in another data root, cost epsilon" in text
    assert "x 1 in another data root:" in text
    said = epsilon_sentence({**Protection.of(report).model_dump(), "unaccounted": []})
    assert "All 2 releases on record of these clients' text, 1 of them in another data root, come to" in said


def test_of_a_public_corpus_the_total_is_said_and_nothing_is_allowed_or_not() -> None:
    run = ledger(rounds=1)
    entries = [spent(run.releases[0], "a", allowed=None), spent(run.releases[0], "b", allowed=None)]
    report = privacy_report(run, history=entries, allowance=Allowance(public=True))
    assert (report["data_set"]["budget"], report["data_set"]["public"]) == (None, True)
    assert "the corpus is public, so releases are counted and none is refused" in report["data_set"]["statement"]
    assert report["data_set"]["epsilon"] > 1.4 * report["epsilon"]


@pytest.mark.parametrize("recorded", [None, 1.0])
def test_a_private_corpus_without_a_limit_is_never_called_public(recorded: float | None) -> None:
    """Whatever the history says of what was allowed: None stood for both in histories of every version."""
    run = ledger(rounds=1)
    entries = [spent(run.releases[0], allowed=recorded)]
    for history in (entries, []):
        report = privacy_report(run, history=history, allowance=Allowance(public=False, total=math.inf))
        assert (report["data_set"]["budget"], report["data_set"]["public"]) == ("infinity", False)
        assert "the corpus is private, and nothing limits what its releases cost" in report["data_set"]["statement"]
        json.dumps(report, allow_nan=False)
    assert privacy_report(run, history=entries)["data_set"]["budget"] == 1.0, "what the first run declared"
    assert privacy_report(run, allowance=Allowance(public=False, total=9.0))["data_set"]["budget"] == 9.0


def test_what_is_counted_is_what_is_priced() -> None:
    """Of another split, the other part's answers may be of the same people."""
    other = spent(release(9.0), part="test", split="before")
    new = spent(release(9.0, name="new"), "b", part="test")
    report = privacy_report(ledger(rounds=0), history=[other, new])["data_set"]
    assert report["releases"] == 1
    assert report["epsilon"] > 0
    assert "All releases on record of what these clients hold, 1 answer, cost" in report["statement"]


def test_a_read_without_a_mechanism_in_another_run_makes_the_total_infinite_and_not_the_run_s_epsilon() -> None:
    run = ledger(rounds=1)
    read = spent(None, "popri.checkpoint", reason="lowest FID on private validation text")
    report, text = final_report(run, [read, spent(run.releases[0])])
    assert report["data_set"]["epsilon"] == "infinity"
    assert report["epsilon"] == run.epsilon()
    assert "cost epsilon = infinity together" in text
    assert "- 'lowest FID on private validation text'" in text
    json.dumps(report, allow_nan=False)


def test_what_the_upper_bound_reads_is_said_to_be_covered_by_nothing() -> None:
    _, text = final_report(ledger(), [])
    after = text[text.index("## Evaluation only") :]
    assert "trained on the protected text itself" in after
    assert "covered by no epsilon" in after


def test_a_schedule_costs_as_much_where_a_client_is_added_or_removed_for_it_moves_no_other() -> None:
    entry = {"name": "sums", "mechanism": "discrete Gaussian", "round": 0, "sensitivity": 1.0, "noise_stddev": 9.0}
    charged = Ledger(declaration=conf_base(Privacy, epsilon=1.0, delta=1e-6), population=100).charge(
        Release(rounds=3, **entry)
    )
    by_adjacency = privacy_report(charged)["epsilon_by_adjacency"]
    assert by_adjacency["add_remove"] == by_adjacency["zero_out"] < by_adjacency["replace_one"] < 1.1


def test_what_is_kept_between_rounds_is_an_assumption() -> None:
    opened = Ledger(declaration=conf_base(Privacy, epsilon=1.0, delta=1e-6), population=100)
    entry = {"round": 0, "sensitivity": 1.0, "noise_stddev": 5.0}
    plain = opened.charge(Release(name="sum", mechanism="discrete Gaussian", **entry))
    correlated = opened.charge(Release(name="sum", mechanism="discrete Gaussian; correlated across 8 rounds", **entry))
    kept = "keeps sums of earlier rounds"
    assert not any(kept in one for one in assumptions(plain))
    assert any(kept in one for one in assumptions(correlated))


def test_rounds_that_one_entry_pays_for_are_answers_of_one_release() -> None:
    entry = {"name": "sums", "mechanism": "discrete Gaussian", "round": 0, "sensitivity": 1.0, "noise_stddev": 9.0}
    opened = Ledger(declaration=conf_base(Privacy, epsilon=1.0, delta=1e-6), population=100)
    whole, single = opened.charge(Release(rounds=3, **entry)), opened.charge(Release(**entry))
    assert whole.epsilon() == single.epsilon()
    rounds = [spent(whole.releases[0], f"{t}", round=t, delta=1e-6) for t in (1, 2, 3)]
    paid_once = privacy_report(whole, history=rounds)["data_set"]
    assert (paid_once["releases"], paid_once["epsilon"]) == (3, pytest.approx(whole.epsilon()))
    apart = [spent(single.releases[0].model_copy(update={"round": t}), f"{t}", delta=1e-6) for t in (1, 2, 3)]
    assert privacy_report(single, history=apart)["data_set"]["epsilon"] > 1.5 * single.epsilon()


SILOS = (
    *(party(f"strong {i}", "strong silo", 400 + i, 8.0) for i in range(4)),
    *(party(f"weak {i}", "weak silo", 90, 4.0) for i in range(6)),
)
STRONG = tuple(one.name for one in SILOS[:4])


def federation(*more: Release) -> Ledger:
    """Four strong silos train, ten count."""
    made = (release(1.0, name="train", parties=STRONG), release(20.0, name="profile"), *more)
    return small_ledger(parties=SILOS, releases=made, epsilon=8.0)


def test_the_report_has_a_row_a_kind_of_party_and_none_a_party() -> None:
    run = federation()
    history = [spent(one, one.name, partition=run.partition, budget=8.0, allowed=8.0) for one in run.releases]
    report = privacy_report(run, history=history)
    strong, weak = report["parties"]
    assert (strong["kind"], strong["parties"], strong["population"], strong["budget"]) == (
        "strong silo", 4, [400, 403], 8.0,
    )  # fmt: skip
    assert (weak["kind"], weak["parties"], weak["population"], weak["releases"]) == (
        "weak silo", 6, [90, 90], ["profile"],
    )  # fmt: skip
    assert strong["epsilon"] == strong["epsilon_data_set"] == run.spent(party="strong 0") == report["epsilon"]
    assert weak["epsilon"] == weak["epsilon_data_set"] == run.spent(party="weak 5") < 0.3
    assert strong["each"]["strong 2"] == {
        "population": 402, "epsilon": strong["epsilon"], "epsilon_data_set": strong["epsilon"],
    }  # fmt: skip
    assert [len(row["each"]) for row in report["parties"]] == [4, 6]
    assert [entry["paid_by"] for entry in report["releases"]] == [
        {"strong silo": 4},
        {"strong silo": 4, "weak silo": 6},
    ]
    text = render_markdown(report)
    assert "among 2,146 of 10 parties, with everything it holds, at epsilon" in first_sentence(text)
    assert "the price of the party that spent most" in first_sentence(text)
    assert f"| strong silo x 4 | 400 to 403 | 8 | {shown(strong['epsilon'])} |" in text
    assert f"| weak silo x 6 | 90 | 4 | {shown(weak['epsilon'])} | {shown(weak['epsilon'])} | profile |" in text
    assert "| strong silo x 4, weak silo x 6 |" in text
    assert "weak 3" not in text
    assert any("held by one party" in line for line in report["assumptions"])
    json.dumps(report, allow_nan=False)


def test_parties_of_a_kind_that_did_not_do_the_same_have_rows_of_their_own() -> None:
    rows = privacy_report(federation(release(30.0, name="votes", parties=("weak 0", "weak 1"))))["parties"]
    assert [(row["kind"], row["parties"], row["releases"]) for row in rows] == [
        ("strong silo", 4, ["train", "profile"]),
        ("weak silo", 2, ["profile", "votes"]),
        ("weak silo", 4, ["profile"]),
    ]


def test_parties_with_releases_of_their_own_but_the_same_names_share_a_row_of_the_worst() -> None:
    own = (release(2.0 - k / 10, name="train", parties=(f"strong {k}",)) for k in range(4))
    run = small_ledger(parties=SILOS, releases=(*own, release(20.0, name="profile")), epsilon=8.0)
    strong, weak = privacy_report(run)["parties"]
    assert (strong["parties"], strong["releases"], weak["parties"]) == (4, ["train", "profile"], 6)
    assert strong["epsilon"] == strong["each"]["strong 3"]["epsilon"] == run.spent(party="strong 3")
    assert strong["each"]["strong 0"]["epsilon"] == run.spent(party="strong 0") < strong["epsilon"]


def test_a_read_without_a_mechanism_leaves_no_party_protected() -> None:
    report = privacy_report(federation().unaccounted_read("checkpoint", "best on private text"))
    assert {row["epsilon"] for row in report["parties"]} == {"infinity"}


def test_the_published_epsilon_is_the_worst_party_s_too() -> None:
    made = (release(1.0, parties=("strong 0",)), release(1.0, parties=("strong 1",)))
    apart = small_ledger(parties=SILOS, releases=made, epsilon=8.0, calibration="published", noise_multiplier=1.0)
    alone = small_ledger(releases=(release(1.0),), epsilon=8.0, calibration="published", noise_multiplier=1.0)
    assert privacy_report(apart)["published"]["epsilon"] == privacy_report(alone)["published"]["epsilon"]


def test_a_run_that_tells_no_parties_apart_says_nothing_of_them() -> None:
    report = privacy_report(ledger())
    assert not {"parties", "partition"} & report.keys()
    assert not {"parties", "paid_by"} & report["releases"][0].keys()
    assert "## Parties" not in render_markdown(report)


def test_a_report_gives_its_releases_back() -> None:
    run = federation()
    assert reported_releases(json.loads(json.dumps(privacy_report(run)))) == list(run.releases)


def test_the_assumptions_say_who_adds_the_noise() -> None:
    local = {"aggregation": "local", "unit": "record"}
    assert (
        "every party adds all of its noise itself" in assumptions(small_ledger(parties=SILOS, epsilon=8.0, **local))[0]
    )
    alone, held = (assumptions(small_ledger(population=1000, holders=n, **local))[0] for n in (None, 10))
    assert alone.endswith("every record counts as a client of its own.")
    assert held.endswith("the noise of all clients.")
