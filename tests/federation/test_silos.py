"""Roles, parties and deals of silos: public, whatever the order, and refused where they mean nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.partition import partition
from fedtext.federation.silos import STRONG, WEAK, biased, of_kind, parties_of, silo_name, silo_partition, strong_names
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.silos import Silos
from tests.parameters import conf_base
from tests.refusals import refuses

NAMES = [f"silo-{k}" for k in range(6)]
STARS = [f"{kind}\t{star}" for kind in ("bars", "shops") for star in range(1, 6)]


def silos(**changes: Any) -> Silos:
    return conf_base(Silos, changes)


def test_a_share_takes_the_first_by_name_in_any_order_and_one_at_least() -> None:
    assert strong_names(NAMES[::-1], silos(strong=0.34)) == {"silo-0", "silo-1"}
    assert strong_names(NAMES, silos(strong=0.01)) == {"silo-0"}
    assert strong_names(NAMES, silos(strong=0)) == set()
    assert strong_names(NAMES, silos(strong=1)) == set(NAMES)


def test_names_are_taken_as_the_command_line_has_them() -> None:
    assert strong_names(NAMES, silos(strong="silo-5 silo-2")) == {"silo-5", "silo-2"}
    with refuses("unknown-silo", parameter="silos.strong", value="silo-9"):
        strong_names(NAMES, silos(strong="silo-9"))


def test_parties_have_their_role_and_budget_and_a_silo_without_units_is_none() -> None:
    held = parties_of({"b": 5, "a": 0, "c": 7}, silos(strong="b", budgets={"c": 0.5}), 2.0)
    assert [(p.name, p.kind, p.population, p.epsilon) for p in held] == [("b", STRONG, 5, 2.0), ("c", WEAK, 7, 0.5)]
    assert [party.name for party in of_kind(held, WEAK)] == ["c"]
    with refuses("unknown-silo", parameter="silos.budgets", value="d"):
        parties_of({"b": 5}, silos(budgets={"d": 0.5}), 2.0)
    with refuses("no-silo-trains"):
        parties_of({"b": 0}, silos(), 2.0)


@pytest.mark.parametrize("strong", [0.34, "a"], ids=["a share", "a name"])
def test_a_strong_silo_that_was_held_out_whole_is_refused_and_not_left_out(strong: float | str) -> None:
    with refuses("strong-silo-without-units", parameter="silos.strong"):
        parties_of({"b": 5, "a": 0, "c": 7}, silos(strong=strong), 2.0)


def test_a_made_up_silo_depends_on_the_client_alone_and_all_are_used() -> None:
    names = [silo_name(f"client {k}", 12) for k in range(600)]
    assert sorted(set(names)) == [f"silo-{k:02d}" for k in range(12)]
    assert names[7] == silo_name("client 7", 12)
    assert silo_name("client 7", None) == "client 7"


@settings(max_examples=40)
@given(
    records=st.integers(40, 300),
    clients=st.integers(2, 10),
    strong=st.integers(1, 9),
    codes=st.sets(st.sampled_from("12345"), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_strong_silos_hold_the_chosen_codes_alone_and_weak_ones_all_the_rest(
    records: int, clients: int, strong: int, codes: set[str], seed: int
) -> None:
    strong = min(strong, clients - 1)
    labels = [STARS[k % len(STARS)] for k in range(records)]
    index = biased(labels, clients, strong=strong, codes=codes, seed=seed)
    sizes = np.bincount(index, minlength=clients)
    assert sizes.sum() == records
    assert sizes.min() >= 1
    assert {label.split("\t")[1] for label, silo in zip(labels, index, strict=True) if silo < strong} <= codes
    assert sizes[:strong].max() - sizes[:strong].min() <= 1
    assert sizes[strong:].max() - sizes[strong:].min() <= 1
    assert sizes[:strong].max() <= records // clients


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"strong": 0}, "silos-of-one-kind"),
        ({"strong": 1}, "silos-of-one-kind"),
        ({"strong": "client-0"}, "strong-silos-not-set"),
        ({"groups": 3}, "strong-silos-not-set"),
        ({"strong_codes": "nowhere"}, "codes-do-not-fit-silos"),
    ],
)
def test_a_biased_deal_that_means_nothing_is_refused(changes: dict[str, Any], code: str) -> None:
    params = conf_base(Partition, method="biased", clients=4)
    chosen = silos(**{"groups": None, "strong": 0.5, "strong_codes": "bars", **changes})
    with refuses(code):
        partition(["x"] * 40, [STARS[k % 10] for k in range(40)], params, chosen)


def deal(silo: dict[str, Any] | None = None, corpus: dict[str, Any] | None = None, **changes: Any) -> str:
    return silo_partition(conf_base(Corpus, corpus), conf_base(Partition, changes), silos(**(silo or {})))


MADE_UP = {"method": "iid", "clients": 10}
BIASED = {"method": "biased", "clients": 10}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({**MADE_UP, "seed": 0}, {**MADE_UP, "seed": 1}),
        (MADE_UP, {**MADE_UP, "method": "label_skew"}),
        ({**MADE_UP, "corpus": {"max_clients": 9}}, MADE_UP),
        ({"silo": {"groups": 6}}, {"silo": {"groups": 7}}),
        ({"corpus": {"silo_column": "ward"}}, {}),
        *(
            ({"corpus": {column: "other"}}, {})
            for column in ("client_column", "text_column", "label_column", "date_column")
        ),
        ({"corpus": {"source": "table", "path": "one.csv"}}, {"corpus": {"source": "table", "path": "other.csv"}}),
        ({**BIASED, "silo": {"strong": 0.1}}, {**BIASED, "silo": {"strong": 0.2}}),
        ({**BIASED, "silo": {"strong_codes": "1"}}, {**BIASED, "silo": {"strong_codes": "1 3"}}),
    ],
)
def test_deals_that_put_a_record_elsewhere_are_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert deal(**one) == deal(**one) != deal(**other)


def test_roles_and_splits_deal_nothing_out() -> None:
    """Strong and weak silos of two runs are the same silos, which pay side by side."""
    assert deal({"strong": 0.1}, **MADE_UP) == deal({"strong": 0.4, "strong_codes": "1"}, **MADE_UP, split="record")
    assert deal({"strong": 0.1}) == deal({"strong": 1.0}, {"public_samples": 20}, seed=3)


def test_a_biased_deal_names_its_silos_so_that_the_share_is_of_the_same_ones() -> None:
    chosen = silos(groups=None, strong=0.5, strong_codes="bars")
    labels = [STARS[k % 10] for k in range(40)]
    ids = partition(["x"] * 40, labels, conf_base(Partition, method="biased", clients=4), chosen)
    strong = strong_names(set(ids), chosen)
    assert {label.split("\t")[0] for one, label in zip(ids, labels, strict=True) if one in strong} == {"bars"}
