"""FuseGen's nodes: pure functions of public values; no node reads private text."""

from collections.abc import Callable

import pandas as pd

from fedtext.algorithms.fusegen import chosen_examples, validate_generator_count
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.units import Population
from fedtext.generation.apportionment import split_evenly
from fedtext.generation.by_class import COLUMNS, class_indices, labelled_texts_of
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.labelled import Fusegen
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.privacy.ledger import Ledger
from fedtext.seeding import derived_seed


def ledger_opener(generators: tuple[str, ...]) -> Callable[[Population, Task, Privacy], Ledger]:
    """Create the node that opens the ledger of a run with these generators."""

    def open_fusegen_ledger(population: Population, task: Task, privacy: Privacy) -> Ledger:
        """Open a ledger without releases, after checking that there are classes and generators."""
        task.validate_classes("fusegen")
        validate_generator_count(generators)
        return opened_ledger([], privacy, population.training)

    return open_fusegen_ledger


def start_fusegen() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables before the first round: no text is written, and none is shown."""
    return pd.DataFrame(columns=[*COLUMNS, "round"]), pd.DataFrame(columns=["text", "label"])


def write_round_texts(
    written_before: pd.DataFrame,
    shown_before: pd.DataFrame,
    task: Task,
    fusegen: Fusegen,
    chunking: Chunking,
    **generators: Generator,
) -> pd.DataFrame:
    """Write this round's texts by examples; return all texts so far, this round's last."""
    number = int(written_before["round"].max() + 1) if len(written_before) else 1
    written = labelled_texts_of(
        generators,
        task,
        fusegen.writing,
        count=split_evenly(fusegen.texts, fusegen.rounds)[number - 1],
        examples={str(label): own["text"].tolist() for label, own in shown_before.groupby("label")},
        length=chunking.length,
        seed=derived_seed(fusegen.seed, "round", number),
        label=f"texts of round {number}",
    ).assign(round=number)
    return pd.concat([written_before, written], ignore_index=True) if len(written_before) else written


def choose_examples(written: pd.DataFrame, encoder: Encoder, task: Task, fusegen: Fusegen) -> pd.DataFrame:
    """Choose the next round's examples by the generators' classifiers."""
    features = encoder.encode(written["text"].tolist(), label="texts of the generators", undirected_as_zeros=True)
    return chosen_examples(written, features, class_indices(task, written), len(task.labels), fusegen)
