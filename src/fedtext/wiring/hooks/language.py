"""Can the models write and read the language that the user describes? Asked before any long work.

A warning and no refusal: the description says the language, and nobody has seen the private texts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import EncoderDataset
from fedtext.generation.languages import wanted_language
from fedtext.models.languages import ENGLISH, THAT_WRITES, may_know
from fedtext.models.reading_limits import MULTILINGUAL
from fedtext.params.corpus import Corpus
from fedtext.wiring.hooks.lengths import DESCRIBER

LOG = logging.getLogger(__name__)


def warn_of_language(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Warn in one sentence of models that do not know the language of the described texts, and name some that do."""
    if "params:corpus" not in pipeline.inputs():
        return
    corpus = Corpus.model_validate(parameters["corpus"])
    wanted = wanted_language(corpus.description, corpus.openings)
    if wanted is None:
        return
    lacking = [one for one in _models(pipeline, catalog) if not may_know(one.name, wanted)]
    if lacking:
        LOG.warning(
            "the texts are to be in %s, and %s: take %s, or other models that know it (docs/data/lengths.md)",
            wanted,
            ", and ".join(f"{one.name} {one.does} {ENGLISH} alone" for one in lacking),
            " and ".join(one.remedy for one in lacking),
        )


class _Model(NamedTuple):
    name: str
    does: str
    remedy: str


def _models(pipeline: Pipeline, catalog: DataCatalog) -> Iterator[_Model]:
    """Yield the generators and the encoder of a run, each distinct model once."""
    seen = set()
    for name in sorted(pipeline.inputs(), key=lambda name: (name == DESCRIBER, name)):
        dataset = catalog.get(name) if name in catalog else None
        if not isinstance(dataset, GeneratorDataset | EncoderDataset) or dataset.given_name in seen:
            continue
        seen.add(dataset.given_name)
        does, other = ("reads", MULTILINGUAL) if isinstance(dataset, EncoderDataset) else ("writes", THAT_WRITES)
        yield _Model(dataset.given_name, does, f"models.{name.replace('plm_', 'plms.', 1)}={other}")
