"""`scorecard.json`: one dictionary for any synthetic data set, by any algorithm, and the input of the report.

All values are released, public, or aggregates of held-out text under the terms that the report states first. No value
influences a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from fedtext.evaluation.cost import cost_rows
from fedtext.evaluation.distribution import Bias
from fedtext.evaluation.measures.known import MEASURES
from fedtext.evaluation.measures.measure import Distance
from fedtext.evaluation.tasks.known import TASKS, measured_tasks
from fedtext.federation.communication import Cost
from fedtext.params.conditions import CONTROLS, PRIVATE, SYNTHETIC
from fedtext.params.privacy import Adjacency
from fedtext.privacy.assumptions import SIMULATED
from fedtext.reporting.added import added_sentence
from fedtext.reporting.glossary import Terms
from fedtext.reporting.headline import accuracy_sentence, epsilon_sentence, protection_sentence


class Protection(BaseModel):
    """Summary of the privacy report; `epsilon` is infinite if something was read without a mechanism.

    `declared`: the number of enrolled units, if the user declared it. `released`: whether anything that depends on the
    units' data was. `attacker`: what the guarantee lets an attacker gain. `signal_to_noise`: how the noise compares
    with what the units can say, if anything was released. `total` has the privacy cost of all recorded releases
    together, and their budget: `epsilon`, `budget`, `releases`, `public`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: str
    units: int = Field(ge=1)
    declared: int | None = None
    adjacency: Adjacency
    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    released: bool = True
    simulated: bool = False
    unaccounted: tuple[str, ...] = ()
    epsilon_by_adjacency: dict[str, float | str] = {}
    assumptions: tuple[str, ...] = ()
    attacker: str = ""
    signal_to_noise: str | None = None
    total: dict[str, Any] | None = None

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Protection:
        """Build from the dictionary that `fedtext.privacy.report.privacy_report` returns."""
        return cls(
            unit=report["unit"],
            units=report["population"],
            declared=report.get("declared"),
            adjacency=report["adjacency"],
            epsilon=float(report["epsilon"]),  # "infinity" too
            delta=report["delta"],
            released=bool(report["releases"]),
            simulated=report["noise"] == SIMULATED,
            unaccounted=tuple(entry["reason"] for entry in report["unaccounted"]),
            epsilon_by_adjacency=report["epsilon_by_adjacency"],
            assumptions=tuple(report["assumptions"]),
            attacker=report["attacker"]["statement"],
            signal_to_noise=report["signal_to_noise"],
            total=report.get("data_set"),
        )


