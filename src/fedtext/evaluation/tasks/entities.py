"""Entity recognition as a downstream task (`evaluation.entities`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from fedtext.corpora.records import spread_samples
from fedtext.evaluation.entities import compare_entities, entity_scores
from fedtext.evaluation.measures.downstream import ENTITY_F1
from fedtext.evaluation.scoring import evenly_spaced
from fedtext.evaluation.tasks.task import (
    HELD_OUT,
    Document,
    DownstreamTask,
    Scores,
    Table,
    TaskNode,
    in_report_order,
    stressed,
)
from fedtext.evaluation.units import drawn_units
from fedtext.evaluation.wording import count, interval
from fedtext.models.encoder import Encoder
from fedtext.models.tagger import Tagger
from fedtext.params.conditions import CONDITIONS
from fedtext.params.corpus import Partition
from fedtext.params.evaluation import Entities, EntityHead, Evaluation

LEARNERS: dict[EntityHead, str] = {
    "logistic": "a logistic regression on words and their neighbours",
    "fine_tuned": "a fine-tuned encoder",
}


def entity_trainer(private: bool) -> Callable[..., Scores]:
    """Create the training on `evaluation.texts` of a condition's texts, or on `private_texts` private samples."""

    def find_entities(
        private_test_sample: pd.DataFrame,
        tagger: Tagger,
        classifier: Encoder,
        evaluation: Evaluation,
        texts: pd.DataFrame,
    ) -> Scores:
        """Train a recogniser on the texts' entities, and count what it finds in held-out text."""
        if private:
            learned_from = spread_samples(texts, evaluation.private_texts)["text"].tolist()
        else:
            learned_from = evenly_spaced(texts["text"].tolist(), evaluation.texts)
        return entity_scores(
            learned_from,
            private_test_sample["text"].tolist(),
            tagger,
            classifier,
            evaluation.entities,
            seed=evaluation.seed,
            label="private texts" if private else "texts",
        )

    return find_entities


def compare_entity_scores(
    private_test_sample: pd.DataFrame,
    tagger: Tagger,
    evaluation: Evaluation,
    partition: Partition,
    **conditions: Scores,
) -> dict[str, Any]:
    """Compare macro-F1 of all conditions with its intervals."""
    drawn = drawn_units(private_test_sample, partition)
    return compare_entities(in_report_order(conditions), tagger.kinds, evaluation.entities.head, drawn)


def entity_tables(document: Document) -> list[Table]:
    """Return the table of every condition's macro-F1 of entities with its interval."""
    rows = [
        [
            CONDITIONS[name].title,
            count(own["texts"]),
            f"{ENTITY_F1.shown(own[ENTITY_F1.name])} ({interval(ENTITY_F1, own)})",
        ]
        for name, own in document["conditions"].items()
    ]
    learner, kinds = LEARNERS[document["head"]], ", ".join(document["kinds"])
    caption = f"Training texts of {learner} that finds entities: {kinds} (95% intervals)"
    return [Table(caption, ["learned from", "texts", ENTITY_F1.column], rows, stressed(document))]


ENTITIES = DownstreamTask(
    name="entities",
    verb="tag",
    group="evaluation.entities",
    parameters=Entities,
    measures=(ENTITY_F1,),
    inputs={
        HELD_OUT: HELD_OUT,
        "tagger": "tagger",
        "classifier": "classifier",
        "evaluation": "params:evaluation",
    },
    trainer=entity_trainer,
    compare=TaskNode(compare_entity_scores, {"tagger": "tagger", "evaluation": "params:evaluation"}),
    tables=entity_tables,
)
