"""The nodes of the zero-shot baseline: pure functions of public values."""

import pandas as pd

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.units import Population
from fedtext.generation.by_class import labelled_texts_of
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
    ).assign(round=1)
