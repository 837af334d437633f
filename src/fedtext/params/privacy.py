"""The privacy declaration of a run: unit, budget, aggregation and noise; it is public (docs/privacy/declaration.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from fedtext.params import Parameters, Seed
from fedtext.system.databases import database_address
from fedtext.system.errors import InputError

Unit = Literal["client", "record"]
Adjacency = Literal["zero_out", "add_remove", "replace_one"]
Sampling = Literal["full", "poisson", "fixed_size"]


SMALLEST_EPSILON, LARGEST_EPSILON = 1e-4, 1e15  # beyond, its noise is lost in rounding


class EnrolmentList(Parameters):
    """The private file with the ids of all who are enrolled, one a line; its path is read only to read the file.

    Other code may check whether there is a list. The guard recognises a reader of private data by the fields that it
    reads (fedtext.params.reading), so the path has a model of its own.
    """

    path: str


class Privacy(Parameters):
    """The privacy declaration of a run.

    `aggregation`: `secure` sums client-quantised vectors by secure aggregation, `local` makes every client add its full
    noise, `trusted` is a curator that holds the data. `honest_fraction` is the declared share of clients whose noise
    shares arrive. `noise_seed` replaces the operating system's entropy and marks the report as a simulation.

    Enrolment is declared, not counted: `population` units in all, those without text included, or the ids in the file
    `enrolment`, one a line. Only a public corpus may be counted. `holders` is the number of clients that hold the
    protected records, those without records included: then noise is added once a client, and not once a record.
    `total_epsilon` is the budget of all releases of the data set together; None: what the first run declared.

    `history` is where releases are recorded beside the data root: a team's database, or None for the user's registry.
    It is a place and no part of what is declared, so it is in no ledger, digest or name of a draw.
    """

    unit: Unit
    adjacency: Adjacency
    epsilon: float = Field(gt=0, allow_inf_nan=True)
    delta: float = Field(gt=0, lt=1)
    sampling: Sampling
    clients_per_round: int | None = Field(ge=1)
    calibration: Literal["exact", "published"]
    noise_multiplier: float | None = Field(gt=0)
    aggregation: Literal["secure", "local", "trusted"]
    honest_fraction: float = Field(gt=0, le=1)
    noise_seed: Seed | None
    population: int | None = Field(ge=1)
    enrolment: EnrolmentList | None
    holders: int | None = Field(ge=1)
    total_epsilon: float | None = Field(gt=0, allow_inf_nan=True)
    history: str | None = Field(exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _a_stored_declaration_has_no_place(cls, given: object) -> object:
        return {"history": None, **given} if isinstance(given, Mapping) else given

    @field_validator("history")
    @classmethod
    def _history_is_a_database_without_a_password(cls, address: str | None) -> str | None:
        return address if address is None else database_address(address, "privacy.history")

    @field_validator("epsilon")
    @classmethod
    def _epsilon_is_of_use(cls, epsilon: float) -> float:
        if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise InputError(
                f"privacy.epsilon is {epsilon:g}: give a number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, as 1 "
                "or 8; below, noise drowns everything, and above nobody is protected",
                code="epsilon-out-of-range",
                parameter="privacy.epsilon",
                value=epsilon,
            )
        return epsilon

    @field_validator("enrolment", mode="before")
    @classmethod
    def _a_list_is_named_by_its_path(cls, named: object) -> object:
        return {"path": named} if isinstance(named, str) else named

    def of_a_run(self) -> Privacy:
        """Return the declaration without what belongs to the data set and not to one run.

        That is enrolment, total budget and history. A ledger is public, and the path of a private file would be part of
        it.
        """
        return self.model_copy(update={"enrolment": None, "total_epsilon": None, "history": None})

    def draw_name(self) -> str:
        """Return a name that distinguishes this declaration's samples of participants from those of others.

        It contains the number of holders, if declared.
        """
        return self.model_dump_json(exclude={"holders"} if self.holders is None else None)

    @model_validator(mode="after")
    def _population_is_told_once(self) -> Self:
        if self.enrolment is not None and self.population is not None:
            raise InputError(
                f"privacy.population is {self.population} and privacy.enrolment {self.enrolment.path}: a list says how "
                "many there are; give one of the two",
                code="population-given-twice",
                parameter="privacy.population",
                value=self.population,
            )
        if self.enrolment is not None and self.unit == "record":
            raise InputError(
                "privacy.enrolment is a list of clients, and privacy.unit is record: give the number of records as "
                "privacy.population",
                code="enrolment-of-records",
                parameter="privacy.enrolment",
            )
        return self

    @model_validator(mode="after")
    def _holders_are_of_declared_records(self) -> Self:
        if self.holders is not None and (self.unit, self.population is None) != ("record", False):
            raise InputError(
                f"privacy.holders is {self.holders}, privacy.unit {self.unit} and privacy.population "
                f"{self.population}: clients hold a declared number of records, so declare unit record and a "
                "population, or leave holders out",
                code="holders-without-population",
                parameter="privacy.holders",
                value=self.holders,
            )
        return self

    @model_validator(mode="after")
    def _sampling_has_a_size(self) -> Self:
        if self.sampling != "full" and self.clients_per_round is None:
            raise InputError(
                f"privacy.clients_per_round is not set, and privacy.sampling is {self.sampling}: say how many units a "
                "round asks on average, or set sampling to full",
                code="clients-per-round-not-set",
                parameter="privacy.clients_per_round",
            )
        if self.sampling == "full" and self.clients_per_round is not None:
            raise InputError(
                f"privacy.clients_per_round is {self.clients_per_round}, but privacy.sampling is full: everybody is "
                "asked; set sampling to poisson or fixed_size, or leave clients_per_round out",
                code="clients-per-round-of-all",
                parameter="privacy.clients_per_round",
                value=self.clients_per_round,
            )
        return self
