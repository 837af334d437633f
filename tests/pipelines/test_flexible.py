"""Flexible participation's whole graph on arrays: every form, both units, declared silos, and who pays for what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from audits.corpus import small_models
from fedtext.algorithms.flexible import plan as budget
from fedtext.corpora.records import SILO_COLUMN
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.silos import STRONG, of_kind, parties_of, silo_name
from fedtext.federation.units import Block, unit_codes
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.reading import watched
from fedtext.params.silos import Silos
from fedtext.pipelines.flexible import nodes
from fedtext.pipelines.partition.nodes import assign_splittable_clients, split_samples
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base
from tests.pipelines.conftest import Talker, configure, run_in_memory
from tests.refusals import refuses

Run = Callable[..., dict[str, Any]]
WEIGHTS = 5
CLIENTS = conf_base(Privacy, unit="client")
PRIVACY = {"epsilon": 30.0, "delta": 1e-3, "noise_seed": 1, "noise_multiplier": 1.5}


class Trainable(Talker):
    """Writes a word of its own every time, never an empty one."""

    def load(self) -> tuple[None, None]:
        return None, None

    def with_adapter(self, adapter: str) -> Trainable:
        return Trainable(adapter)

    def write(self, requests: list[str], *, responses: int, seed: int, **_: Any) -> list[list[str]]:
        drawn = np.random.default_rng(seed).integers(0, 10**9, (len(requests), responses))
        return [[f"{request.split()[0]} {d}" for d in row] for request, row in zip(requests, drawn, strict=True)]


def rows(tokenizer: None, codes: Sequence[str], texts: Sequence[str], **_: Any) -> tuple[np.ndarray, np.ndarray]:
    each = [[len(code), len(text), 1, 2, 3] for code, text in zip(codes, texts, strict=True)]
    return np.array(each, dtype=np.int32), np.arange(len(each))


def pull(gradients: object, weights: np.ndarray, held: PrivateSamples) -> Iterator[Block]:
    """One row a unit: half the way to what it holds."""
    units = np.unique(held.unit)
    found = [weights - held.features[held.unit == unit].mean(axis=0) for unit in units]
    yield Block(units, np.array(found).reshape(len(units), WEIGHTS))


@pytest.fixture
def run_flexible(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs flexible participation in memory with make-believe training; everything made, by data set name."""
    from fedtext.algorithms.flexible import training
    from fedtext.generation import few_shot

    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))
    monkeypatch.setattr(nodes, "trainable_model", lambda *_, **__: None)
    monkeypatch.setattr(nodes, "adapter_weights", lambda model: np.zeros(WEIGHTS, dtype=np.float32))
    monkeypatch.setattr(nodes, "trainable_model", lambda *_, **__: None)
    monkeypatch.setattr(nodes, "trained_of_weights", lambda *given, **_: f"adapter {np.abs(given[2]).sum() > 0}")
    monkeypatch.setattr(training, "row_width", lambda *_: WEIGHTS)
    monkeypatch.setattr(training, "token_rows", rows)
    monkeypatch.setattr(nodes, "UnitGradients", lambda *_: None)
    monkeypatch.setattr(training, "unit_gradients", pull)

    def run(
        privacy: dict[str, Any] | None = None, silos: dict[str, Any] | None = None, **changes: Any
    ) -> dict[str, Any]:
        training = {"rounds": 2, "local_steps": 2, "batch_size": 3}
        chosen = {"labels": ("tea", "rum"), "training": training, "texts": 40, "profile_stddev": 2.0, **changes}
        held = {"groups": 3, "strong": 0.34, **(silos or {})}
        configure(flexible=chosen, silos=held)
        given = {
            "params:flexible": conf_base(Flexible, chosen),
            "params:silos": conf_base(Silos, held),
            "generator": Trainable(),
        }
        return run_in_memory("flexible", {**PRIVACY, **(privacy or {})}, given)

    return run


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("privacy", "silos", "changes", "paid"),
    [
        ({}, {}, {}, "dp_sgd profile votes"),
        ({"unit": "record"}, {}, {}, "dp_sgd profile votes"),
        ({"aggregation": "local", "adjacency": "replace_one"}, {}, {}, "dp_sgd profile votes"),
        ({}, {}, {"selection": "herd"}, "dp_sgd profile means"),
        ({}, {}, {"selection": "uniform"}, "dp_sgd profile"),
        ({}, {}, {"selection": "none"}, "dp_sgd profile"),
        ({}, {"strong": 0.0}, {}, "profile votes"),
        ({}, {"strong": 1.0}, {}, "dp_sgd dp_sgd dp_sgd profile"),
        ({}, {"groups": 1, "strong": 1.0}, {"selection": "none"}, "dp_sgd profile"),
        ({}, {}, {"labels": (), "votes_per_record": 64}, "dp_sgd profile votes"),
        ({}, {}, {"labels": ("tea", "nothing")}, "dp_sgd profile votes"),
    ],
    ids=[
        "clients", "records", "local", "herd", "uniform", "strong only", "untuned with votes", "all strong", "central",
        "one code, more votes than texts", "a code that nobody has",
    ],
)  # fmt: skip
def test_every_form_ends_in_a_data_set_and_a_bill(
    run_flexible: Run, privacy: dict[str, Any], silos: dict[str, Any], changes: dict[str, Any], paid: str
) -> None:
    made = run_flexible(privacy, silos, **changes)
    synthetic, report = made["flexible_synthetic"], made["flexible_privacy_report"]
    assert len(synthetic) == len(made["flexible_synthetic_embeddings"]) == 10
    assert list(synthetic.columns) == ["text", "prompt_id", "round", "label"]
    assert synthetic["text"].is_unique
    assert len(made["flexible.vote.candidates"]) == (10 if changes.get("selection") == "none" else 40)
    assert [release["name"].removeprefix("flexible.") for release in report["releases"]] == paid.split()
    assert report["unit"] == privacy.get("unit", "client")
    assert report["population"] == sum(made["flexible.population"].values()) == (60 if privacy.get("unit") else 30)
    assert 0 < report["epsilon"] <= 30
    assert made["flexible.tuned.adapter"] == f"adapter {'dp_sgd' in paid}"


