"""How public text is described."""

from __future__ import annotations

import pytest

from fedtext.params.described import Described
from tests.parameters import conf_base
from tests.refusals import refuses


def test_topics_are_asked_for_in_messages() -> None:
    with refuses("topics-need-messages"):
        conf_base(Described, {"topics": {"sampler": {"prompt": "list"}}})


@pytest.mark.parametrize("prompt", ["list", "labelled"])
def test_what_needs_examples_writes_no_first_texts(prompt: str) -> None:
    with refuses("description-has-no-examples", parameter="described.texts.sampler.prompt", value=prompt):
        conf_base(Described, {"texts": {"sampler": {"prompt": prompt}}})


@pytest.mark.parametrize("prompt", ["chat", "Customer: {text}"])
def test_texts_are_asked_for_in_messages_or_on_a_page(prompt: str) -> None:
    assert conf_base(Described, {"texts": {"sampler": {"prompt": prompt}}}).texts.sampler.prompt == prompt
