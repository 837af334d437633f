"""Namespaces: an algorithm's part of the graph, with T copies of one round, each passing its state to the next."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kedro.pipeline import Node, Pipeline
from kedro.pipeline import node as kedro_node

from fedtext.privacy.tags import Tag
from fedtext.system.errors import InputError


def round_namespace(namespace: str, round_number: int) -> str:
    """Return the namespace of a round: `popri`, 3 -> `popri.round_03`.

    It has two digits at least: a name never changes when the number of rounds does.
    """
    return f"{namespace}.round_{round_number:02d}"


def round_dataset(namespace: str, round_number: int, name: str) -> str:
    """Return the full name of a round's dataset: `popri`, 3, `scores` -> `popri.round_03.scores`."""
    return f"{round_namespace(namespace, round_number)}.{name}"


@dataclass(frozen=True)
class Namespace:
    """A part of the graph whose nodes, data sets and rounds have its name as a prefix.

    Example:
        `PE = Namespace("pe")` gives `PE("start")`, which is "pe.start", `PE.round(3, "scores")`, which is
        "pe.round_03.scores", and `PE.node(...)`, a node "pe.<name>".
    """

    name: str

    def __call__(self, dataset: str) -> str:
        """Return a data set's full name."""
        return f"{self.name}.{dataset}"

    def round(self, number: int, dataset: str) -> str:
        """Return the full name of a data set of one round."""
        return round_dataset(self.name, number, dataset)

    def rounds(self, rounds: int, dataset: str) -> list[str]:
        """Return the full names of a data set of all rounds, in order."""
        return [self.round(number, dataset) for number in range(1, rounds + 1)]

    def node(
        self,
        function: Callable[..., Any],
        inputs: str | Sequence[str] | Mapping[str, str] | None,
        outputs: str | Sequence[str],
        *,
        name: str,
        tags: Tag | None = None,
    ) -> Node:
        """Return Kedro's `node` in this namespace; data sets have full names, also those of other namespaces."""
        given = dict(inputs) if isinstance(inputs, Mapping) else inputs if isinstance(inputs, str | None) else [*inputs]
        made = outputs if isinstance(outputs, str) else [*outputs]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One or more dataset names contain '.'", UserWarning)  # it is meant
            return kedro_node(function, given, made, name=name, namespace=self.name, tags=tags)


def unroll(
    one_round: Pipeline | Callable[[], Pipeline],
    *,
    rounds: int,
    namespace: str,
    carried: Mapping[str, str],
    first: Mapping[str, str],
) -> Pipeline:
    """Return `rounds` namespaced copies of `one_round` in a row.

    Args:
        one_round: The pipeline of one round (or a function that makes it), with plain names.
        rounds: T, at least 1.
        namespace: Top-level namespace; copy t lives in `<namespace>.round_<t>`.
        carried: The loop state: input of a round -> output of the round before that feeds it.
        first: The same inputs -> datasets that feed round 1: dot-free names, or names inside `namespace`.

    Parameters and the round's other free inputs are shared: every copy reads them under their own names. Everything a
    round makes is its own: `scores` becomes `popri.round_03.scores`. Which round it is, a round learns from a small
    state that is itself passed on (`{"round": 2}` in, `{"round": 3}` out).

    Example:
        A round reads `state_before` and the shared `prompts`, and writes `candidates` and `state`:

            unroll(one_round, rounds=2, namespace="popri", carried={"state_before": "state"},
                  first={"state_before": "popri_start"})

        gives `popri_start -> popri.round_01.state -> popri.round_02.state`, with `popri.round_01.candidates` and
        `popri.round_02.candidates` beside them. `round_dataset("popri", 2, "state")` names the last one.

    Raises:
        ValueError: fewer than one round; `carried` and `first` differ in inputs; a name that the round does not have.
    """
    template = one_round if isinstance(one_round, Pipeline) else one_round()
    if rounds < 1:
        raise InputError(
            f"{namespace}.rounds is {rounds}: at least one round is needed",
            code="no-round",
            parameter=f"{namespace}.rounds",
            value=rounds,
        )
    if set(carried) != set(first):
        raise InputError(
            f"{namespace}: carried {sorted(carried)} and first {sorted(first)} must name the same inputs",
            code="carried-differs-from-first",
        )
    if strangers := set(carried) - template.inputs():
        raise InputError(
            f"{namespace}: {sorted(strangers)} are no inputs of the round: {sorted(template.inputs())}",
            code="no-inputs-of-round",
            value=sorted(strangers),
        )
    if missing := set(carried.values()) - template.all_outputs():
        raise InputError(
            f"{namespace}: no node of the round makes {sorted(missing)}, which it must hand on",
            code="round-hands-on-nothing",
            value=sorted(missing),
        )
    parameters = {name for name in template.inputs() if name.startswith("params:")}
    shared = {name: name for name in template.inputs() - parameters - set(carried) - {"parameters"}}
    copies = []
    for number in range(1, rounds + 1):
        before = {i: first[i] if number == 1 else round_dataset(namespace, number - 1, o) for i, o in carried.items()}
        copies.append(
            Pipeline(
                template,
                inputs=shared | before,
                parameters=parameters,
                namespace=round_namespace(namespace, number),
            )
        )
    # One construction: adding pipelines one by one takes quadratic time.
    return Pipeline(copies)
