"""Parameters of CTCL: a generator of texts from keywords, tuned on private texts behind their topic's keywords."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters, Seed
from fedtext.params.generation import Sampler
from fedtext.params.training import CausalTraining, DpSgd, Lora


class Ctcl(Parameters):
    """Public texts are clustered into `topics`, each named by at most `keywords` words.

    The generator's adapter learns on public texts to write a text from its own keywords (`public_training`). Private
    texts are counted by topic, a unit's counts clipped to the L2 norm `topic_clip`, for the share `topic_share` of the
    budget. The adapter is then trained by DP-SGD on private texts behind their topic's keywords (`training`), for the
    rest. `synthetic_texts` are written in the proportions of the noisy counts.
    """

    topics: int = Field(ge=2)
    keywords: int = Field(ge=1)
    topic_share: float = Field(gt=0, lt=1)
    topic_clip: float = Field(gt=0)
    public_training: CausalTraining
    training: DpSgd
    lora: Lora
    synthetic_texts: int = Field(ge=1)
    final_responses: int = Field(ge=1)
    sampler: Sampler
    seed: Seed
