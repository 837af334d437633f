"""Whether the models of a run read its samples whole, and know their script: by public values, before anything else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.corpora.public_prompts import public_prompts
from fedtext.corpora.table import read_public_table
from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import EncoderDataset, PublicModelDataset
from fedtext.generation.prompts import LISTED, SHOTS
from fedtext.models.reading_limits import ReadingLimit, readings, refuse_long_list
from fedtext.params.corpus import Corpus
from fedtext.wiring.console import say
from fedtext.wiring.readers import Reader, readers

DESCRIBER = "describer"  # is asked topic by topic, and shown no samples
LISTS = {"popri": SHOTS, "pe": SHOTS, "evaluation": SHOTS, "pe_sft": LISTED}  # samples in a request, or in a row
SHOWN = ("wasp", "fusegen")  # say it by a parameter, `shown`
LOOKED_AT = 200  # public texts


def check_lengths(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """A sample is read by every model with a start token; an encoder takes a long one in parts.

    The on-device model may need more tokens for a sample than the chunk tokenizer: it reads it in windows of
    `chunking.length` of its own. What is read of the beginning of a text alone is said.

    Raises:
        FedtextError: a model that the pipeline reads takes fewer tokens than a sample, or a list of them, may have.
    """
    for reading, how in readings(pipeline.inputs(), partial(_value, pipeline.inputs(), parameters)):
        if reading.cuts:
            say(f"'{reading.reader}' reads {how} ({reading.parameter}), and not the rest")
    if "params:chunking" not in pipeline.inputs():
        return
    length = parameters["chunking"]["length"]
    for limit in _limits(pipeline, catalog):
        if said := limit.said_of(length):
            say(said)
        if limit.reader != DESCRIBER and isinstance(catalog.get(limit.reader), GeneratorDataset):
            for group, listed in _lists(pipeline, parameters).items():
                new = max(_new_tokens(parameters[group]), default=0)
                refuse_long_list(limit, listed=listed, length=length, new_tokens=new, asked_by=group)


def check_script(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """The encoder knows the script of the public texts of a file, or of the sentence that says what they are.

    Public texts that the run draws or writes itself are looked at when they are embedded, which is before any release.

    Raises:
        FedtextError: it does not.
    """
    encoder = catalog.get("encoder") if "encoder" in pipeline.inputs() else None
    if not isinstance(encoder, EncoderDataset):
        return
    found, corpus = readers(pipeline), Corpus.model_validate(parameters["corpus"])
    if corpus.public_path is not None and Reader.PUBLIC in found:
        texts = read_public_table(corpus)["text"].tolist()[:LOOKED_AT]
    elif corpus.public_path is not None and Reader.PROMPTS in found:
        texts = public_prompts(corpus, LOOKED_AT, 0)["prompt"].tolist()
    elif corpus.description is not None and Reader.DESCRIPTION in found:
        encoder.refuse_unknown([corpus.description], "corpus.description")
        return
    else:
        return
    encoder.refuse_unknown(texts, f"corpus.public_path {corpus.public_path}")


def _limits(pipeline: Pipeline, catalog: DataCatalog) -> Iterator[ReadingLimit]:
    """Those of the models that the pipeline is given."""
    for name in sorted(pipeline.inputs()):
        dataset = catalog.get(name) if name in catalog else None
        if isinstance(dataset, PublicModelDataset):
            yield ReadingLimit(name, dataset.context, dataset.beyond)


def _value(inputs: Collection[str], parameters: Mapping[str, Any], name: str) -> Any:
    """A parameter by its dotted name; None where no node is given it, or a group that it lies in."""
    groups = name.split(".")
    if not any(f"params:{'.'.join(groups[:depth])}" in inputs for depth in range(1, len(groups) + 1)):
        return None
    value: Any = parameters
    for group in groups:
        value = value.get(group) if isinstance(value, Mapping) else None
    return value


def _lists(pipeline: Pipeline, parameters: Mapping[str, Any]) -> dict[str, int]:
    """How many samples a request shows at most, by the group of parameters that it is made by."""
    asked = {name.removeprefix("params:").partition(".")[0] for name in pipeline.inputs()}
    found = {**LISTS, **{group: parameters[group]["shown"] for group in SHOWN if group in asked}}
    return {group: listed for group, listed in found.items() if group in asked}


def _new_tokens(group: Any) -> Iterator[int]:
    """How much may be written at once, by every sampler of a group of parameters."""
    if isinstance(group, Mapping):
        if "max_new_tokens" in group:
            yield int(group["max_new_tokens"])
        for inner in group.values():
            yield from _new_tokens(inner)