def epsilon_after(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the cumulative epsilon after each release of a privacy report, which `figures.privacy_price` draws."""
    return {f"{r['name']}, round {r['round']}": float(r["epsilon_cumulative"]) for r in report["releases"]}


class Distribution(BaseModel):
    """Distances to held-out text.

    `rounds` has one row of `measures.distances.compared` for each generator with its `adapter` and `released_score`;
    `sets` one for each data set (`synthetic`, `public_control`). `held_out_distance` is the held-out text's own median
    distance to its medoid, and `floors` are self-distances of held-out text. `features` names the language model whose
    features MAUVE takes; None: the encoder's. In a DP evaluation the rows are those of
    `private_evaluation.ReleasedMean.compare`, `floor` is the Frechet distance that noise alone causes, and the exact
    values (`bias`, `held_out_texts`, `held_out_distance`) are None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: tuple[dict[str, float | int | None], ...] = ()
    sets: dict[str, dict[str, float | int | None]] = {}
    bias: Bias | None = None
    floors: dict[str, Bias] = {}
    held_out_texts: int | None = None
    held_out_distance: float | None = None
    floor: dict[str, float] | None = None
    features: str | None = None


def scorecard(
    *,
    algorithm: str,
    corpus: str,
    protection: Protection,
    accuracy: Mapping[str, Any],
    distribution: Distribution | None,
    costs: Sequence[Cost],
    synthetic_texts: int,
    terms: Terms,
    texts: Mapping[str, Any] | None = None,
    copies: Mapping[str, Any] | None = None,
    tasks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the whole scorecard as strict JSON: numbers that are not finite become null.

    Args:
        algorithm: Name of the algorithm.
        corpus: The private text, in a few words.
        protection: What was protected, and the privacy cost.
        accuracy: The document of `evaluation.paired.compare_scored`.
        distribution: Distances to held-out text; None for an algorithm that returns a model and no text.
        costs: This run's rows of the cost table; the published ones are added.
        synthetic_texts: Size of the data set.
        terms: The terms under which held-out text was measured.
        texts: `measures` (names) of texts alone and `sets` (condition -> values); None without texts.
        copies: The counts of `evaluation.contamination.summary`; None where held-out text was not searched for in
            training text.
        tasks: The documents of the downstream tasks that were measured, by their names (`evaluation.tasks.known`).
    """
    measured = tasks or {}
    guarded = {**protection.model_dump(), "unaccounted": list(_reasons(protection))}
    card = {
        "headline": [
            protection_sentence(guarded),
            epsilon_sentence(guarded),
            *([added] if (added := added_sentence(accuracy)) else []),
            accuracy_sentence(accuracy),
        ],
        "notes": terms.notes(),
        "algorithm": algorithm,
        "corpus": corpus,
        "protection": guarded,
        "terms": terms.model_dump(),
        "synthetic_texts": synthetic_texts,
        "accuracy": accuracy,
        "distribution": _distances(distribution),
        "texts": texts,
        **{task.name: measured.get(task.name) for task in TASKS},
        "copies": copies,
        "cost": cost_rows(costs),
        "limits": [
            *_limits(accuracy, distribution, terms),
            _copies(copies),
            *(sentence for task, document in measured_tasks(measured) for sentence in task.limits(document)),
        ],
    }
    return strict(card)  # type: ignore[no-any-return]


def _reasons(protection: Protection) -> tuple[str, ...]:
    if protection.unaccounted or math.isfinite(protection.epsilon):
        return protection.unaccounted
    return ("its accountant found none",)


def _distances(distribution: Distribution | None) -> dict[str, Any] | None:
    if distribution is None:
        return None
    bias, values = distribution.bias, distribution.model_dump(exclude={"floors", "features"})
    beside: dict[str, Any] = {"floors": {name: floor._asdict() for name, floor in distribution.floors.items()}}
    beside["features"] = distribution.features
    told = {name: value for name, value in beside.items() if value}
    return {**values, "bias": None if bias is None else bias._asdict(), **told}


def _limits(accuracy: Mapping[str, Any], distribution: Distribution | None, terms: Terms) -> list[str]:
    table = accuracy["conditions"]
    said = _limits_of_noisy_figures(distribution) if terms.tested else _limits_of_exact_figures(distribution)
    said.append("Held-out private text was seen by nothing else in the run: it was read for the evaluation alone.")
    if terms.chosen_on_validation:
        said.append("Rate and epoch of every training were chosen on the validation clients' text: no ε covers that.")
    if PRIVATE.name in table:
        said.append(
            "The control 'private text' is trained on the protected text itself: no ε covers its accuracy and the gap "
            "that it measures."
        )
    known = {name: table[name]["texts"] for one in (SYNTHETIC, *CONTROLS) if (name := one.name) in table}
    if len(set(known.values())) > 1:
        listed = ", ".join(f"{name} {texts:,}" for name, texts in known.items())
        said.append(f"The conditions were trained on different numbers of texts ({listed}): compare them with care.")
    return said


def copies_sentence(copies: Mapping[str, Any]) -> str:
    """Return the sentence on held-out samples that are in the training samples too; empty where none is."""
    verbatim, near, samples = copies["verbatim"], copies["near"], copies["samples"]
    if verbatim + near == 0:
        return ""
    return (
        f"Of {samples:,} held-out samples {verbatim:,} stand word for word in training samples of other clients, and "
        f"{near:,} nearly: what is measured on these says little about text that nobody has seen."
    )


def _copies(copies: Mapping[str, Any] | None) -> str:
    if copies is None:
        return (
            "Whether held-out text stands in training text too is not known: clients are split by their ids, and "
            "nobody has compared what they hold."
        )
    return copies_sentence(copies) or "No held-out sample stands in the training samples, word for word or nearly."


def _limits_of_exact_figures(distribution: Distribution | None) -> list[str]:
    floor = [_floor_of_distances(distribution.bias)] if distribution and distribution.bias else []
    return [
        *floor,
        *(_own_floors(distribution) if distribution else ()),
        "Intervals cover the draw of the held-out clients. They do not cover the randomness of training and sampling: "
        "this is one run.",
    ]


def _limits_of_noisy_figures(distribution: Distribution | None) -> list[str]:
    said = [
        "Intervals cover the noise and, on the wide side, the draw of the test clients. They do not cover the "
        "randomness of training and sampling: this is one run.",
        "What a test client can say is bounded: those with much text, or for whom the models differ much, count less.",
    ]
    if distribution is not None:
        said.append(
            "There is no FID: the noise of a whole covariance would drown it. The Frechet distance here is taken on a "
            "few main axes of public text and is no FID; a ± is the deviation of the noise."
        )
    return said


def _own_floors(distribution: Distribution) -> Iterator[str]:
    """Yield a sentence on each distance with a self-distance: its value, or that it was not computed."""
    asked = {name for row in distribution.sets.values() for name in row}
    for each in MEASURES:
        if not isinstance(each, Distance) or each.floor is None or each.name not in asked:
            continue
        if (floor := distribution.floors.get(each.name)) is None:
            yield f"{each.title} is not taken of fewer than {each.fewest} texts a side: of so few it says nothing."
        else:
            yield (
                f"{each.title} of two samples of {floor.size:,} held-out texts each is {each.shown(floor.mean)} ± "
                f"{each.number(floor.stddev)}: compare it with that, not with {each.unit.scale:g}{each.unit.mark}."
            )


def _floor_of_distances(bias: Bias) -> str:
    return (
        f"FID is biased upwards at finite size: two samples of {bias.size:,} held-out texts each are already "
        f"{bias.mean:.3f} apart. Every FID here is taken at that size, so compare it with that floor, not with 0."
    )


def strict(value: Any) -> Any:
    """Return the value as strict JSON: a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [strict(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
