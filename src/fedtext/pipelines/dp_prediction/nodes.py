"""The nodes of private prediction: thin, pure calls into fedtext.algorithms.dp_prediction."""

import numpy as np
import pandas as pd

from fedtext.algorithms.dp_prediction import plan as planning
from fedtext.algorithms.dp_prediction.prompts import client_rows
from fedtext.algorithms.dp_prediction.writing import sampled_texts, written_tokens
from fedtext.federation.communication import Exchange
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import Population
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.privacy import Privacy
from fedtext.pipelines.clients.nodes import units_of
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey

Arrays = dict[str, np.ndarray]


def open_prediction_ledger(population: Population, dp_prediction: DpPrediction, privacy: Privacy) -> Ledger:
    """Open an empty ledger, after checking that the planned tokens fit the declared budget."""
    return planning.planned_ledger(population.training, dp_prediction, privacy)


def tokenise_prompts(private_train: pd.DataFrame, generator: TrainableGenerator, dp_prediction: DpPrediction) -> Arrays:
    """Tokenise a prompt that shows each of the clients' samples: `features` (rows), `client`, `record`, `label`."""
    return {
        "features": client_rows(generator, private_train["text"].tolist(), dp_prediction),
        **units_of(private_train),
        "label": np.zeros(len(private_train), dtype=np.int64),
    }


def write_tokens(
    private_rows: Arrays,
    private_enrolment: Arrays,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    generator: TrainableGenerator,
    public_samples: pd.DataFrame,
    dp_prediction: DpPrediction,
) -> tuple[np.ndarray, Ledger]:
    """Release the tokens of all texts, charged before the first, and return them with the ledger."""
    samples = PrivateSamples.protected_by(ledger, private_rows, private_enrolment)
    public = public_samples["text"].tolist()
    return written_tokens(generator, public, samples, dp_prediction, ledger, private_noise_key)


def read_texts(
    generator: TrainableGenerator, tokens: np.ndarray, dp_prediction: DpPrediction, chunking: Chunking
) -> pd.DataFrame:
    """Make texts of the released tokens."""
    return sampled_texts(generator, tokens, dp_prediction, length=chunking.length).assign(round=1)


def count_exchanged(dp_prediction: DpPrediction) -> Exchange:
    """Count what a client hands to the curator, once: a text of at most `example_tokens` tokens."""
    return Exchange(down_floats=0, up_floats=dp_prediction.example_tokens, exchanges=1.0)
