"""What a data set may spend is read from a run's declarations, whatever its history holds."""

from __future__ import annotations

import math

import pytest

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from tests.parameters import conf_base
from tests.privacy.histories import ledger, release, spent


@pytest.mark.parametrize(
    ("corpus", "public"),
    [
        ({}, True),
        ({"declared_public": False}, False),
        ({"source": "table", "path": "mine.csv"}, False),
        ({"source": "table", "path": "mine.csv", "declared_public": True}, True),
        ({"source": "imdb", "path": "imdb.csv"}, False),
    ],
)
def test_whether_the_corpus_is_public_is_a_fact_of_its_own(corpus: dict[str, object], *, public: bool) -> None:
    for total in (None, 3.0, math.inf):
        found = Allowance.of(conf_base(Corpus, corpus), conf_base(Privacy, {"total_epsilon": total}))
        assert found == Allowance(public, total)
        assert math.isinf(found.limit([], ledger())) is (public or total == math.inf)


def test_without_a_total_the_first_run_of_the_same_clients_says_what_all_may_cost() -> None:
    history = [
        spent(release(), part="test", budget=9.0),
        spent(release(), "b", budget=4.0, allowed=None),
        spent(release(), "c", budget=5.0),
    ]
    assert Allowance().limit(history, ledger()) == 4.0
    assert Allowance().limit(history[:1], ledger(epsilon=2.0)) == 2.0, "nothing of these clients yet"
    assert Allowance(total=6.0).limit(history, ledger()) == 6.0
    assert Allowance(public=True, total=6.0).limit(history, ledger()) == math.inf
