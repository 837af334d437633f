"""What a result was made from is carried from record to record, and two values of a name stay two."""

from __future__ import annotations

from fedtext.params import Parameters
from fedtext.resuming.fingerprint import narrowed
from fedtext.resuming.made_with import MadeWith


class Group(Parameters):
    epsilon: float
    rounds: int


def test_of_a_group_what_was_read_is_told_by_dotted_names() -> None:
    read = narrowed(Group(epsilon=8.0, rounds=3), {"Group.epsilon"})
    assert MadeWith.of_parameter("params:privacy", read).parameters == {"privacy.epsilon": (8.0,)}
    assert MadeWith.of_parameter("parameters", {"a": {"b": [1, 2]}}).parameters == {"a.b": ([1, 2],)}


def test_parts_at_two_values_are_told_with_both() -> None:
    eight, one = (MadeWith.of_parameter("params:privacy", {"epsilon": value}) for value in (8, 1))
    assert MadeWith.together([eight, eight]) == eight
    assert MadeWith.together([eight, one]).parameters == {"privacy.epsilon": (8, 1)}
    assert eight.contradicted_by(one) == {"privacy.epsilon": (8,)}
    assert eight.contradicted_by(eight) == {}
