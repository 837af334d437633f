"""Do the models read whole samples, and does the encoder know the script of the public texts?

Both are asked before any long work, and read public values only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.corpora.public import public_prompts
from fedtext.corpora.table import read_public_table
from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import EncoderDataset, PublicModelDataset
from fedtext.generation.prompt_forms import LISTED, SHOTS
from fedtext.models.reading_limits import ReadingLimit, fitting_length, readings, validate_list_length
from fedtext.params.corpus import Corpus
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.console import echo
from fedtext.wiring.readers import Reader, readers

DESCRIBER = "describer"  # is prompted topic by topic, without samples
LISTS = {"popri": None, "pe": SHOTS, "evaluation": None, "pe_sft": LISTED}  # samples in a request (None: the sampler's
# `shots`), or in a row
SHOWN = ("wasp", "fusegen")  # have a parameter for it, `shown`
LOOKED_AT = 200  # public texts


def check_lengths(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Check that every model reads a whole sample with a start token; an encoder takes a long one in parts.

    The on-device model may need more tokens for a sample than the chunk tokenizer: it reads it in windows of
    `chunking.length` of its own. A warning names a model that reads the beginning of a text alone.

    Raises:
        FedtextError: A model that the pipeline reads takes fewer tokens than a sample, or a list of them, may have.
    """
    for reading, how in readings(pipeline.inputs(), partial(_value, pipeline.inputs(), parameters)):
        if reading.cuts:
            echo(f"'{reading.reader}' reads {how} ({reading.parameter}), and not the rest")
    if "params:chunking" not in pipeline.inputs():
        return
    length = parameters["chunking"]["length"]
    lists = _lists(pipeline, parameters).items()
    told = [(group, listed, max(_new_tokens(parameters[group]), default=0)) for group, listed in lists]
    for limit in _limits(pipeline, catalog):
        if said := limit.note_for(length):
            echo(said)
        if limit.reader != DESCRIBER and isinstance(catalog.get(limit.reader), GeneratorDataset):
            # The list that wants the shortest samples first: a length that fits it fits them all.
            for group, listed, new in sorted(told, key=partial(_fitting, limit)):
                validate_list_length(limit, listed=listed, length=length, new_tokens=new, asked_by=group)


def check_script(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Check that the encoder knows the script of the public texts of a file, or of the description of the texts.

    Public texts that the run samples or writes itself are checked when they are embedded, which is before any release.

    Raises:
        FedtextError: It does not know it.
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
        encoder.validate_script([corpus.description], "corpus.description")
        said = [corpus.description, *corpus.openings]  # public texts will begin so
        encoder.validate_script(said, "corpus.description and corpus.openings together")
        return
    else:
        return
    encoder.validate_script(texts, f"corpus.public_path {corpus.public_path}")


def _fitting(limit: ReadingLimit, told: tuple[str, int, int]) -> int:
    _, listed, new = told
    return 0 if limit.tokens is None else fitting_length(limit, listed, new)


def _limits(pipeline: Pipeline, catalog: DataCatalog) -> Iterator[ReadingLimit]:
    """Yield the reading limits of the models that the pipeline is given."""
    for name in sorted(pipeline.inputs()):
        dataset = catalog.get(name) if name in catalog else None
        if isinstance(dataset, PublicModelDataset):
            yield ReadingLimit(name, dataset.context, dataset.beyond)


def _value(inputs: Collection[str], parameters: Mapping[str, Any], name: str) -> Any:
    """Return a parameter by its dotted name; None if no node is given it, or a group that it lies in."""
    groups = name.split(".")
    if not any(f"params:{'.'.join(groups[:depth])}" in inputs for depth in range(1, len(groups) + 1)):
        return None
    return value_at(parameters, name)


def _lists(pipeline: Pipeline, parameters: Mapping[str, Any]) -> dict[str, int]:
    """Return the most samples that a prompt shows, by the group of parameters that it is made by."""
    asked = {name.removeprefix("params:").partition(".")[0] for name in pipeline.inputs()}
    found = {group: listed or _shots(parameters[group]) for group, listed in LISTS.items() if group in asked}
    found |= {group: parameters[group]["shown"] for group in SHOWN if group in asked}
    return found


def _shots(group: Mapping[str, Any]) -> int:
    """Return the samples that a list shows, by the one sampler of a group: its own, or its untuned control's."""
    sampler: Mapping[str, Any] = group.get("sampler") or group["untuned"]["sampler"]
    return int(sampler["shots"])


def _new_tokens(group: Any) -> Iterator[int]:
    """Yield the most tokens written at once, for every sampler of a group of parameters."""
    if isinstance(group, Mapping):
        if "max_new_tokens" in group:
            yield int(group["max_new_tokens"])
        for inner in group.values():
            yield from _new_tokens(inner)
