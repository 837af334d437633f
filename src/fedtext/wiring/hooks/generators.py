"""Checks that a generator can do what a node asks of it by its function's types: be trained, be guided, follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.models.generator import ChatGenerator, GuidedGenerator, TrainableGenerator
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.trial import given_as, parameters_beside

DOWNSTREAM = "downstream"


def check_trained(pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check that nodes that need a generator's weights, by their functions' types, are given one that has them here.

    They train it, or put private text into its prompts, which no server may receive.

    Raises:
        RunRefusedError: one is given another.
    """
    for node, name, reason in _unfit(pipeline, catalog, TrainableGenerator, "training_fault"):
        algorithm = (node.namespace or node.name).partition(".")[0]
        raise RunRefusedError(
            f"{algorithm} needs its {name}'s weights here, but '{name}' is {reason}: name a directory or a Hugging "
            f"Face id (--params models.{name}=...), or run pe with pe.variation=few_shot, which needs none",
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


def check_reads_messages(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """Check that the downstream model has a chat template where it is trained on messages or asked in them.

    Raises:
        RunRefusedError: it has none.
    """
    reason = getattr(catalog.get(DOWNSTREAM), "chat_fault", None) if DOWNSTREAM in pipeline.inputs() else None
    beside = [] if reason is None else parameters_beside(pipeline, DOWNSTREAM)
    for group in [one for one in beside if one in parameters]:
        for name in _in_messages(group, parameters[group]):
            raise RunRefusedError(
                f"{name} asks the downstream model in messages, but it is {reason}: set {name} to "
                f"{'list' if name.endswith('prompt') else 'false'}, or take a model that chats "
                "(--params models.downstream=smollm2)",
                code="downstream-does-not-chat",
                parameter=name,
            )


def _in_messages(group: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parameters of a group by which a model is trained on messages, or asked in them."""
    sampled = given.get("sampler", {}).get("prompt") == "chat"
    if "chat" in given and (sampled if given["chat"] is None else given["chat"]):
        yield f"{group}.chat"
    if "chat" not in given and sampled:
        yield f"{group}.sampler.prompt"
    if given.get("membership", {}).get("measured") and given["membership"]["chat"]:
        yield f"{group}.membership.chat"


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
            for trained in (group, f"{group}.preference"):
                if not _trains_all(value_at(parameters, trained)):
                    continue
                raise RunRefusedError(
                    f"{trained}.lora is null, so all weights of '{name}' are trained, and servers load adapters only: "
                    f"give {trained}.lora a rank, or name the weights alone, which writes here",
                    code="served-without-adapter",
                    parameter=f"{trained}.lora",
                )


def _trains_all(given: Any) -> bool:
    """Return whether a group of parameters trains all weights."""
    return isinstance(given, Mapping) and "lora" in given and given["lora"] is None


def _unfit(pipeline: Pipeline, catalog: DataCatalog, wanted: type, fault: str) -> Iterator[tuple[Node, str, str]]:
    """Yield the nodes, data sets and reasons where a data set that is taken as `wanted` has such a fault."""
    for node in pipeline.nodes:
        for name in given_as(node, wanted):
            if (reason := getattr(catalog.get(name), fault, None)) is not None:
                yield node, name, reason
