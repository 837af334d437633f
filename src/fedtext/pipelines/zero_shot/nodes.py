"""The nodes of the zero-shot baseline: pure functions of public values."""

import numpy as np
import pandas as pd

from fedtext.corpora.records import SYNTHETIC_COLUMNS
from fedtext.embedding.nonempty import encode_nonempty
from fedtext.federation.communication import Exchange
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.units import Population
from fedtext.generation.by_class import labelled_texts_of
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.labelled import ZeroShot
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import derived_seed


def open_zero_shot_ledger(population: Population, task: Task, privacy: Privacy) -> Ledger:
    """Open a ledger without releases, after checking that there are classes to write about."""
    task.validate_classes("zero_shot")
    return opened_ledger([], privacy, population.training)


def write_zero_shot_texts(task: Task, zero_shot: ZeroShot, chunking: Chunking, **generators: Generator) -> pd.DataFrame:
    """Write texts of every generator for every class, without an example."""
    return labelled_texts_of(
        generators,
        task,
        zero_shot.writing,
        count=zero_shot.texts,
        length=chunking.length,
        seed=derived_seed(zero_shot.seed, "zero shot"),
        label="zero-shot texts",
    )


def keep_written_texts(final_texts: pd.DataFrame, encoder: Encoder) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the synthetic data set, with each text's generator, and its embeddings."""
    table = final_texts.assign(round=1)[[*SYNTHETIC_COLUMNS, "generator"]]
    return table, encode_nonempty(encoder, table["text"].tolist(), label="texts of the generators")


def count_nothing_exchanged(final_texts: pd.DataFrame) -> Exchange:
    """Count what one client exchanges: nothing."""
    return Exchange(down_floats=0, up_floats=0, exchanges=0)
