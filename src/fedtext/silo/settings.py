"""What the person at a silo declares in one file: whom it protects, at which price, and where its text is.

Nothing that a server says changes any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError, field_validator

from fedtext.federation.inquiry import Card, Name, SecureSum, SecureTerms
from fedtext.params import Parameters
from fedtext.params.corpus import Chunking, ClientIds, Corpus
from fedtext.params.privacy import Adjacency, Privacy, Unit
from fedtext.privacy.parties import Party
from fedtext.silo.pairwise_masks import validate_publics
from fedtext.system.alike import code_name
from fedtext.system.errors import InputError, MissingFileError, did_you_mean
from fedtext.system.refusal import faults_of, parameters_refusal
from fedtext.system.unique_keys import UniqueKeysLoader, yaml_fault

FILE = "silo.yml"


class Table(Parameters):
    """The table of the silo's text, and its columns (`fedtext.params.corpus.Corpus`)."""

    path: str
    text_column: str
    client_column: str | None
    client_ids: ClientIds
    label_column: str
    code_columns: tuple[str, ...]
    date_column: str

    def corpus(self, beside: Path) -> Corpus:
        """Return it as the corpus that `fedtext.corpora.table` reads; a relative path starts at `beside`."""
        path = str(beside / Path(self.path).expanduser())
        named = self.model_dump(exclude={"path"})
        return Corpus.model_construct(source="table", path=path, public_path=None, silo_column="silo", **named)


class Protection(Parameters):
    """Whom the silo protects, and what all releases of its text together may cost."""

    unit: Unit
    population: int = Field(ge=1)
    adjacency: Adjacency
    epsilon: float = Field(gt=0)
    delta: float = Field(gt=0, lt=1)


class Models(Parameters):
    """The public models that read the text: the encoder, the tokenizer that cuts it, and the generator that is trained.

    Without a generator the silo trains nothing.
    """

    encoder: str
    tokenizer: str
    generator: str | None


class SecureSums(Parameters):
    """The secure sums in which the silo takes part, and the silos with which it shares secrets.

    Each of `peers` is another silo's name and public key, as `fedtext-silo key` prints it there. The people at the
    silos tell each other: a key that came from the server would be the server's.
    """

    minimum: int = Field(ge=2)
    honest_fraction: float = Field(gt=0, le=1)
    peers: dict[Name, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]

    @field_validator("peers")
    @classmethod
    def _of_different_silos(cls, peers: dict[str, str]) -> dict[str, str]:
        validate_publics(peers)
        return peers


class Link(Parameters):
    """The way to the server's SuperLink.

    Without `root_certificates` the connection is not encrypted, and without `private_key` the silo is not
    authenticated: for a rehearsal on one machine alone.
    """

    superlink: str
    root_certificates: str | None
    private_key: str | None


class Silo(Parameters):
    """One silo."""

    name: Name
    table: Table
    protection: Protection
    chunking: Chunking
    models: Models
    secure_sums: SecureSums
    link: Link
    folder: str

    @property
    def card(self) -> Card:
        """What the silo says of itself."""
        own = self.protection.model_dump()
        return Card(name=self.name, encoder=self.models.encoder, secure_sums=self.terms, code=code_name(), **own)

    @property
    def terms(self) -> SecureTerms:
        """What the silo demands of a secure sum."""
        demanded = self.secure_sums
        peers = tuple(sorted(demanded.peers))
        return SecureTerms(minimum=demanded.minimum, honest_fraction=demanded.honest_fraction, peers=peers)

    @property
    def party(self) -> Party:
        """The silo as a party of its own ledger."""
        return Party(
            name=self.name, kind="silo", population=self.protection.population, epsilon=self.protection.epsilon
        )

    def privacy(self, secure: SecureSum | None = None) -> Privacy:
        """Return the silo's own declaration: it adds all of its noise, or a share of it; all units answer."""
        own = self.protection
        return Privacy(
            unit=own.unit,
            adjacency=own.adjacency,
            epsilon=own.epsilon,
            delta=own.delta,
            sampling="full",
            clients_per_round=None,
            calibration="exact",
            noise_multiplier=None,
            aggregation="local" if secure is None else "secure",
            honest_fraction=1.0 if secure is None else secure.honest_fraction,
            noise_seed=None,
            population=None,
            enrolment=None,
            holders=None,
            total_epsilon=own.epsilon,
            history=None,
        )


def read_settings(file: Path) -> Silo:
    """Return the silo that a file declares.

    Raises:
        FileNotFoundError: there is no such file.
        RunRefusedError: it has faults; each is named.
    """
    if not file.is_file():
        raise MissingFileError(
            f"{file} is not a file: write one by `fedtext-silo init`, or name yours by --settings",
            code="missing-silo-file",
            value=str(file),
        )
    try:
        return settings_of(file.read_text("utf-8"), file)
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"byte {error.start} is no UTF-8 text") from None


def settings_of(text: str, file: Path) -> Silo:
    """Return the silo that the text of a file declares.

    Raises:
        RunRefusedError: it has faults; each is named.
    """
    try:
        declared: Any = yaml.load(text, Loader=UniqueKeysLoader)
    except yaml.YAMLError as error:
        fault = yaml_fault(error) if isinstance(error, yaml.MarkedYAMLError) else "a character that it cannot have"
        raise _unreadable(file, fault) from None
    if not isinstance(declared, dict):
        raise _unreadable(file, "it holds no names with values")
    try:
        return Silo.model_validate(declared)
    except ValidationError as error:
        found = zip(error.errors(include_url=False), faults_of(error, str(file), declared), strict=True)
        raise parameters_refusal(
            [_unknown(file, one["loc"]) if one["type"] == "extra_forbidden" else fault for one, fault in found]
        ) from None


def _unreadable(file: Path, fault: str) -> InputError:
    return InputError(
        f"{file} is no YAML file of names and values ({fault}): correct it, or write a new one by `fedtext-silo init`",
        code="unreadable-silo-file",
        value=str(file),
    )


def _unknown(file: Path, where: Sequence[str | int]) -> InputError:
    """Return the error about a name that a silo's file does not have."""
    group: Any = Silo
    for part in where[:-1]:
        group = group.model_fields[part].annotation
    name = ".".join(map(str, where))
    return InputError(
        f"{file} has a value {name}, which no silo's file has: {did_you_mean(where[-1], group.model_fields)}",
        code="unknown-silo-value",
        parameter=name,
    )
