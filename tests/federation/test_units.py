"""Codes of units: a function of the unit itself.

Digests of arrays: what differs in anything has another name.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.federation.units import codes_without_text, digest, record_codes, unit_codes

IDS = st.lists(st.text(max_size=5), max_size=20)
Held = tuple[str, str, str | None]
HELD = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "ab"]), st.sampled_from(["", "x", "bx"]), st.sampled_from([None, "", "x", "1"])
    ),
    max_size=20,
)


def codes_of(held: list[Held]) -> list[int]:
    return record_codes(
        [one for one, *_ in held], [text for _, text, _ in held], [label for *_, label in held]
    ).tolist()


@given(ids=IDS, others=IDS)
def test_a_client_s_code_is_of_its_id_alone(ids: list[str], others: list[str]) -> None:
    alone = [int(unit_codes([one])[0]) for one in ids]
    assert unit_codes(ids).tolist() == alone
    assert unit_codes([*others, *ids]).tolist()[len(others) :] == alone
    assert len(set(alone)) == len(set(ids))
    assert all(0 <= code < 2**63 for code in alone)


def test_the_code_of_an_id_never_changes() -> None:
    """Golden: other codes would draw other lots and coins for a release that was made before."""
    assert unit_codes(["", "client"]).tolist() == [8013879729196606523, 4462969055340835672]


def test_the_code_of_a_record_without_a_label_never_changes() -> None:
    """Golden, as that of an id: the label came in later."""
    assert codes_of([("client", "text", None), ("client", "text", None)]) == [2315086071340232673, 3315258258790290213]


@given(held=HELD, gone=st.integers(0, 19))
def test_a_record_that_goes_leaves_every_other_one_its_code(held: list[Held], gone: int) -> None:
    codes = codes_of(held)
    assert len(set(codes)) == len(held), "equal records are records still"
    left = [one for i, one in enumerate(held) if i != gone]
    named, after = set(zip(codes, held, strict=True)), set(zip(codes_of(left), left, strict=True))
    assert len(named - after) == len(held) - len(left)
    assert after <= named, "a code that is there still is another record's"


@given(held=HELD, seed=st.integers(0, 99))
def test_the_order_of_records_moves_no_different_one_s_code(held: list[Held], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(held))
    shuffled = [held[i] for i in order]
    codes, after = codes_of(held), codes_of(shuffled)
    assert sorted(codes) == sorted(after)
    once = [i for i, one in enumerate(held) if held.count(one) == 1]
    assert all(codes[i] == after[order.tolist().index(i)] for i in once)


def test_silent_units_are_distinct_and_none_of_the_others() -> None:
    silent = codes_without_text(1000)
    assert len(set(silent.tolist())) == 1000
    assert codes_without_text(3).tolist() == silent[:3].tolist()
    numbers = [str(i) for i in range(1000)]
    records = record_codes(numbers, numbers, [None] * len(numbers))
    assert not set(silent.tolist()) & (set(unit_codes(numbers).tolist()) | set(records.tolist()))


def test_digests_tell_shape_type_order_and_bytes_apart() -> None:
    base = np.arange(6.0)
    different = [
        (base,),
        (base.reshape(2, 3),),
        (base.reshape(3, 2),),
        (base.astype(np.float32),),
        (base[:3], base[3:]),
        (base[3:], base[:3]),
        (base + 1e-16 + 1e-15,),
        (base.view(np.int64),),
        (),
    ]
    assert len({digest(*arrays) for arrays in different}) == len(different)
    assert digest(base) == digest(base.copy())
    assert digest(np.asfortranarray(base.reshape(2, 3))) == digest(base.reshape(2, 3))
