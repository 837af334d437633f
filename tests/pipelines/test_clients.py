"""The nodes of `clients`: who is enrolled, how many, and that a client's arrays are its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.corpora.clients import is_selected
from fedtext.corpora.splits import splits_of
from fedtext.evaluation.units import unit_of
from fedtext.federation.units import Population, unit_codes
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import (
    count_population,
    declare_population,
    embed_private_samples,
    enrol_units,
)
from tests.parameters import conf_base
from tests.pipelines.conftest import HashEncoder
from tests.refusals import refuses

IDS = [f"person {i:03d}" for i in range(200)]
SHARES = {"validation_share": 0.1, "test_share": 0.2}
PARTITION = conf_base(Partition, **SHARES, seed=3)
SPLITS = splits_of(IDS, **SHARES, seed=3)
TRAINED = [one for one, split in SPLITS.items() if split == "train"]
PRIVATE = conf_base(Corpus, source="table", path="notes.csv")


def privacy(**declared: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-6, **declared})


@pytest.fixture
def enrolment(tmp_path: Path) -> str:
    file = tmp_path / "ids.txt"
    file.write_text("\n".join(IDS))
    return str(file)


def held(ids: list[str]) -> pd.DataFrame:
    """Two samples a client."""
    return pd.DataFrame({"client_id": ids * 2, "text": [f"{one} {i}" for i in range(2) for one in ids], "label": None})


def test_a_declared_number_is_split_by_the_shares_and_a_bound_bounds_it() -> None:
    expected = Population(enrolled=1000, training=700, test=200, source="declared")
    assert declare_population(PRIVATE, privacy(population=1000), PARTITION) == expected
    bounded = PRIVATE.model_copy(update={"max_clients": 500})
    assert declare_population(bounded, privacy(population=1000), PARTITION).training == 350
    assert declare_population(bounded, privacy(population=100), PARTITION).enrolled == 100


def test_of_a_list_every_id_s_split_is_known(enrolment: str) -> None:
    found = declare_population(PRIVATE, privacy(enrolment=enrolment), PARTITION)
    tested = list(SPLITS.values()).count("test")
    assert found == Population(enrolled=200, training=len(TRAINED), test=tested, source="listed")
    bounded = PRIVATE.model_copy(update={"max_clients": 50})
    taken = [one for one in IDS if is_selected(one, 50, 200)]
    assert declare_population(bounded, privacy(enrolment=enrolment), PARTITION).enrolled == len(taken)


def test_a_list_that_leaves_a_split_empty_is_refused_by_the_list_alone(tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("a\nb\n")
    with refuses("split-too-small"):
        declare_population(PRIVATE, privacy(enrolment=str(tmp_path / "few.txt")), PARTITION)


def test_a_list_and_a_table_whose_ids_look_alike_are_refused_unless_somebody_says_what_they_are(enrolment: str) -> None:
    records, listed = held(["Person 001"]), privacy(enrolment=enrolment)
    with refuses("client-ids-look-alike"):
        enrol_units(records, records, PRIVATE, listed, PARTITION)
    apart = PRIVATE.model_copy(update={"client_ids": "exact"})
    assert len(enrol_units(records, records, apart, listed, PARTITION)["unit"]) == len(TRAINED)


def test_a_label_that_was_stored_and_is_not_there_has_no_code(tmp_path: Path) -> None:
    samples = held(IDS[:3]).assign(label=["tea", None, "rum"] * 2)
    samples.to_parquet(tmp_path / "a.parquet")
    stored = pd.read_parquet(tmp_path / "a.parquet")
    codes = [embed_private_samples(table, HashEncoder())["label"].tolist() for table in (samples, stored)]  # type: ignore[arg-type]
    assert codes[0] == codes[1]
    assert codes[0][1] == -1


def test_a_draw_of_fixed_size_needs_a_list(enrolment: str) -> None:
    drawn = {"sampling": "fixed_size", "clients_per_round": 10}
    with refuses("draw-without-enrolment", parameter="privacy.enrolment"):
        declare_population(PRIVATE, privacy(population=1000, **drawn), PARTITION)
    assert declare_population(PRIVATE, privacy(enrolment=enrolment, **drawn), PARTITION).source == "listed"


def test_without_a_declaration_nothing_is_counted() -> None:
    with refuses("population-not-set", parameter="privacy.population"):
        declare_population(PRIVATE, privacy(), PARTITION)


def test_of_a_public_corpus_clients_without_samples_count_too() -> None:
    clients, samples = held(IDS), held(IDS[:150])
    tested = list(SPLITS.values()).count("test")
    counted = count_population(clients, samples, privacy(), PARTITION)
    assert counted == Population(enrolled=200, training=len(TRAINED), test=tested, source="counted")
    records = count_population(clients, samples, privacy(unit="record"), PARTITION)
    assert (records.enrolled, records.training) == (300, 2 * len([one for one in TRAINED if one in IDS[:150]]))


def enrolled(samples: pd.DataFrame, clients: pd.DataFrame, corpus: Corpus = PRIVATE, **declared: Any) -> set[int]:
    return set(enrol_units(clients, samples, corpus, privacy(**declared), PARTITION)["unit"].tolist())


def test_who_may_be_asked_is_listed_or_holds_text(enrolment: str) -> None:
    some = held(IDS[:150])
    trained = some[some["client_id"].isin(TRAINED)]
    everybody = set(unit_codes(TRAINED).tolist())
    assert enrolled(trained, some, enrolment=enrolment) == everybody, "silent ones among them"
    known = set(unit_codes([one for one in TRAINED if one in IDS[:150]]).tolist())
    assert enrolled(trained, some, population=300) == known
    bounded = PRIVATE.model_copy(update={"max_clients": 50})
    taken = unit_codes([one for one in TRAINED if is_selected(one, 50, 200)])
    assert enrolled(trained, some, bounded, enrolment=enrolment) == set(taken.tolist())
    assert enrolled(trained, some, population=300, unit="record") == set(unit_of(trained, "record").tolist())


@pytest.mark.parametrize("unit", ["client", "record"])
def test_more_units_than_were_declared_are_refused_before_round_1_without_telling_how_many(unit: str) -> None:
    trained = held(TRAINED)
    number = len(TRAINED) if unit == "client" else len(trained)
    assert len(enrolled(trained, held(IDS), population=number, unit=unit)) == number
    with refuses("population-too-small", parameter="privacy.population", value=number - 1) as refusal:
        enrolled(trained, held(IDS), population=number - 1, unit=unit)
    assert str(number) not in str(refusal.value)


def test_a_client_s_codes_and_embeddings_are_its_own() -> None:
    """One who goes changes no other's arrays, whatever the place."""
    whole = embed_private_samples(held(IDS[:9]), HashEncoder())
    assert set(whole) == {"features", "client", "record", "label"}
    assert len(set(whole["record"].tolist())) == 18
    kept = ~pd.Series(IDS[:9] * 2).isin([IDS[4]]).to_numpy()
    fewer = embed_private_samples(held([one for one in IDS[:9] if one != IDS[4]]), HashEncoder())
    assert all(np.array_equal(whole[name][kept], fewer[name]) for name in whole)
    assert whole["client"].tolist() == unit_codes(IDS[:9] * 2).tolist()


def test_numbers_that_are_no_population_are_refused() -> None:
    with refuses("unfit-value", parameter="training"):
        Population(enrolled=3, training=0, test=0, source="counted")
    assert Population.declared(1, validation_share=0.4, test_share=0.4).training == 1
