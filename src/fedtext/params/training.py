"""How models are trained: causal language modelling, preference optimisation, and the recipe of the bundled models."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from fedtext.params import LearningRate, Parameters, Seed, each_once, words
from fedtext.params.described import Described
from fedtext.params.federated import ServerOptimizer
from fedtext.system.errors import InputError


class LlamaShape(Parameters):
    """Shape of a small Llama-architecture language model."""

    hidden_size: int
    layers: int
    heads: int
    feed_forward: int
    max_positions: int


class CausalTraining(Parameters):
    """Next-token training: AdamW, linear warm-up, cosine decay to zero."""

    epochs: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    learning_rate: LearningRate
    warmup_share: float = Field(ge=0, lt=1)
    weight_decay: float = Field(ge=0)


class TunedTraining(Parameters):
    """Next-token training at one of `learning_rates` for at most `epochs`, selected on a part of the training texts.

    The share `held_out_share` of the texts is for validation: the rate and the epoch with the lowest loss on it are
    kept. 0: nothing is selected, there is one rate, and all texts are trained on for all epochs. With `chosen_on`
    `validation` they are selected on the validation clients' text instead, as POPri's paper does, and all texts are
    trained on; no budget covers that. The rest is `CausalTraining`'s.
    """

    learning_rates: tuple[LearningRate, ...] = Field(min_length=1)
    epochs: float = Field(gt=0)
    held_out_share: float = Field(ge=0, lt=0.5)
    chosen_on: Literal["own_texts", "validation"]
    batch_size: int = Field(ge=1)
    warmup_share: float = Field(ge=0, lt=1)
    weight_decay: float = Field(ge=0)

    _words = field_validator("learning_rates", mode="before")(words)

    @field_validator("learning_rates")
    @classmethod
    def _each_rate_once(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        return each_once(rates, "evaluation.training.learning_rates")

    @model_validator(mode="after")
    def _has_what_to_choose_by(self) -> Self:
        if len(self.learning_rates) > 1 and self.held_out_share == 0 and self.chosen_on == "own_texts":
            raise InputError(
                f"evaluation.training.learning_rates are {' '.join(map(str, self.learning_rates))} and held_out_share "
                "is 0, so no text is held out to choose by: name one rate, or set held_out_share to 0.1",
                code="rates-without-held-out-text",
                parameter="evaluation.training.learning_rates",
                value=self.learning_rates,
            )
        return self

    def at(self, learning_rate: float) -> CausalTraining:
        """Return the training for all epochs at one learning rate."""
        return CausalTraining(
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=learning_rate,
            warmup_share=self.warmup_share,
            weight_decay=self.weight_decay,
        )


class Lora(Parameters):
    """Low-rank adapter; `targets: attention_and_mlp` is every attention, up and down projection (POPri section 3.1)."""

    rank: int = Field(ge=1)
    alpha: int = Field(ge=1)
    dropout: float = Field(ge=0, lt=1)
    targets: Literal["attention_and_mlp", "attention", "all_linear"]


class PairTokens(Parameters):
    """Most tokens that are read of a preference pair: a `prompt`'s last ones, and the first of each `answer`."""

    prompt: int = Field(ge=1)
    answer: int = Field(ge=1)


GradientMethod = Literal["auto", "vmap", "opacus"]


class DpDescent(Parameters):
    """DP-SGD: `epochs` passes over the units on average, each step a Poisson sample of `batch_size` units on average.

    A unit's gradient is clipped to the L2 norm `clip_norm`; the noisy mean is the `optimizer`'s gradient.
    """

    epochs: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    clip_norm: float = Field(gt=0)
    optimizer: ServerOptimizer


class DpSgd(DpDescent):
    """DP-SGD of a language model.

    `units_at_once` are computed side by side, on a CPU by each core: it changes memory, and results in their last bits.
    So does `gradients`, how they are computed side by side: by `opacus` or `vmap`; `auto` is the faster on the device.
    """

    units_at_once: int = Field(ge=1)
    gradients: GradientMethod


