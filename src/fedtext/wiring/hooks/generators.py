"""Checks that a generator can do what a node asks of it by its function's types: be trained, be guided, follow."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.models.generator import ChatGenerator, GuidedGenerator, TrainableGenerator
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.trial import parameters_beside


def check_trained(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check that nodes that need a generator's weights, by their functions' types, are given one that has them here.

    They train it, or put private text into its prompts, which no server may receive.

    Raises:
        RunRefusedError: one is given another.
    """
    for node, name, reason in _unfit(pipeline, catalog, TrainableGenerator, "training_fault"):
        algorithm = (node.namespace or node.name).partition(".")[0]
        raise RunRefusedError(
            f"{algorithm} needs its generator's weights here, but '{name}' is {reason}: name a directory or a Hugging "
            "Face id (--params models.generator=...), or run pe with pe.variation=few_shot, which needs none",
            code="generator-without-weights",
            parameter=f"models.{name}",
        )


def check_follows_instructions(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check that nodes that instruct a generator, by their functions' types, have one that follows instructions.

    Raises:
        RunRefusedError: one is given another.
    """
    for node, name, reason in _unfit(pipeline, catalog, ChatGenerator, "chat_fault"):
        raise RunRefusedError(
            f"{node.name} tells the generator what to write, but '{name}' is {reason}: take one that chats "
            f"(--params models.{name}=smollm2, or endpoint:MODEL@http://HOST:PORT/v1)",
            code="generator-does-not-chat",
            parameter=f"models.{name}",
        )


def check_guided(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check that nodes that guide a generator by words, by their functions' types, have one that writes here.

    Raises:
        RunRefusedError: one is given another.
    """
    for node, name, reason in _unfit(pipeline, catalog, GuidedGenerator, "guidance_fault"):
        raise RunRefusedError(
            f"{node.name} guides the generator's words token by token, but '{name}' is {reason}: set "
            "popri.word_guidance=0, or name the weights alone, which writes here",
            code="generator-not-guided",
            parameter="popri.word_guidance",
        )


def check_adapters(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Check that an adapter is trained, and not all weights, where servers write with what is trained.

    Raises:
        RunRefusedError: an algorithm's `lora` is null.
    """
    for name in sorted(pipeline.inputs()):
        if name not in catalog or not getattr(catalog.get(name), "writes_with_adapters_only", False):
            continue
        for group in parameters_beside(pipeline, name):
            if group in parameters and "lora" in parameters[group] and parameters[group]["lora"] is None:
                raise RunRefusedError(
                    f"{group}.lora is null, so all weights of '{name}' are trained, and servers load adapters only: "
                    f"give {group}.lora a rank, or name the weights alone, which writes here",
                    code="served-without-adapter",
                    parameter=f"{group}.lora",
                )


def _unfit(pipeline: Pipeline, catalog: DataCatalog, wanted: type, fault: str) -> Iterator[tuple[Node, str, str]]:
    """Yield the nodes, data sets and reasons where a data set that is taken as `wanted` has such a fault."""
    for node in pipeline.nodes:
        for name in _given_as(node, wanted):
            if (reason := getattr(catalog.get(name), fault, None)) is not None:
                yield node, name, reason


def _given_as(node: Node, wanted: type) -> Iterator[str]:
    """Yield the data sets that a node's function takes as `wanted`."""
    given, signature = node._inputs, inspect.signature(node.func)
    named = given if isinstance(given, dict) else {}
    placed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    for parameter, names in signature.bind(*placed, **named).arguments.items():
        if signature.parameters[parameter].annotation in (wanted, wanted.__name__):
            yield from names.values() if isinstance(names, dict) else [names] if isinstance(names, str) else names
