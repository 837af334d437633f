"""As many texts of each kind as are wanted, of no other kind, and never an empty one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.by_count import texts_by_count
from fedtext.generation.control_codes import ControlCode
from fedtext.models.language_model import LanguageModel
from fedtext.params.generation import Sampler
from tests.parameters import conf_base


class Echo:
    """Writes the request itself, numbered; of every third request nothing."""

    identity = "echo"

    def length_tokenizer(self) -> object:
        return LanguageModel("bundled:generator").tokenizer()

    def write(self, requests: list[str], *, responses: int, **_: object) -> list[list[str]]:
        return [
            [
                "" if (place * responses + number) % 3 == 2 else f"{request.strip()} {number}"
                for number in range(responses)
            ]
            for place, request in enumerate(requests)
        ]


SAMPLER = conf_base(Sampler, legible_only=False)
KINDS = ["sea", "land", "air"]


def written(counts: list[int], responses: int = 2) -> object:
    form = ControlCode()
    return texts_by_count(
        Echo(),  # type: ignore[arg-type]
        [form.request([], kind) for kind in KINDS],
        counts,
        responses=responses,
        sampler=SAMPLER,
        length=32,
        seed=0,
        label="texts",
        form=form,
    )


@given(st.lists(st.integers(0, 12), min_size=3, max_size=3).filter(any))
def test_no_kind_has_more_than_it_should_and_each_text_is_of_its_kind(counts: list[int]) -> None:
    table = written(counts)
    found = Counter(table["kind"].tolist())  # type: ignore[index]
    assert all(found[kind] <= count for kind, count in enumerate(counts))
    assert all(found[kind] > 0 for kind, count in enumerate(counts) if count > 2)
    for text, kind in table[["text", "kind"]].itertuples(index=False):  # type: ignore[index]
        assert text.startswith(KINDS[kind])


def test_kinds_are_in_order_and_every_one_has_all_its_texts_where_none_is_empty() -> None:
    table = written([1, 0, 2], responses=1)
    assert table["kind"].tolist() == sorted(table["kind"])  # type: ignore[index]
