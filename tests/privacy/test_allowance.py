"""What a data set may spend is read from a run's declarations."""

from __future__ import annotations

import math

import pytest

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from tests.parameters import conf_base


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
