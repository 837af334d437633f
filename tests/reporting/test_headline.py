from __future__ import annotations

import pytest

from fedtext.params.conditions import MATCHED_CONTROL, PUBLIC_CONTROL, UNTUNED_CONTROL
from fedtext.reporting.headline import accuracy_sentence, epsilon_sentence, heading, protection_sentence
from tests.evaluation.examples import accuracy, protection

CARD = {"algorithm": "Zero-shot", "corpus": "a table"}
OF_TEXTS = (PUBLIC_CONTROL, UNTUNED_CONTROL, MATCHED_CONTROL)


def test_first_sentence_says_what_was_protected():
    sentence = protection_sentence(protection().model_dump())
    assert sentence.startswith("This run protects each of 2,470 clients")
    assert "had any one client contributed nothing" in sentence
    replaced = protection_sentence(protection(adjacency="replace_one", unit="record").model_dump())
    assert "2,470 records" in replaced
    assert "had any one record held other text" in replaced


def test_a_number_of_clients_that_the_user_declared_is_not_said_as_a_count():
    declared = protection_sentence(protection(units=450, declared=600).model_dump())
    assert "each of 450 clients (of 600, as you declared: nobody counted them) with all of its text" in declared
    assert "450 clients (as you declared:" in protection_sentence(protection(units=450, declared=450).model_dump())
    assert "declared" not in protection_sentence(protection().model_dump())


def test_second_sentence_says_at_which_epsilon():
    assert "ε = 1.00 at δ = 10⁻⁵" in epsilon_sentence(protection().model_dump())


def test_what_an_attacker_gains_is_said_where_there_is_a_guarantee():
    gains = "Whoever guesses whether one client contributed is right at most 55.4% of the time."
    assert f"all releases together. {gains}" in epsilon_sentence(protection(attacker=gains).model_dump())
    for void in ({"simulated": True}, {"released": False}, {"unaccounted": ("a checkpoint",), "epsilon": float("inf")}):
        assert gains not in epsilon_sentence(protection(attacker=gains, **void).model_dump())


def test_simulation_and_unaccounted_reads_claim_no_protection():
    simulated = protection(simulated=True).model_dump()
    assert "gives no protection" in epsilon_sentence(simulated)
    assert "simulates protecting" in protection_sentence(simulated)
    read = protection(epsilon=float("inf"), unaccounted=("the checkpoint was chosen on private text",)).model_dump()
    assert epsilon_sentence(read) == "The run has no finite ε, because the checkpoint was chosen on private text."
    assert "was meant to protect" in protection_sentence(read)


def test_gain_over_both_controls_is_claimed():
    sentence = accuracy_sentence(accuracy())
    assert "rose from 9." in sentence
    assert "of the gap" in sentence
    assert "; that is better than as many public texts (" in sentence
    assert sentence.startswith("The on-device model's next-token accuracy rose")


@pytest.mark.parametrize(
    ("levels", "said", "unsaid"),
    [
        ({"synthetic": 0.13, "untuned_control": 0.13}, "not told apart from the untuned generator", "do better"),
        ({"synthetic": 0.095}, "did not measurably change", "rose"),
        ({"synthetic": 0.05}, "became worse", "rose"),
    ],
)
def test_no_claim_without_a_measured_gain(levels, said, unsaid):
    sentence = accuracy_sentence(accuracy(**levels))
    assert said in sentence
    assert unsaid not in sentence


@pytest.mark.parametrize("synthetic", [0.13, 0.09, 0.05])
def test_a_control_that_wins_is_said_first_whether_accuracy_changed_or_not(synthetic):
    wins = {"matched_control": 0.26, "public_control": 0.25}
    sentence = accuracy_sentence(accuracy(synthetic=synthetic, untuned_control=0.01, **wins))
    assert sentence.startswith("As many public texts (24.9%, no privacy cost) and public texts that match")
    first, _, then = sentence.partition(" do better than this run: ")
    assert "public texts that match the release (2" in first
    assert "from 9." in then