@pytest.mark.parametrize("selection", ["votes", "herd", "uniform"])
def test_without_noise_nobody_is_protected_and_the_report_says_so(run_flexible: Run, selection: str) -> None:
    made = run_flexible(noise=False, selection=selection)
    report = made["flexible_privacy_report"]
    assert report["epsilon"] == "infinity"
    assert report["releases"] == []
    read = {"votes": ["flexible.votes"], "herd": ["flexible.means"], "uniform": []}[selection]
    assert [entry["name"] for entry in report["unaccounted"]] == ["flexible.dp_sgd", "flexible.profile", *read]
    assert made["flexible_profile"].sum() == pytest.approx(60)


@pytest.mark.slow
def test_choices_of_as_many_texts_write_the_same_and_what_writes_does_not_ask_which(run_flexible: Run) -> None:
    made = {selection: run_flexible(selection=selection) for selection in ("votes", "herd", "uniform", "none")}
    counts = {selection: one["flexible.vote.text_counts"].tolist() for selection, one in made.items()}
    assert counts["votes"] == counts["herd"] == counts["uniform"] != counts["none"]
    read: set[str] = set()
    with watched(read):
        flexible = conf_base(Flexible, labels=("tea", "rum"))
        nodes.write_by_profile(Trainable(), Path(), np.ones(1), np.array([2, 1]), flexible, conf_base(Chunking))  # type: ignore[arg-type]
    assert "Flexible.sampler" in read
    assert not read & {"Flexible.selection", "Flexible.kept", "Flexible.texts", "Flexible.*"}


def test_texts_follow_the_profile_and_picks_follow_the_texts(run_flexible: Run) -> None:
    made = run_flexible(noise=False, labels=("tea", "rum", "nothing"))
    assert made["flexible_profile"].tolist() == [30, 30, 0]
    assert made["flexible.vote.candidates"]["label"].value_counts().to_dict() == {"tea": 20, "rum": 20}
    assert made["flexible_synthetic"]["label"].value_counts().to_dict() == {"tea": 5, "rum": 5}


def test_a_silo_s_budget_that_does_not_do_ends_the_run_before_anything_is_read(run_flexible: Run) -> None:
    with refuses("budget-exceeded"):
        run_flexible(silos={"budgets": {"silo-2": 0.1}})


