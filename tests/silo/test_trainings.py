"""Strong silos train by their own handlers: the weights of one process, paid for by their own ledgers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.flexible import plan
from fedtext.algorithms.flexible.at_silos import CodedTraining, weights_of_silos
from fedtext.federation.inquiry import AskedQuery, Inquiry, Refusal, Reply, Trained, packed_reply, read_reply
from fedtext.federation.noisy_steps import release_noisy_steps
from fedtext.federation.query import Query
from fedtext.federation.silos import parties_of
from fedtext.federation.silos_asked import Silos
from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos as Roles
from fedtext.privacy.history import release_history
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import derived_seed
from fedtext.silo.audit_log import entries
from fedtext.silo.handler import BUDGET, MessageHandler, ledger_of, own_key
from fedtext.silo.rehearsal import UNANSWERABLE
from fedtext.silo.trainings import KEPT
from fedtext.training.lora import adapter_weights, trainable_model
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import CODES, DIM, NAMES, InProcess, silo, table

GENERATOR = "bundled:generator"
SMALL = {"rounds": 2, "local_steps": 2, "batch_size": 4, "units_at_once": 2, "optimizer": {"method": "sgd", "learning_rate": 0.1}}  # fmt: skip
CHOSEN = conf_base(Flexible, labels=CODES, training=SMALL, lora={"rank": 1}, texts=12)
STRONG = ("north", "west")


@cache
def start() -> np.ndarray:
    seed = derived_seed(CHOSEN.seed, "adapter")
    return adapter_weights(trainable_model(LocalGenerator(GENERATOR), CHOSEN.lora, seed=seed))


def handler(name: str, place: Path, **changes: Any) -> MessageHandler:
    models = {"generator": GENERATOR if name in STRONG else None}
    return MessageHandler(silo(name, **{"models": models, **changes}), place)


def handlers(place: Path) -> InProcess:
    return InProcess(*(handler(name, place) for name in NAMES))


def opened() -> Ledger:
    declared = conf_base(Privacy, epsilon=4.0, delta=1e-5, aggregation="local")
    roles = conf_base(Roles, groups=None, strong=STRONG)
    parties = parties_of(dict.fromkeys(NAMES, 10), roles, 4.0)
    return plan.planned_ledger(parties, CHOSEN, declared, dim=start().size, embedding_dim=DIM)


def queries(ledger: Ledger) -> list[Query]:
    return plan.dp_sgd_queries(CHOSEN, ledger.declaration, ledger.parties, dim=start().size)


def trained(transport: InProcess) -> tuple[np.ndarray, Ledger]:
    ledger = opened()
    return weights_of_silos(Silos(transport), queries(ledger), start(), GENERATOR, CHOSEN, ledger)


def question(common: np.ndarray, left: int) -> CodedTraining:
    return CodedTraining(generator=GENERATOR, rounds=left, flexible=CHOSEN, common=common)


def inquiry(query: Query, common: np.ndarray, number: int = 1) -> Inquiry:
    steps = CHOSEN.training.local_steps
    return Inquiry(AskedQuery.of(replace(query, round=number, steps=steps)), question(common, 3 - number))


def alone(place: Path, name: str, query: Query, common: np.ndarray, number: int) -> np.ndarray:
    """What the silo's steps come to, without a handler: its own key, ledger, text and steps."""
    sent = inquiry(query, common, number)
    asked = sent.query.of_silo(name).about(hashlib.sha256(sent.packed()).hexdigest())
    held, model = handler(name, place).local_data(), LocalGenerator(GENERATOR)
    samples = held.rows_of(lambda texts, labels: question(common, 1).rows(model, texts, labels, 64))
    weights, _ = release_noisy_steps(
        asked, lambda ask: question(common, 1).weights(model, ask), samples,
        ledger_of(silo(name)), own_key(place / f"{name}-own"),
    )  # fmt: skip
    return weights


def outcomes(place: Path, name: str) -> list[str]:
    return [one.outcome for one in entries(place / f"{name}-own")]


def test_the_weights_are_those_of_one_process_and_each_silo_pays_for_its_own_rounds(place: Path) -> None:
    weights, charged = trained(handlers(place))
    common, asked = start(), {(query.parties or ("",))[0]: query for query in queries(opened())}
    for number in (1, 2):
        moved = sum(
            alone(place, name, asked[name], common, number).astype(np.float64) - common for name in sorted(STRONG)
        )
        common = (common + CHOSEN.training.server_rate * np.asarray(moved) / 2).astype(np.float32)
    assert weights.tobytes() == common.tobytes()
    assert not np.array_equal(weights, start())
    assert [(one.name, one.parties, one.steps) for one in charged.releases] == [
        ("flexible.dp_sgd", (name,), 4) for name in sorted(STRONG)
    ]
    for name in STRONG:
        made = [one.release for one in release_history(place / f"{name}-own") if one.release]
        assert [(one.name, one.round, one.steps, one.sampling, one.rate) for one in made] == [
            ("flexible.dp_sgd", number, 2, "poisson", 0.4) for number in (1, 2)
        ]
        spent = handler(name, place).spent()
        assert spent == pytest.approx(charged.model_copy(update={"releases": charged.releases[:1]}).spent(), rel=1e-3)
    assert not release_history(place / "south-own")
    assert set(outcomes(place, "south")) == {"refused"}


