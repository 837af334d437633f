"""The sampled held-out texts: among all, or a fixed number from each test client."""

import numpy as np
import pandas as pd

from fedtext.evaluation.private_evaluation import evenly_spaced_by_unit, samples_per_unit
from fedtext.evaluation.scoring import held_out_sample
from fedtext.evaluation.units import unit_of
from fedtext.federation.units import Population
from fedtext.models.encoder import Encoder
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy


def draw_held_out_samples(private_test: pd.DataFrame, evaluation: Evaluation) -> pd.DataFrame:
    """Sample `evaluation.max_eval_samples` held-out samples, or take all: for figures without privacy cost."""
    return private_test.iloc[held_out_sample(len(private_test), evaluation)].reset_index(drop=True)


def choose_own_samples(
    private_test: pd.DataFrame, population: Population, evaluation: Evaluation, privacy: Privacy
) -> pd.DataFrame:
    """Choose a fixed number of samples from each test client, so that no client changes another's choice."""
    most = samples_per_unit(evaluation, max(population.test, 1))
    return private_test.iloc[evenly_spaced_by_unit(unit_of(private_test, privacy.unit), most)].reset_index(drop=True)


def embed_test_samples(private_test_sample: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Embed the sampled held-out texts as unit vectors; zeros where the encoder gives no direction."""
    return encoder.encode(private_test_sample["text"].tolist(), label="held-out samples", undirected_as_zeros=True)