def test_a_client_s_silo_is_its_column_s_else_a_group_else_itself() -> None:
    records = pd.DataFrame({"client_id": ["a", "b", "a"], "text": list("xyz"), SILO_COLUMN: ["north", "south", "east"]})
    groups = conf_base(Silos, groups=4)
    assert nodes.assign_silos(records, groups, CLIENTS).to_numpy().tolist() == [["a", "east"], ["b", "south"]]
    turned = nodes.assign_silos(records[::-1], groups, CLIENTS)
    assert dict(turned.to_numpy().tolist()) == {"a": "east", "b": "south"}, "in whatever order its rows come"
    plain = records.drop(columns=SILO_COLUMN)
    assert nodes.assign_silos(plain, groups, CLIENTS)["silo"].tolist() == [silo_name("a", 4), silo_name("b", 4)]
    assert nodes.assign_silos(plain, conf_base(Silos, groups=None), CLIENTS)["silo"].tolist() == ["a", "b"]


def test_a_record_is_never_charged_to_the_silo_of_its_client_s_first() -> None:
    records = pd.DataFrame({"client_id": ["a", "b", "a"], "text": list("xyz"), SILO_COLUMN: ["north", "south", "east"]})
    groups, of_records = conf_base(Silos, groups=4), conf_base(Privacy, unit="record")
    with refuses("records-of-client-in-silos"):
        nodes.assign_silos(records, groups, of_records)
    apart = records.assign(client_id=["a", "b", "a east"])
    assert nodes.assign_silos(apart, groups, of_records)["silo"].tolist() == ["north", "south", "east"]
    assert len(nodes.assign_silos(records, conf_base(Silos, groups=1), of_records)) == 2
    twice = records.assign(**{SILO_COLUMN: ["north", "south", "north"]})
    assert len(nodes.assign_silos(twice, groups, of_records)) == 2


def test_one_silo_of_all_is_one_whatever_a_column_says() -> None:
    records = pd.DataFrame({"client_id": ["a", "b"], "text": list("xy"), SILO_COLUMN: ["north", "south"]})
    assert nodes.assign_silos(records, conf_base(Silos, groups=1), CLIENTS)["silo"].tolist() == ["silo-0", "silo-0"]


@pytest.mark.parametrize(("split", "clients"), [("record", 10), ("hash", 80)])
def test_made_up_clients_as_silos_all_train_where_records_are_split_and_not_clients(split: str, clients: int) -> None:
    """The design note's miniature: ten silos, two of them strong. By a hash of the client whole silos are held out."""
    dealt = conf_base(Partition, method="iid", clients=clients, split=split, seed=0)
    records = pd.DataFrame({"client_id": "x", "text": [f"text {k}" for k in range(1000)], "label": "tea"})
    privacy, chosen = conf_base(Privacy, unit="record"), conf_base(Silos, groups=None, strong=0.2)
    corpus = conf_base(Corpus, declared_public=True)
    held = assign_splittable_clients(records, dealt, corpus, chosen, privacy)
    train, *_ = split_samples(held, held, dealt)
    units = nodes.count_silos(nodes.assign_silos(held, chosen, privacy), train, privacy, chosen)
    assert len(units) == clients
    if split == "record":
        parties = parties_of(units, chosen, 1.0)
        assert [party.name for party in of_kind(parties, STRONG)] == ["client-0", "client-1"]
        assert min(party.population for party in parties) > 60
    else:
        empty = [name for name, number in units.items() if not number]
        with refuses("strong-silo-without-units"):
            parties_of(units, chosen.model_copy(update={"strong": tuple(empty)}), 1.0)


def test_another_deal_to_silos_of_the_same_names_is_another_partition() -> None:
    def partition(seed: int, strong: float = 0.5) -> str:
        dealt = conf_base(Partition, method="iid", clients=4, seed=seed)
        chosen, units = conf_base(Silos, strong=strong, groups=None), dict.fromkeys("abcd", 40)
        flexible = conf_base(Flexible, labels=("tea",), training={"rounds": 1, "local_steps": 1, "batch_size": 3})
        encoder: Any = SimpleNamespace(dim=8)
        privacy, start = conf_base(Privacy, PRIVACY), np.zeros(WEIGHTS)
        opened = nodes.open_flexible_ledger(units, start, encoder, flexible, chosen, privacy, conf_base(Corpus), dealt)
        return opened.partition

    assert partition(0) == partition(0, strong=0.25) != partition(1)


