"""The ledger: every read of private data in a run, and the privacy cost of all of them together.

It is a value, not a service: a mechanism takes a ledger and returns a charged one, so a repeated node charges once. A
`Release` holds all that its privacy cost depends on; `fedtext.privacy.accounting` computes the cost. Reads of private
data without a mechanism are recorded too, and make epsilon infinite.

The declared aggregation decides which noise is accounted. Under `secure` and `trusted` it is the noise of the sum.
Under `local` every client adds all of the noise itself and the server sees each client's noisy message with its sender:
the other messages are independent of a client, so `noise_stddev` is that of ONE message, the sum (with sqrt(n) times as
much) is post-processing, and sampling that the server observes does not amplify.

A ledger may know several parties (fedtext.privacy.parties), each with a budget of its own: a release is charged to the
parties that took part, and the run's epsilon is that of the party that spent most. Without parties every release is
charged to all units.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Privacy, Sampling, Unit
from fedtext.privacy.accounting import ROUNDING, SampledGaussian, accounted_shift, composed_epsilon
from fedtext.privacy.parties import (
    Party,
    distinct_spend_profiles,
    most_units,
    partition,
    spend_profiles,
    validate_partition,
)
from fedtext.privacy.signal import Signal
from fedtext.system.errors import InputError


class Unaccounted(Parameters):
    """A read of private data without a mechanism, whose result the outputs depend on."""

    name: str
    reason: str


class EvaluationOnly(Parameters):
    """A read of held-out private data on which no later step depends."""

    name: str
    reason: str


Part = Literal["train", "test"]
# A field that had another name in stored ledgers and in the names of noise streams is written under that name still
# (`serialization_alias`), and read under both: a renamed field changes no stored byte and no noise.
STORED_NAMES = ConfigDict(serialize_by_alias=True)
_COST_FIELDS = ("sampling", "rate", "secret_sample", "unit", "steps", "rounds", "non_negative", "parties")


class BudgetExceeded(InputError):  # noqa: N818 - it is the outcome of a check, and reads as one where it is raised
    """Raised when a release would overdraw the declared budget.

    `budget`, `spent`, `asked` (the release alone) and `total` are epsilons. `party` is the name of the party whose
    budget it is; None where the ledger knows no parties.
    """

    def __init__(
        self, name: str, round: int, *, budget: float, spent: float, asked: float, total: float, party: Party | None
    ) -> None:
        self.budget, self.spent, self.asked, self.total = budget, spent, asked, total
        self.party = party and party.name
        whose = f" of {party}" if party else ""
        super().__init__(
            f"the privacy budget{whose} is epsilon {budget:.6g}; {spent:.6g} is spent; '{name}' of round {round} asks "
            f"for {asked:.6g}, which makes {total:.6g}. Add noise, release less often, or declare a larger epsilon",
            code="budget-exceeded",
            parameter="privacy.epsilon",
            value=budget,
        )


class Release(Parameters):
    """One noisy release of a sum of bounded contributions.

    Attributes:
        name: The query's name.
        round: The round of the release.
        mechanism: The mechanism in words.
        sensitivity: The largest L2 norm of one unit's contribution: the most by which zero_out and add_remove move the
            sum. replace_one can move it by twice that, or by sqrt(2) times if contributions are `non_negative`, which
            the ledger takes into account.
        noise_stddev: The standard deviation of the noise that may be relied on (that which is left if declared dropouts
            happen), in the unit of `sensitivity`.
        sampling: How units are sampled.
        rate: The sampling rate.
        unit: The unit of privacy.
        steps: How many equal releases share this entry.
        rounds: How many rounds one release covers, where their releases are one mechanism; it changes no privacy cost.
        non_negative: No contribution has a coordinate below 0 (counts, votes): two such vectors are never more than a
            right angle apart.
        secret_sample: A local query of one party, which samples its own units and adds the noise before any other party
            sees a value, so that sampling amplifies under local noise too. The server sees the result and its sender.
        parties: Names of the parties that took part and are charged; None: all.
    """

    model_config = STORED_NAMES

    name: str
    round: int = Field(ge=0)
    mechanism: str
    sensitivity: float = Field(gt=0, allow_inf_nan=False)
    noise_stddev: float = Field(gt=0, allow_inf_nan=False)
    sampling: Sampling = "full"
    rate: float = Field(1.0, gt=0, le=1)
    unit: Unit = "client"
    steps: int = Field(1, ge=1)
    rounds: int = Field(1, ge=1)
    non_negative: bool = Field(False, exclude_if=operator.not_)
    secret_sample: bool = Field(
        False,
        exclude_if=operator.not_,
        validation_alias=AliasChoices("secret_sample", "secret_draw"),
        serialization_alias="secret_draw",
    )
    parties: tuple[str, ...] | None = Field(None, min_length=1, exclude_if=operator.not_)

    @field_validator("parties")
    @classmethod
    def _sorted_parties(cls, parties: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if parties is None else tuple(sorted(set(parties)))

    @model_validator(mode="after")
    def _validate_rate(self) -> Release:
        if self.sampling == "full" and self.rate != 1:
            raise InputError(
                f"{self.name}: rate is {self.rate} with sampling 'full': it must be 1",
                code="release-of-all-below-rate-one",
            )
        return self

    @property
    def noise_multiplier(self) -> float:
        """Noise stddev over sensitivity."""
        return self.noise_stddev / self.sensitivity

    def stream_name(self) -> str:
        """Return the name of the release's random streams: all fields but `non_negative`, which affects the cost only.

        Noise is bound to the sum it hides as well, so two releases that are equal otherwise share no noise that their
        difference could cancel.
        """
        return self.model_dump_json(exclude={"non_negative"})

    def as_sampled(self, *, watched: bool = False) -> SampledGaussian:
        """Return the release as the accountant's type; sampling that the server watched counts as none."""
        shift = accounted_shift(self.sensitivity / self.noise_stddev)
        watched = watched and not self.secret_sample
        sampling: Sampling = "full" if watched else self.sampling
        return SampledGaussian(sampling, 1.0 if watched else self.rate, shift, self.steps, self.non_negative)

    def as_noisy_as(self, other: Release) -> bool:
        """Return True if both have the same privacy cost for the same parties.

        Noise (up to rounding), sampling, unit, sign, steps and rounds must agree.
        """
        return math.isclose(self.noise_multiplier, other.noise_multiplier, rel_tol=ROUNDING) and all(
            getattr(self, field) == getattr(other, field) for field in _COST_FIELDS
        )

    def costs(self, party: str | None) -> bool:
        """Return True if the release is charged to the party."""
        return self.parties is None or party in self.parties

    def repeats(self, other: Release) -> bool:
        """Return True if both have one name and round, and a party took part in both."""
        shared = None in (self.parties, other.parties) or set(self.parties or ()) & set(other.parties or ())
        return bool(shared) and (self.name, self.round) == (other.name, other.round)


