"""Cache local training, so that the same training is not repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from fedtext.federation.units import digest
from fedtext.training import federated_training
from fedtext.training.federated_averaging import flat_weights

if TYPE_CHECKING:
    from fedtext.federation.units import Block


@contextmanager
def remembered(most: int = 32) -> Iterator[None]:
    """Cache results of `client_updates`, a function of its arguments: weights, tokens, clients and seed.

    Only whole results are cached, never one client's: that a client's part depends on the client alone is what the
    audit tests.
    """
    kept: dict[str, list[Block]] = {}

    def train(original: Callable[..., Iterator[Block]], *given: Any, seed: int) -> Iterator[Block]:
        model, tokens, unit, local = given
        name = f"{digest(flat_weights(model), tokens, unit)} {seed} {local.model_dump_json()}"
        if name not in kept and len(kept) >= most:
            del kept[next(iter(kept))]
        answer = kept.pop(name) if name in kept else list(original(*given, seed=seed))
        kept[name] = answer  # the newest is the last to go
        return iter(answer)

    remembering = partial(train, federated_training.client_updates)
    with patch.object(federated_training, "client_updates", remembering):
        yield