class PreferenceTraining(Parameters):
    """DPO, IPO or cDPO on (prompt, chosen, rejected); the reference is always the public checkpoint.

    The rate falls by a cosine from `learning_rate` to `final_rate`.

    `label_smoothing` is cDPO's: the assumed share of mislabelled pairs. `chosen_nll_weight` adds that much of the
    chosen texts' mean negative log-likelihood per token. `activation_checkpointing` trades time for memory.

    A step's `batch_size` pairs are shared evenly among `gpus` processes, each on a GPU of its own (without a GPU they
    share the cores). Each computes at most `pairs_at_once` of them at once (null: all), and adds up gradients. Either
    changes a result in its last bits, for sums are added in another order.

    An adapter, `lora`, is trained; null: all weights, in float32.
    """

    loss: Literal["dpo", "ipo", "cdpo"]
    beta: float = Field(gt=0)
    label_smoothing: float = Field(ge=0, lt=0.5)
    chosen_nll_weight: float = Field(ge=0)
    epochs: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    learning_rate: LearningRate
    final_rate: float = Field(ge=0)
    activation_checkpointing: bool
    gpus: int = Field(ge=1)
    pairs_at_once: int | None = Field(ge=1)
    lora: Lora | None

    @property
    def at_once(self) -> int:
        """Pairs that a process computes at once: as many as its share of a step is a multiple of."""
        share = self.batch_size // self.gpus
        most = min(self.pairs_at_once or share, share)
        return next(number for number in range(most, 0, -1) if share % number == 0)

    @model_validator(mode="after")
    def _processes_have_equal_shares(self) -> Self:
        if self.batch_size % self.gpus:
            raise InputError(
                f"preference.batch_size is {self.batch_size} and preference.gpus is {self.gpus}: every process has as "
                "many pairs of a step; take a batch_size that is a multiple of gpus",
                code="batch-does-not-fit-gpus",
                parameter="preference.gpus",
                value=self.gpus,
            )
        return self

    @model_validator(mode="after")
    def _rate_falls(self) -> Self:
        if self.final_rate > self.learning_rate:
            raise InputError(
                f"preference.final_rate is {self.final_rate:g}, above preference.learning_rate {self.learning_rate:g}: "
                "the rate falls to it, so name a smaller one; 0 is the plain cosine",
                code="final-rate-above-rate",
                parameter="preference.final_rate",
                value=self.final_rate,
            )
        return self

    @model_validator(mode="after")
    def _smoothing_is_cdpo(self) -> Self:
        if (self.loss == "cdpo") != (self.label_smoothing > 0):
            raise InputError(
                f"preference.loss is {self.loss} and label_smoothing is {self.label_smoothing}: "
                "cdpo needs a label_smoothing above 0, dpo and ipo need 0",
                code="smoothing-does-not-fit-loss",
                parameter="preference.label_smoothing",
                value=self.label_smoothing,
            )
        return self


class SchedulePart(NamedTuple):
    """The part of a schedule, from 0 to 1, that one training runs through."""

    start: float
    end: float


WHOLE_SCHEDULE = SchedulePart(0.0, 1.0)


class AdapterTraining(PreferenceTraining):
    """Preference optimisation of an adapter, which a next round goes on with.

    The rate's schedule runs through each `round`, or once through all rounds of a `run`.
    """

    lora: Lora
    schedule: Literal["round", "run"]

    def schedule_part(self, round_number: int, rounds: int) -> SchedulePart:
        """Return the part of the schedule that a round, from 1, runs through."""
        if self.schedule == "round":
            return WHOLE_SCHEDULE
        return SchedulePart((round_number - 1) / rounds, round_number / rounds)


class Recipe(Parameters):
    """The training of one bundled language model: `tokens` of rows, some of them few-shot lists, the rest documents.

    `compiled` compiles the model with torch first; the two minutes pay off in a long training.
    """

    shape: LlamaShape
    tokens: int = Field(gt=0)
    row_length: int = Field(gt=0)
    few_shot_share: float = Field(ge=0, le=1)
    training: CausalTraining
    compiled: bool
    seed: Seed
    data_seed: Seed


class GeneralText(Parameters):
    """The on-device model's training texts: `texts` of each of the `kinds` that a chat model writes (`described`)."""

    kinds: tuple[str, ...] = Field(min_length=1)
    texts: int = Field(ge=10)
    described: Described


class Pretraining(Parameters):
    """The two bundled models: the generator is trained on docstrings, the on-device model on general text."""

    public_chars_per_package: int = Field(gt=0)
    vocab_size: int = Field(ge=300)
    held_out_share: float = Field(gt=0, lt=0.5)
    general: GeneralText
    generator: Recipe
    on_device: Recipe