@pytest.mark.parametrize("synthetic", [0.22, 0.13, 0.11, 0.09, 0.05])
def test_every_control_has_a_verdict_in_all_cases(synthetic):
    sentence = accuracy_sentence(accuracy(synthetic=synthetic))
    for control in OF_TEXTS:
        assert control.phrase in sentence[:1].lower() + sentence[1:]


def test_missing_controls_are_said():
    for level in (0.13, 0.09):
        found = accuracy(synthetic=level)
        for control in OF_TEXTS:
            del found["conditions"][control.name]
        assert "no control was scored" in accuracy_sentence(found)


def test_gap_within_noise_is_not_called_a_share():
    assert "of the gap" not in accuracy_sentence(accuracy(private=0.09))


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (None, "all releases together."),
        (
            {"epsilon": 1.0, "budget": 1.0, "releases": 1, "public": False},
            " It is the only release on record of these clients' text: ε = 1.00 of a budget of 1.00.",
        ),
        (
            {"epsilon": 2.341, "budget": 4.0, "releases": 3, "public": False},
            " All 3 releases on record of these clients' text come to ε = 2.35 of a budget of 4.00.",
        ),
        (
            {"epsilon": "infinity", "budget": None, "releases": 2, "public": True},
            " come to no finite ε; the text is public, so releases are counted and not refused.",
        ),
        (
            {"epsilon": 8.0, "budget": "infinity", "releases": 1, "public": False},
            ": ε = 8.00; the text is private, and nothing limits what its releases cost.",
        ),
        (
            {"epsilon": 0.0, "budget": 8.0, "releases": 0, "public": False},
            " No release of these clients' text is on record.",
        ),
    ],
)
def test_second_sentence_says_what_all_releases_on_record_cost(total, said):
    assert epsilon_sentence(protection(total=total).model_dump()).endswith(said)


def test_a_run_that_released_nothing_claims_no_protection_and_a_read_without_a_mechanism_is_none_of_these():
    nothing = protection(released=False, epsilon=0.0).model_dump()
    assert protection_sentence(nothing) == (
        "What this run made was made without the text of the 2,470 clients: nothing was released of it."
    )
    assert epsilon_sentence(nothing) == "It costs them no privacy, ε = 0."
    assert heading("Synthetic text", {**CARD, "protection": nothing}) == "Synthetic text by Zero-shot beside a table"
    read = protection(released=False, epsilon=float("inf"), unaccounted=("a checkpoint was chosen",)).model_dump()
    assert "was meant to protect" in protection_sentence(read)
    assert heading("Synthetic text", {**CARD, "protection": read}) == "Synthetic text by Zero-shot from a table"


def test_a_measure_of_which_less_is_better_is_told_the_other_way_round() -> None:
    found = accuracy()
    lead = {"measures": ["cross_entropy"], "judged": "synthetic"}
    levels = {name: {"cross_entropy": 5.0 - i / 10} for i, name in enumerate(found["conditions"])}
    controls = {name: {"estimate": -0.1, "low": -0.2, "high": -0.05, "measurable": True} for name in levels}
    said = accuracy_sentence({**lead, "conditions": levels, "gains": {"synthetic": controls}, "gap_closed": {}})
    assert "cross-entropy of the next token fell from 5.000 nats to" in said
    assert "-0.100 nats, 95% interval -0.200 to -0.050" in said
    assert "that is better than as many public texts (4.900 nats, no privacy cost)" in said
    worse = {name: {"estimate": 0.1, "low": 0.05, "high": 0.2, "measurable": True} for name in levels}
    said = accuracy_sentence({**lead, "conditions": levels, "gains": {"synthetic": worse}, "gap_closed": {}})
    assert "do better than this run: the on-device model became worse: its cross-entropy of the next token rose" in said
