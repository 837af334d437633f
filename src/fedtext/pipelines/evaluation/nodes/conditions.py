"""Conditions: each one trained and measured on held-out text, then compared, beside distances and figures.

The measure is next-token accuracy. A condition is one training and one measurement; conditions of one node run side by
side. The predictions for each held-out text are as private as the text. Only aggregates leave, by the node that
compares them (comparison.py), a declared held-out evaluation.

Declared evaluations too are the distances of sets of texts to held-out text, maps of embeddings, the sizes of the
held-out clients, and the copies of held-out text in the training text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly.graph_objects import Figure

from fedtext.corpora.records import spread_samples
from fedtext.evaluation.contamination import copy_masks, summary
from fedtext.evaluation.distribution import HeldOut, fit_pca, median_distance_to_medoid
from fedtext.evaluation.measures.distances import compared, distance_document, floors, pair_distances
from fedtext.evaluation.measures.known import measured_sets, measures_of_kind
from fedtext.evaluation.measures.mauve import MAUVE, with_mauve
from fedtext.evaluation.measures.measure import Distance
from fedtext.evaluation.measures.next_token_accuracy import CROSS_ENTROPY, ranks_of
from fedtext.evaluation.paired import compare_scored, ordered_conditions
from fedtext.evaluation.private_samples import draw_private_samples, median_draw, sample_curve, stacked, worth
from fedtext.evaluation.rounds import Rounds, candidates_of
from fedtext.evaluation.scoring import evenly_spaced, score_conditions
from fedtext.evaluation.units import drawn_units
from fedtext.generation.few_shot import draw_prompts, first_nonempty, sampled_texts
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import Generator
from fedtext.models.language_model import LanguageModel
from fedtext.params.conditions import PUBLIC_CONTROL, SYNTHETIC
from fedtext.params.corpus import Chunking, Partition
from fedtext.params.evaluation import Evaluation
from fedtext.params.generation import prompts_for
from fedtext.reporting.figures import tokens_per_client
from fedtext.reporting.figures_pca import pca_panels, shown_rounds
from fedtext.seeding import derived_seed, stream

Counts = dict[str, np.ndarray]


def _scored(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    validation: Sequence[str] | None = None,
) -> list[Counts]:
    held_out = private_test_sample["text"].tolist()
    recipe: dict[str, Any] = {"length": chunking.length, "validation": validation}
    return list(score_conditions(on_device, conditions, held_out, evaluation, **recipe).values())


def chosen_on_validation(score: Callable[..., list[Counts]]) -> Callable[..., list[Counts]]:
    """Create the node that scores as `score` does, with rate and epoch chosen on the validation clients' text."""

    def score_as_chosen(
        private_validation: pd.DataFrame,
        on_device: LanguageModel,
        private_test_sample: pd.DataFrame,
        chunking: Chunking,
        evaluation: Evaluation,
        *texts: pd.DataFrame,
    ) -> list[Counts]:
        chosen_on = evenly_spaced(private_validation["text"].tolist(), evaluation.max_eval_samples)
        return score(on_device, private_test_sample, chunking, evaluation, *texts, validation=chosen_on)

    return score_as_chosen


def generate_untuned_texts(
    generator: Generator, public_samples: pd.DataFrame, chunking: Chunking, evaluation: Evaluation
) -> pd.DataFrame:
    """Write texts of the public generator, prompted with any public samples: a baseline without private data."""
    prompts = draw_prompts(
        public_samples,
        np.arange(len(public_samples)),
        count=prompts_for(evaluation.texts, evaluation.untuned.responses, evaluation.untuned.oversample),
        classes=(None,),
        form=prompt_form(evaluation.untuned.sampler),
        rng=stream(evaluation.seed, "prompts", "untuned"),
        examples=evaluation.untuned.sampler.examples,
        shots=evaluation.untuned.sampler.shots,
    )
    texts = sampled_texts(
        generator,
        prompts,
        responses=evaluation.untuned.responses,
        sampler=evaluation.untuned.sampler,
        length=chunking.length,
        seed=derived_seed(evaluation.seed, "responses", "untuned"),
        label="texts of the untuned generator",
    )
    return texts.iloc[first_nonempty(texts, evaluation.texts)].reset_index(drop=True)


