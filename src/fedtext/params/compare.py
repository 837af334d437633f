"""The runs that a comparison includes, their seeds, and the paper's claims to test."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from fedtext.params import Parameters, Seed, words
from fedtext.params.conditions import BESIDE, CONDITIONS
from fedtext.system.errors import InputError, did_you_mean

# The same split and public text throughout: the seeds show what the algorithms vary, and results pair.
FIXED_SEEDS = ("partition", "described")
SEEDS = ("seed", "noise_seed")


class Entry(Parameters):
    """One line of the comparison: an algorithm, and the parameters in which it differs from the run's."""

    algorithm: str
    params: dict[str, dict[str, Any]]


class Claim(Parameters):
    """A sentence of the paper about two entries (or an entry and a condition such as `eps0`).

    `more`: `better` is better than `worse` by each of `measures` that both sides have, each judged by itself and in its
    own direction. `alike`: by what is measured on held-out texts they differ by no more than `Claims.margin` of the gap
    between the public model and training on the private text. `measures`, names of the known measures, are by default
    those of the comparison.
    """

    says: str
    better: str
    worse: str
    relation: Literal["more", "alike"]
    measures: tuple[str, ...]

    _words = field_validator("measures", mode="before")(words)

    @property
    def entry(self) -> str:
        """The entry that the claim is about; a condition on the other side is the one scored in the same run."""
        return self.worse if self.better in BESIDE else self.better

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        conditions = [side for side in (self.better, self.worse) if side in BESIDE]
        if len(conditions) == 2:
            raise InputError(
                f"the claim {self.says!r} is about two conditions: name an entry on one side",
                code="claim-of-one-side",
                parameter="compare.claims",
                value=self.says,
            )
        return self


class Claims(Parameters):
    """The claims to test, by name, and the `measures` by which runs are compared; by default all that they have."""

    measures: tuple[str, ...]
    margin: float = Field(gt=0, lt=1)
    judged: dict[str, Claim]

    _words = field_validator("measures", mode="before")(words)

    def validate_names(self, entries: Collection[str]) -> None:
        """Raise ValueError for a claim about something that is neither an entry nor a condition."""
        for claim in self.judged.values():
            for side in (claim.better, claim.worse):
                if side not in entries and side not in BESIDE:
                    raise InputError(
                        f"the claim {claim.says!r} is about {side!r}, no entry of compare.entries: "
                        f"{did_you_mean(side, {*entries, *BESIDE}, 'add the entry')}",
                        code="claim-of-unknown-entry",
                        parameter="compare.claims",
                        value=side,
                    )


class Compare(Parameters):
    """`algorithms` are names of `entries` or of algorithms; the command line gives them in one string."""

    algorithms: tuple[str, ...] = Field(min_length=1)
    seeds: tuple[Seed, ...] = Field(min_length=1)
    entries: dict[str, Entry]

    _words = field_validator("algorithms", "seeds", mode="before")(words)

    @field_validator("algorithms", "seeds")
    @classmethod
    def _each_once(cls, value: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        if len(set(value)) < len(value):
            raise InputError(
                f"compare.{info.field_name} is '{' '.join(map(str, value))}': name each once",
                code="compared-twice",
                parameter=f"compare.{info.field_name}",
                value=value,
            )
        return value

    @field_validator("entries")
    @classmethod
    def _plain_names(cls, value: dict[str, Entry]) -> dict[str, Entry]:
        for name in value:
            if not name.isidentifier() or name in CONDITIONS:
                raise InputError(
                    f"entry {name!r} names files and datasets: use letters, digits and underscores",
                    code="unusable-entry-name",
                    parameter="compare.entries",
                    value=name,
                )
        return value

    @field_validator("entries")
    @classmethod
    def _no_seed_of_their_own(cls, value: dict[str, Entry]) -> dict[str, Entry]:
        for name, entry in value.items():
            groups = {group: values for group, values in entry.params.items() if group not in FIXED_SEEDS}
            own = [f"{group}.{one}" for group, values in groups.items() for one in SEEDS if values.get(one) is not None]
            if own:
                raise InputError(
                    f"entry {name!r} sets {own[0]}: all its runs would draw the same, and its interval be too narrow; "
                    "leave it out, and name seeds in compare.seeds",
                    code="entry-with-seed",
                    parameter="compare.entries",
                    value=own[0],
                )
        return value

    def validate_names(self, known: Collection[str]) -> None:
        """Raise ValueError for a name that is no entry and no algorithm, or an entry of an unknown algorithm.

        `known` are the names of all algorithms.
        """
        if unknown := [name for name in self.algorithms if name not in {*self.entries, *known}]:
            among = (
                f"choose among the algorithms ({', '.join(known)}) and compare.entries ({', '.join(self.entries)}), or "
                "add an entry"
            )
            raise InputError(
                f"compare.algorithms names {', '.join(unknown)}: "
                f"{did_you_mean(unknown[0], {*self.entries, *known}, among)}",
                code="unknown-comparison",
                parameter="compare.algorithms",
                value=unknown,
            )
        for name, entry in self.chosen.items():
            if entry.algorithm not in known:
                raise InputError(
                    f"compare.entries.{name} is of algorithm {entry.algorithm!r}: "
                    f"{did_you_mean(entry.algorithm, known)}",
                    code="unknown-algorithm",
                    parameter=f"compare.entries.{name}.algorithm",
                    value=entry.algorithm,
                )

    @property
    def chosen(self) -> dict[str, Entry]:
        """The entries to run, those without parameters of their own first, since the others start from their files."""
        named = {name: self.entries.get(name) or Entry(algorithm=name, params={}) for name in self.algorithms}
        return dict(sorted(named.items(), key=lambda item: bool(item[1].params)))
