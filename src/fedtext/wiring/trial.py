"""Servers are tested for a text before any release: the models that they list need not answer, nor load adapters."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Node, Pipeline

from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import TrainableGenerator
from fedtext.params.generation import Sampler
from fedtext.params.training import Lora
from fedtext.privacy.tags import Tag
from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError
from fedtext.training.lora import adapter_of_zeros

EXAMPLES = ("The kettle is on.", "Two trains were late today.", "My neighbour waters the plants.")
RESPONSES = 2  # a good server too may give an empty one


def check_servers(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Check that each server gives a text, if a release is about its texts or it writes after one.

    The settings are the run's own.

    Raises:
        RunRefusedError: one gives none, or an error.
    """
    if not any(Tag.RELEASE in node.tags for node in pipeline.nodes):
        return
    for name in sorted(pipeline.inputs()):
        if not _is_server(catalog, name):
            continue
        beside = [parameters.get(group) for group in parameters_beside(pipeline, name)]
        samplers = [Sampler.model_validate(found) for group in beside for found in _inside(group, "sampler")]
        if not samplers:
            continue
        trained = any(name in given_as(node, TrainableGenerator) for node in pipeline.nodes)
        adapters = [found for group in beside for found in _inside(group, "lora") if found] if trained else []
        loras = [Lora.model_validate(found) for found in adapters]
        with _adapted(catalog.load(name), loras) as generator:
            _try(name, generator, min(samplers, key=lambda sampler: sampler.max_new_tokens))


@contextmanager
def _adapted(generator: Any, loras: Sequence[Lora]) -> Iterator[Any]:
    """Yield the generator; one that is trained here, with the largest adapter that is trained, before its training."""
    if not loras or not isinstance(generator, TrainableGenerator):
        yield generator
        return
    adapter = adapter_of_zeros(generator, max(loras, key=lambda lora: lora.rank))
    with tempfile.TemporaryDirectory() as folder:
        adapter.save_pretrained(folder)
        yield generator.with_adapter(Path(folder))


def _try(name: str, generator: Any, sampler: Sampler) -> None:
    form = prompt_form(generator.own(sampler))
    request = form.request(EXAMPLES, "everyday life")
    try:
        (answers,) = generator.write(
            [request], framing=form.framing, responses=RESPONSES, sampler=sampler, seed=0, label="a trial"
        )
    except FedtextError as error:
        raise RunRefusedError(
            f"{name} writes no text, so nothing is released: {error}", code="generator-writes-nothing", value=name
        ) from None
    if not any(form.cut(answer) for answer in answers):
        raise RunRefusedError(
            f"{name} is {generator.identity}, which answers without a text, so nothing is released: look into its log, "
            "set generation.prompt to the form that it serves (chat, or list for one that continues text), or take "
            "another model",
            code="generator-answers-without-text",
            value=name,
        )


def leads_to_servers(pipeline: Pipeline, node: Node, catalog: DataCatalog) -> bool:
    """Return whether a node, or one that stands on it, makes a release or is given a server.

    A run that makes only a report again, since further releases were recorded, asks no server.
    """
    later = pipeline.from_nodes(node.name).nodes
    return any(Tag.RELEASE in one.tags or any(_is_server(catalog, name) for name in one.inputs) for one in later)


def _is_server(catalog: DataCatalog, name: str) -> bool:
    return name in catalog and bool(getattr(catalog.get(name), "is_server", False))


def parameters_beside(pipeline: Pipeline, name: str) -> list[str]:
    """Return the groups of parameters of the nodes that read the data set."""
    asked = {other for node in pipeline.nodes if name in node.inputs for other in node.inputs}
    return sorted({one.removeprefix("params:").partition(".")[0] for one in asked if one.startswith("params:")})


def given_as(node: Node, wanted: type) -> Iterator[str]:
    """Yield the data sets that a node's function takes as `wanted`."""
    given, signature = node._inputs, inspect.signature(node.func)
    named = given if isinstance(given, dict) else {}
    placed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    for parameter, names in signature.bind(*placed, **named).arguments.items():
        if signature.parameters[parameter].annotation in (wanted, wanted.__name__):
            yield from names.values() if isinstance(names, dict) else [names] if isinstance(names, str) else names


def _inside(group: Any, name: str) -> Iterator[Any]:
    """Yield every value of this name in a group of parameters, which are validated by then."""
    if not isinstance(group, Mapping):
        return
    for key, value in group.items():
        if key == name:
            yield value
        else:
            yield from _inside(value, name)