def score_public_model(
    on_device: LanguageModel, private_test_sample: pd.DataFrame, chunking: Chunking, evaluation: Evaluation
) -> list[Counts]:
    """Score epsilon = 0: the public on-device model as it is."""
    return _scored(on_device, {"public model": []}, private_test_sample, chunking, evaluation)


def score_texts(
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    *texts: pd.DataFrame,
    validation: Sequence[str] | None = None,
) -> list[Counts]:
    """Score the model trained on `evaluation.texts` of each set of texts, synthetic or a baseline's, side by side."""
    return _scored(on_device, _as_many(texts, evaluation), private_test_sample, chunking, evaluation, validation)


def score_controls(
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
    *texts: pd.DataFrame,
    validation: Sequence[str] | None = None,
) -> list[Counts]:
    """Score public texts likewise, and last the non-private bound, `evaluation.private_texts` private samples.

    All are in one node, for a training takes one core: by themselves each would leave the others idle.
    """
    private = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    conditions = _as_many(texts, evaluation) | {"private texts": private}
    return _scored(on_device, conditions, private_test_sample, chunking, evaluation, validation)


def score_controls_and_draws(
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
    *texts: pd.DataFrame,
    validation: Sequence[str] | None = None,
) -> list[Counts]:
    """Score the same with several draws of private samples: their median one, and last all of them.

    The choice of the median draw reads every test client's text, so a DP evaluation has one draw.
    """
    draws = draw_private_samples(private_train, evaluation)
    conditions = _as_many(texts, evaluation) | {draw.label: draw.texts for draw in draws}
    scored = _scored(on_device, conditions, private_test_sample, chunking, evaluation, validation)
    public, private = scored[: len(texts)], scored[len(texts) :]
    largest = [one for one, draw in zip(private, draws, strict=True) if draw.size == draws[0].size]
    return [*public, largest[median_draw(ranks_of(largest[0])[0], largest)], stacked(private)]


def _as_many(texts: Sequence[pd.DataFrame], evaluation: Evaluation) -> dict[str, list[str]]:
    """Return `evaluation.texts` texts of each set."""
    return {
        f"texts {i} of {len(texts)}": evenly_spaced(one["text"].tolist(), evaluation.texts)
        for i, one in enumerate(texts, start=1)
    }


def score_trained_model(
    trained_model: Path,
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
) -> list[Counts]:
    """Score the on-device model that an algorithm trained on the private text itself, under differential privacy.

    It never saw doubly tokenised text, so the released code's metric would say nothing of it.
    """
    trained = dataclasses.replace(on_device, source=str(trained_model))
    evaluation = evaluation.model_copy(update={"published_metric": False})
    return _scored(trained, {"privately trained model": []}, private_test_sample, chunking, evaluation)


def compare_accuracies(
    private_test_sample: pd.DataFrame,
    partition: Partition,
    private_draws: Counts | None = None,
    **conditions: Counts,
) -> dict[str, Any]:
    """Compare accuracies of all conditions: paired differences, shares of the gaps closed, worth in private samples."""
    drawn = drawn_units(private_test_sample, partition)
    by_name = {name: conditions[name] for name in ordered_conditions(conditions)}
    ranks = ranks_of(next(iter(by_name.values())))
    found = compare_scored(by_name, ranks, drawn, beside=[CROSS_ENTROPY])
    if private_draws is None:
        return found
    curve = sample_curve(private_draws, (*ranks, CROSS_ENTROPY))
    levels = {name: own[ranks[0].name] for name, own in found["conditions"].items()}
    return found | {"private_curve": curve, "worth": worth(ranks[0], curve, levels)}


def measure_distances(
    private_test_embeddings: np.ndarray,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    evaluation: Evaluation,
    round_embeddings: dict[str, np.ndarray] | None = None,
    rounds: Rounds | None = None,
) -> dict[str, Any]:
    """Measure distances of every round's candidates, the synthetic and the public texts to held-out text, at one size.

    An algorithm without rounds gives neither their embeddings nor their record.
    """
    candidates = candidates_of(rounds, round_embeddings)
    sets = synthetic_embeddings, public_embeddings, *(one.embeddings for one in candidates)
    held_out = HeldOut.of(private_test_embeddings, smallest_set=min(map(len, sets)), seed=evaluation.seed)
    measures = measures_of_kind(Distance, evaluation.measures)
    found = distance_document(
        partial(compared, held_out, measures=measures),
        synthetic=synthetic_embeddings,
        public=public_embeddings,
        candidates=candidates,
        of_pairs=pair_distances(private_test_embeddings, candidates, seed=evaluation.seed),
    )
    return {
        **found,
        "bias": held_out.floor()._asdict(),
        "floors": {name: floor._asdict() for name, floor in floors(held_out, measures).items()},
        "held_out_texts": len(private_test_embeddings),
        "held_out_distance": median_distance_to_medoid(private_test_embeddings),
    }