def test_the_same_rounds_again_are_sent_from_disk_and_cost_nothing(place: Path) -> None:
    (first, _), before = trained(handlers(place)), handler("north", place).spent()
    for file in place.glob("*.csv"):
        file.unlink()  # what was trained needs no text
    again, _ = trained(handlers(place))
    assert first.tobytes() == again.tobytes()
    assert handler("north", place).spent() == before
    assert outcomes(place, "north") == ["answered", "refused", "answered", "refused", "repeated", "refused", "repeated", "refused"]  # fmt: skip
    assert len(list((place / "north-own" / KEPT).iterdir())) == 2


def asked(one: MessageHandler, sent: Inquiry) -> Reply:
    return read_reply(one.reply(sent.packed()))


def test_removing_a_record_of_one_silo_moves_its_own_weights_alone(place: Path) -> None:
    by_name = {(query.parties or ("",))[0]: replace(query, batch=10) for query in queries(opened())}  # all are drawn
    found = []
    for removed in (False, True):
        if removed:
            rows = table("north")
            rows.drop(index=rows.index[rows["label"].isin(CODES)][0]).to_csv(place / "north.csv", index=False)
        for name in STRONG:
            (place / f"{name}-own" / KEPT).mkdir(exist_ok=True)
            for file in (place / f"{name}-own" / KEPT).iterdir():
                file.unlink()
        rich = [handler(name, place, protection={"epsilon": 40.0}) for name in STRONG]
        replies = [asked(one, inquiry(by_name[one.silo.name], start())) for one in rich]
        found.append([one.weights.tobytes() for one in replies if isinstance(one, Trained)])
    assert [one == other for one, other in zip(*found, strict=True)] == [False, True]


@pytest.mark.parametrize(("own", "why"), [(None, "trains no generator"), ("smollm2", "trains smollm2")])
def test_a_silo_trains_only_what_its_person_lets_it(place: Path, own: str | None, why: str) -> None:
    one = handler("north", place, models={"generator": own})
    refused = asked(one, inquiry(queries(opened())[0], start()))
    assert isinstance(refused, Refusal)
    assert (refused.code, why in refused.sentence) == ("silo-does-not-train", True)
    assert not release_history(one.folder)


def test_a_budget_that_pays_for_one_round_of_two_pays_for_none(place: Path) -> None:
    query = queries(opened())[0]
    whole = handler("north", place, protection={"epsilon": 3.5})
    refused = asked(whole, inquiry(query, start()))
    assert isinstance(refused, Refusal)
    assert refused.code == BUDGET
    assert not release_history(whole.folder)
    assert isinstance(asked(whole, inquiry(query, start(), number=2)), Trained), "the last round alone is paid for"


def test_a_sum_that_comes_as_a_training_and_the_reverse_are_refused(place: Path) -> None:
    sent = inquiry(queries(opened())[0], start())
    plain = sent.query.model_copy(update={"own": False, "batch": None, "steps": 1})
    refused = asked(handler("north", place), replace(sent, query=plain))
    assert isinstance(refused, Refusal)
    assert refused.code == "training-of-another-kind"


@pytest.mark.parametrize("label", ["a", "of nobody"])
@pytest.mark.parametrize(("numbers", "steps"), [(1, 2), (None, 1)])
def test_a_training_that_fails_does_not_tell_who_is_there(
    place: Path, label: str, numbers: int | None, steps: int
) -> None:
    """Noise of one number fits weights of any width: it failed where a text had the code, and else was answered."""
    sent, chosen = inquiry(queries(opened())[0], start()), CHOSEN.model_copy(update={"labels": (label,)})
    free = {"noise_multiplier": 1e5, "batch": 10, "dim": numbers or start().size, "steps": steps}
    training = question(start(), 1).model_copy(update={"flexible": chosen})
    one = handler("north", place)
    refused = asked(one, Inquiry(sent.query.model_copy(update=free), training))
    assert isinstance(refused, Refusal)
    assert refused.code == UNANSWERABLE
    assert not release_history(one.folder)


LIES: dict[str, Any] = {
    "short": lambda weights: weights[1:],
    "double": lambda weights: weights.astype(np.float64),
    "nan": lambda weights: np.full_like(weights, np.nan),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_cannot_be_weights_ends_the_training_by_name(lie: str) -> None:
    class Lying:
        def ask(self, message: bytes, wanted: int) -> Sequence[bytes]:
            return [packed_reply(Trained("north", LIES[lie](start())))]

    ledger = opened()
    with refuses("silo-sent-garbage", value="north"):
        weights_of_silos(Silos(Lying()), queries(ledger), start(), GENERATOR, CHOSEN, ledger)
