"""Whose a sample is: its client's, or a record's of its own, which its label tells from another."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtext.pipelines.clients.nodes import units_of


def test_samples_of_a_client_share_its_code_and_have_one_each_as_records() -> None:
    units = units_of(pd.DataFrame({"client_id": ["a", "a", "b"], "text": ["x", "y", "x"]}))
    assert units["client"][0] == units["client"][1] != units["client"][2]
    assert len(set(units["record"].tolist())) == 3


def test_equal_texts_under_two_labels_keep_their_codes_when_one_goes() -> None:
    both = pd.DataFrame({"client_id": "a", "text": "x", "label": ["sea", "land"]})
    units = units_of(both)
    assert units_of(both.iloc[1:])["record"].tolist() == units["record"][1:].tolist()


def test_no_label_is_one_whatever_it_is_written_as() -> None:
    told = {str(one): pd.DataFrame({"client_id": ["a"], "text": ["x"], "label": [one]}) for one in (None, np.nan)}
    told["no column"] = pd.DataFrame({"client_id": ["a"], "text": ["x"]})
    assert len({int(units_of(one)["record"][0]) for one in told.values()}) == 1