def test_runs_that_choose_in_different_ways_begin_with_one_ledger_that_no_choice_can_be_charged_to() -> None:
    encoder: Any = SimpleNamespace(dim=8)
    units, start, privacy = dict.fromkeys("abcd", 40), np.zeros(WEIGHTS), conf_base(Privacy, PRIVACY)
    chosen, dealt = conf_base(Silos, strong=0.5, groups=None), conf_base(Partition, method="iid", clients=4)

    def opened(selection: str) -> Ledger:
        training = {"rounds": 1, "local_steps": 1, "batch_size": 3}
        flexible = conf_base(Flexible, labels=("tea",), training=training, selection=selection)
        given = (units, start, encoder, flexible, chosen, privacy, conf_base(Corpus), dealt)
        return nodes.open_flexible_ledger(*given)

    ledgers = {selection: opened(selection) for selection in ("votes", "herd", "uniform", "none")}
    begun, plans = zip(*map(nodes.begin_ledger, ledgers.values()), strict=True)
    assert all(one == begun[0] for one in begun)
    for ledger, plan in zip(ledgers.values(), plans, strict=True):
        assert nodes.go_on_with_ledger(begun[0], plan) == ledger
    assert ledgers["votes"].planned is not None
    votes = ledgers["votes"].planned[-1]
    assert nodes.go_on_with_ledger(begun[0], plans[0]).charge(votes).releases == (votes,)
    with refuses("release-not-planned"):
        begun[0].charge(votes)


def test_silos_are_counted_on_a_public_corpus_and_declared_on_any_other() -> None:
    silos = pd.DataFrame({"client_id": ["a", "b", "c"], "silo": ["north", "south", "east"]})
    train = pd.DataFrame({"client_id": ["a", "a", "b"], "text": list("xyz")})
    counted = {
        unit: nodes.count_silos(silos, train, conf_base(Privacy, unit=unit), conf_base(Silos))
        for unit in ("client", "record")
    }
    assert counted == {"client": {"east": 0, "north": 1, "south": 1}, "record": {"east": 0, "north": 2, "south": 1}}
    declared = conf_base(Silos, units={"north": 20, "south": 30})
    assert nodes.declare_silos(declared) == {"north": 20, "south": 30}
    assert nodes.count_silos(silos, train, conf_base(Privacy), declared) == {"north": 20, "south": 30}
    with refuses("units-not-declared"):
        nodes.declare_silos(conf_base(Silos))


@pytest.mark.parametrize("lora", [True, False], ids=["adapter", "all weights"])
def test_strong_silos_train_an_adapter_or_all_weights(tmp_path: Path, lora: bool) -> None:
    """With a real model, from texts to what the generator reads: what is trained moves, and nothing else."""
    generator: Any = small_models(tmp_path / "models")["generator"]
    training = {"rounds": 1, "local_steps": 2, "batch_size": 3, "units_at_once": 4}
    chosen = conf_base(Flexible, labels=("tea", "rum"), training=training, **({} if lora else {"lora": None}))
    clients = [f"client {k:02d}" for k in range(12)]
    texts = [f"the ferry sailed with {k} crates" for k in range(12)]
    train = pd.DataFrame({"client_id": clients, "text": texts, "label": ["tea", "rum"] * 6})
    silos = pd.DataFrame({"client_id": clients, "silo": ["north"] * 6 + ["south"] * 6})
    parties = parties_of({"north": 6, "south": 6}, conf_base(Silos, strong="north"), PRIVACY["epsilon"])

    start = nodes.start_weights(generator, chosen)
    ledger = budget.planned_ledger(parties, chosen, conf_base(Privacy, PRIVACY), dim=start.size, embedding_dim=8)
    rows = nodes.tokenise_behind_codes(train, generator, chosen, conf_base(Chunking, length=16))
    enrolled, key = {"unit": np.sort(unit_codes(clients))}, new_noise_key(1)
    weights, paid = nodes.train_strong_silos(rows, enrolled, silos, key, ledger, generator, start, chosen)
    assert [release.parties for release in paid.releases] == [("north",)]
    again, _ = nodes.train_strong_silos(rows, enrolled, silos, key, ledger, generator, start, chosen)
    assert again.tobytes() == weights.tobytes()

    nodes.write_adapter(generator, start, weights, chosen).save_pretrained(str(tmp_path / "tuned"))
    read = dict(generator.with_adapter(tmp_path / "tuned").load()[0].named_parameters())
    moved = {name for name, weight in generator.load()[0].named_parameters() if not weight.equal(read[name])}
    assert moved == {name for name in read if ".self_attn." in name or not lora}
