"""Parameters of DP-FT: a model fine-tuned on the private preference pairs themselves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.training import DpSgd, Lora, PairTokens


class DpFt(Parameters):
    """DP-SGD on the chosen answers of one half of the units (`sft`), then on the preferences of the other half (`dpo`).

    `form`: `private` is DP-FT; `sft` uses neither the second half of the units nor its budget; `unprotected` has the
    same two trainings without clipping and noise, on all pairs, as a non-private bound. `beta` is DPO's. An adapter,
    `lora`, is trained; null: all weights, whose exact noise takes seconds a step. `tokens` limit what is read of a
    pair. `chat`: the model is prompted with messages, else with a transcript of turns.
    """

    form: Literal["private", "sft", "unprotected"]
    sft: DpSgd
    dpo: DpSgd
    beta: float = Field(gt=0)
    lora: Lora | None
    tokens: PairTokens
    chat: bool
    seed: Seed