class Plan(Parameters):
    """The releases and reads that a run was opened for (`Ledger.planned`), apart from the ledger that is charged."""

    releases: tuple[Release, ...] | None
    signals: tuple[Signal, ...] = ()


class Ledger(Parameters):
    """All reads of a run's private data under one declaration.

    Attributes:
        declaration: The run's declared privacy parameters; its delta holds for every party.
        population: The number of units that accounting uses; it is public.
        part: The clients whose data are read: training or test clients.
        parties: All data holders of the units, each with its own budget, none above the declared epsilon; empty: the
            ledger does not tell them apart.
        partition_rule: The name of the rule that partitions the units among the parties, where runs may have several
            for the same names.
        enrolled: The public number of units, where parties are accounted as larger than they are, so that their
            populations add up to more.
        planned: The releases that the run was opened for; None: it was not opened by a plan. Nothing else can be
            charged: a release must be of a planned name and round, at the planned noise.
        signals: Signal and noise of the planned releases; empty where nothing is released.
        planned_unaccounted: The plan also includes a read of private data without a mechanism.
        releases: The releases charged so far.
        unaccounted: The reads without a mechanism so far.
        evaluation_only: The held-out evaluations so far.
    """

    model_config = STORED_NAMES

    declaration: Privacy
    population: int = Field(ge=1)
    part: Part = "train"
    parties: tuple[Party, ...] = Field((), exclude_if=operator.not_)
    partition_rule: str = Field(
        "",
        exclude_if=operator.not_,
        validation_alias=AliasChoices("partition_rule", "deal"),
        serialization_alias="deal",
    )
    enrolled: int | None = Field(None, ge=1, exclude_if=operator.not_)
    planned: tuple[Release, ...] | None = None
    signals: tuple[Signal, ...] = Field((), exclude_if=operator.not_)
    planned_unaccounted: bool = False
    releases: tuple[Release, ...] = ()
    unaccounted: tuple[Unaccounted, ...] = ()
    evaluation_only: tuple[EvaluationOnly, ...] = ()

    @model_validator(mode="after")
    def _parties_hold_all_units(self) -> Ledger:
        validate_partition(self.parties, self.population, self.declaration.epsilon)
        return self

    def charge(self, release: Release) -> Ledger:
        """Return the ledger with one more release. Call it before the first private value is read.

        Raises:
            BudgetExceeded: the release would overdraw the budget, or that of a party that takes part.
            ValueError: the release protects another unit than was declared, names a party that the ledger does not
                know, is in the ledger already, or is not one that the ledger was opened for.
        """
        self._validate_release(release)
        if self.planned is not None:
            self._validate_planned(release, self.planned)
        charged = self.model_copy(update={"releases": (*self.releases, release)})
        for party, budget, total in charged.overdrawn():
            if release.costs(name := party.name if party else None):
                asked = self.model_copy(update={"releases": (release,)}).spent(party=name)
                sums = {"budget": budget, "spent": self.spent(party=name), "asked": asked, "total": total}
                raise BudgetExceeded(release.name, release.round, party=party, **sums)
        return charged

    def unaccounted_read(self, name: str, reason: str) -> Ledger:
        """Return the ledger with a read that no mechanism protects: epsilon is infinite from here on."""
        return self.model_copy(update={"unaccounted": (*self.unaccounted, Unaccounted(name=name, reason=reason))})

    def evaluation_only_read(self, name: str, reason: str) -> Ledger:
        """Return the ledger with a held-out evaluation, which costs nothing as long as no output depends on it."""
        entry = EvaluationOnly(name=name, reason=reason)
        return self.model_copy(update={"evaluation_only": (*self.evaluation_only, entry)})

    def epsilon(self, adjacency: Adjacency | None = None) -> float:
        """Compute epsilon at the declared delta of all reads, under the declared or another adjacency.

        With parties it is the epsilon of the party that spent most, which holds for every unit.

        Raises:
            ValueError: no sound epsilon is known for the releases under this adjacency.
        """
        return math.inf if self.unaccounted else self.spent(adjacency)

    def spent(self, adjacency: Adjacency | None = None, *, party: str | None = None) -> float:
        """Compute epsilon at the declared delta of the releases alone: of `party`, or of the party that spent most."""
        return max(
            composed_epsilon(paid, delta=self.declaration.delta, adjacency=adjacency or self.declaration.adjacency)
            for paid in self.mechanisms(party=party)
        )

    def mechanisms(self, *, party: str | None = None) -> list[list[SampledGaussian]]:
        """Return the charged releases as the accountant's type: those of `party`, or of each that paid differently."""
        participants = [release.parties for release in self.releases]
        paid = (
            distinct_spend_profiles(participants) if party is None else {spend_profiles(participants, [party])[party]}
        )
        watched = self.declaration.aggregation == "local"
        return [[self.releases[at].as_sampled(watched=watched) for at in profile] for profile in paid]

    def overdrawn(self) -> Iterator[tuple[Party | None, float, float]]:
        """Yield (party, budget, spent) for each party over its budget.

        Parties charged for the same releases are reported once; the party is None if the ledger has no parties.
        """
        known = spend_profiles([release.parties for release in self.releases], [party.name for party in self.parties])
        alike: dict[object, Party] = {}
        for party in self.parties:
            alike.setdefault((known[party.name], party.epsilon), party)
        for payer in alike.values() or (None,):
            budget, total = (payer or self.declaration).epsilon, self.spent(party=payer.name if payer else None)
            if total > budget * (1 + ROUNDING):
                yield payer, budget, total

    @property
    def partition(self) -> str:
        """Digest of the partition of units among parties: equal for equal partitions, empty without parties."""
        return partition(self.parties, self.partition_rule)

    @property
    def protected_units(self) -> int:
        """The public number of units, for display; accounting uses `population`."""
        return self.enrolled or self.population

    @property
    def most_units(self) -> int:
        """The largest number of units that may be enrolled."""
        return most_units(self.declaration, self.population)

    def _validate_release(self, release: Release) -> None:
        if release.unit != self.declaration.unit:
            raise InputError(
                f"'{release.name}' protects a {release.unit}, the declared unit is a {self.declaration.unit}: "
                "bound and noise the contribution of the declared unit",
                code="release-protects-another-unit",
                value=release.unit,
            )
        if strangers := set(release.parties or ()) - {party.name for party in self.parties}:
            raise InputError(
                f"'{release.name}' names the party '{min(strangers)}', which the ledger does not know: open it with "
                "every party (open_ledger), or let all take part",
                code="release-names-unknown-party",
                value=min(strangers),
            )
        if any(release.repeats(entry) for entry in self.releases):
            raise InputError(
                f"'{release.name}' of round {release.round} is in the ledger already: a repeated node must start "
                "from the ledger it was given first, and another release needs another name",
                code="release-repeated",
                value=release.name,
            )

    def _validate_planned(self, release: Release, planned: tuple[Release, ...]) -> None:
        named = [plan for plan in planned if (plan.name, plan.round) == (release.name, release.round)]
        if not any(plan.as_noisy_as(release) for plan in named):
            raise InputError(
                f"'{release.name}' of round {release.round} at noise multiplier {release.noise_multiplier:.6g} is not "
                "what the ledger was opened for: plan it (open_ledger), or release what was planned",
                code="release-not-planned",
                value=release.name,
            )