def measure_distances_and_mauve(
    private_test_embeddings: np.ndarray,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
    evaluation: Evaluation,
    private_test_sample: pd.DataFrame,
    synthetic: pd.DataFrame,
    public_samples: pd.DataFrame,
    features: LanguageModel,
    round_embeddings: dict[str, np.ndarray] | None = None,
    rounds: Rounds | None = None,
) -> dict[str, Any]:
    """Measure the same, with MAUVE of the final and the public texts by the features of a language model."""
    sets = synthetic_embeddings, public_embeddings
    others = evaluation.model_copy(update={"measures": tuple(n for n in evaluation.measures if n != MAUVE.name)})
    found = measure_distances(private_test_embeddings, *sets, others, round_embeddings, rounds)
    texts = {SYNTHETIC.name: synthetic["text"].tolist(), PUBLIC_CONTROL.name: public_samples["text"].tolist()}
    return with_mauve(found, features, texts, private_test_sample["text"].tolist(), seed=evaluation.seed)


def measure_texts(evaluation: Evaluation, **sets: pd.DataFrame) -> dict[str, Any]:
    """Measure the synthetic texts and the baselines' by themselves; all of them are released or public."""
    return measured_sets(evaluation, {name: texts["text"].tolist() for name, texts in sets.items()})


def draw_rounds_map(
    private_test_embeddings: np.ndarray, private_test_sample: pd.DataFrame, round_embeddings: dict[str, np.ndarray]
) -> Figure:
    """Draw POPri's Figure 4: candidates over the rounds; held-out text only as areas of at least 20 clients."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    rounds, plane = shown_rounds(round_embeddings), fit_pca(private_test_embeddings)
    return pca_panels("Candidates over the rounds", rounds, private_test_embeddings, clients, plane)


def draw_sets_map(
    private_test_embeddings: np.ndarray,
    private_test_sample: pd.DataFrame,
    synthetic_embeddings: np.ndarray,
    public_embeddings: np.ndarray,
) -> Figure:
    """Draw POPri's Figure 2: the final set; held-out text only as areas of at least 20 clients."""
    clients, _ = pd.factorize(private_test_sample["client_id"], sort=True)
    sets, plane = {"synthetic": synthetic_embeddings, "public": public_embeddings}, fit_pca(private_test_embeddings)
    return pca_panels("Synthetic and public texts", sets, private_test_embeddings, clients, plane)


def draw_public_rounds_map(round_embeddings: dict[str, np.ndarray], public_embeddings: np.ndarray) -> Figure:
    """Draw the map of `draw_rounds_map` on the plane of the public texts, without held-out text."""
    rounds, plane = shown_rounds(round_embeddings), fit_pca(public_embeddings)
    return pca_panels("Candidates over the rounds", rounds, None, None, plane)


def draw_public_sets_map(synthetic_embeddings: np.ndarray, public_embeddings: np.ndarray) -> Figure:
    """Draw the map of `draw_sets_map` on the plane of the public texts, without held-out text."""
    sets = {"synthetic": synthetic_embeddings, "public": public_embeddings}
    return pca_panels("Synthetic and public texts", sets, None, None, fit_pca(public_embeddings))


def draw_client_tokens(private_test: pd.DataFrame) -> Figure:
    """Draw tokens per held-out client (POPri's Figure 9); bins of few clients are hatched alike."""
    return tokens_per_client(private_test.groupby("client_id")["n_tokens"].sum().to_numpy())


def find_copies(private_train: pd.DataFrame, private_test_sample: pd.DataFrame) -> dict[str, np.ndarray]:
    """Find the held-out samples that stand in training samples, word for word or nearly."""
    return copy_masks(private_train["text"].tolist(), private_test_sample["text"].tolist())


def count_copies(private_copies: dict[str, np.ndarray]) -> dict[str, Any]:
    """Count those held-out samples."""
    return summary(private_copies)
