"""How public text is described."""

from __future__ import annotations

import pytest

from fedtext.params.described import Described
from tests.parameters import conf_base


@pytest.mark.parametrize("step", ["topics", "texts"])
def test_what_to_write_is_told_in_messages(step: str) -> None:
    with pytest.raises(ValueError, match="has prompt list: what to write is told in messages, set chat"):
        conf_base(Described, {step: {"sampler": {"prompt": "list"}}})