def open_ledger(
    declaration: Privacy,
    population: int,
    planned: Sequence[Release],
    *,
    part: Part = "train",
    parties: Sequence[Party] = (),
) -> Ledger:
    """Open an empty ledger, after checking that the declaration is valid and that the plan keeps its budgets.

    Args:
        declaration: The run's declared privacy parameters.
        population: The public number of units; with parties the sum of their populations.
        planned: All releases that may be made.
        part: The clients whose data are read.
        parties: All data holders of the units, if they are told apart.

    Raises:
        BudgetExceeded: the planned releases together overdraw the budget, or a party's.
        ValueError: no unit, a delta of 1 / population of any party or more (which would allow publishing one unit
            outright), parties that do not hold all units, or a plan without a sound epsilon under the declared
            adjacency.
    """
    if population < 1:
        raise InputError(
            f"population is {population}: there is no unit to protect; check the private data",
            code="nobody-to-protect",
            parameter="population",
            value=population,
        )
    for party in parties or (None,):
        _validate_delta(declaration, population, part, party)
    ledger = Ledger(declaration=declaration.of_a_run(), population=population, part=part, parties=tuple(parties))
    everything = ledger.model_copy(update={"releases": tuple(planned)})
    if any(True for _ in everything.overdrawn()):
        charged = ledger
        for release in planned:  # one after another, to name the one that overdraws
            charged = charged.charge(release)
    for release in planned:
        ledger._validate_release(release)
    return ledger.model_copy(update={"planned": tuple(planned)})


def _validate_delta(declaration: Privacy, population: int, part: Part, party: Party | None) -> None:
    held, whose = (party.population, f" of {party}") if party else (population, "")
    if declaration.delta >= 1 / held:
        kind = "training" if part == "train" else part
        raise InputError(
            f"privacy.delta is {declaration.delta} for {held} {kind} {declaration.unit}s{whose}: it must be below "
            f"1 / {held} = {1 / held:.3g}, better far below",
            code="delta-above-one-unit",
            parameter="privacy.delta",
            value=declaration.delta,
        )
