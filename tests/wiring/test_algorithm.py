"""Names of an algorithm's data sets."""

from __future__ import annotations

from fedtext.wiring.algorithm import Outputs
from fedtext.wiring.config import is_private_name


def test_no_two_data_sets_share_a_name_and_each_begins_with_the_algorithm_s() -> None:
    outputs = Outputs("popri")
    names = [value for field, value in vars(outputs).items() if field != "algorithm"]
    names += [outputs.figure("accuracy"), outputs.figure("rounds")]
    assert len(set(names)) == len(names)
    assert all(name.startswith("popri_") for name in names)


def test_what_held_out_text_says_is_private_by_its_name() -> None:
    counts = Outputs("popri").counts("synthetic")
    assert is_private_name(counts)
    assert counts != Outputs("pe").counts("synthetic") != Outputs("pe").counts("matched_control")
