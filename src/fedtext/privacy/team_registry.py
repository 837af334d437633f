"""The registry of a team's releases, in a PostgreSQL database: one budget for all who work on the same people's text.

`privacy.history=postgresql://...` puts it in the place of the user's own registry (fedtext.privacy.registry), whose
records and refusals it has. The database holds no text and no id: data sets are sketches, which are random numbers to
whoever lacks the team's key. The key is a file of each member's and never sent.

A charge is one transaction. It locks the data sets of the data root and those that share people with them, so charges
of other people's data do not wait for it. A transaction that first records a data set waits for all charges. It ends
when the connection does, so a member whose machine fell off the network holds no lock for long.

A data root's name has its machine's name before its path, for machines have like paths.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from fedtext.privacy.registry import KEY_BYTES, DataRoot, Registered, Registry, ReleaseRegistry, Sketch, sketch
from fedtext.privacy.spending import Spent
from fedtext.system.folders import make_own_folder, own_file, state_folder
from fedtext.system.refusal import RunRefusedError

if TYPE_CHECKING:
    from psycopg import Cursor

OF_ROOTS = "WHERE data_root = ANY(%s)"
PATIENCE = 120  # seconds for the lock of a data set, which others hold for the moment of a charge
SILENCE = 60  # seconds after which the lock of a machine is given back that says nothing
CONNECT_PATIENCE = 15
VERSION = 1  # of the tables
TABLES = """
CREATE SCHEMA fedtext
    CREATE TABLE registry (version integer NOT NULL, id text NOT NULL, key_check text NOT NULL)
    CREATE TABLE data_set (name text PRIMARY KEY, sketch bytea NOT NULL)
    CREATE TABLE shared_people (
        one text NOT NULL REFERENCES data_set, other text NOT NULL REFERENCES data_set, PRIMARY KEY (one, other))
    CREATE TABLE data_root (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, removed boolean NOT NULL DEFAULT false)
    CREATE UNIQUE INDEX data_root_name ON data_root (name) WHERE NOT removed
    CREATE TABLE data_read (
        data_root bigint NOT NULL REFERENCES data_root, data_set text NOT NULL REFERENCES data_set,
        PRIMARY KEY (data_root, data_set))
    CREATE TABLE release (
        made bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data_root bigint NOT NULL REFERENCES data_root,
        digest bytea NOT NULL, entry text NOT NULL, UNIQUE (data_root, digest))
"""
# Whatever the database's defaults are: who has waited for a lock sees what was written meanwhile, a charge is on the
# disk when it is confirmed, and the locks of who was cut off are given back.
SETTINGS = f"""
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL synchronous_commit = on;
SET LOCAL lock_timeout = '{PATIENCE}s';
SET LOCAL idle_in_transaction_session_timeout = '{SILENCE}s'
"""
ROOTS_OF = """
WITH own AS (SELECT id FROM fedtext.data_root WHERE name = ANY(%(names)s) AND NOT removed),
    theirs AS (SELECT data_set FROM fedtext.data_read WHERE data_root IN (SELECT id FROM own)),
    same AS (SELECT data_set FROM theirs
        UNION SELECT other FROM fedtext.shared_people WHERE one IN (SELECT data_set FROM theirs))
"""
LOCKED = ROOTS_OF + "SELECT data_set FROM same"
RELATED = (
    ROOTS_OF
    + """SELECT id, name, removed FROM fedtext.data_root WHERE id IN (SELECT id FROM own)
    OR id IN (SELECT data_root FROM fedtext.data_read WHERE data_set IN (SELECT data_set FROM same)) ORDER BY id"""
)
KEYS = "team_keys"  # folder of the user's state
LOCAL = ("", "localhost", "127.0.0.1", "::1")


def is_installed() -> bool:
    """Return whether the driver of PostgreSQL can be imported."""
    return find_spec("psycopg") is not None


def registry_at(address: str | None) -> ReleaseRegistry:
    """Return the team's registry in a database, or the user's own where none is named."""
    return Registry() if address is None else TeamRegistry(address)


class TeamRegistry:
    """The registry of a team's data roots.

    Args:
        address: `postgresql://...` without a password, which libpq finds (`PGPASSWORD`, `~/.pgpass`).
        host: The name of this machine, in the names of data roots.
    """

    def __init__(self, address: str, host: str | None = None) -> None:
        self._address, self._host = address, host or platform.node()
        self._open: Cursor[Any] | None = None
        self._known_key: bytes | None = None

    @property
    def place(self) -> str:
        """The database, for messages."""
        parts = urlsplit(self._address)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def name_of(self, path: Path) -> str:
        """Return the name of a data root: this machine's, and the path there."""
        return f"{self._host}:{path.resolve()}"

    def check(self) -> None:
        """Check that the database answers and that this user has the team's key; make the tables in an empty one.

        Raises:
            RunRefusedError: it does not, or the user has not.
        """
        with self._transaction():
            pass

    @contextmanager
    def locked(self, paths: Collection[Path], *, whole: bool = False) -> Iterator[None]:
        """Hold the locks of the data sets of data roots, and of all that share people with them, for one transaction.

        It is written when the block ends. `whole` waits for all charges: a data set may be recorded in the block.

        Raises:
            RunRefusedError: the database does not answer, or has not confirmed what was written.
        """
        with self._transaction() as cursor:
            cursor.execute(f"SELECT pg_advisory_xact_lock{'' if whole else '_shared'}(%s)", [_lock("")])
            if not whole:
                cursor.execute(LOCKED, {"names": [self.name_of(path) for path in paths]})
                for lock in sorted({_lock(name) for (name,) in cursor.fetchall()}):  # in one order: no ring of waiting
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
            yield

    def data_root(self, path: Path) -> DataRoot:
        """Return a data root's entry; an empty one where the registry has none."""
        with self._transaction() as cursor:
            return self._data_root(cursor, path)

    def related(self, roots: Collection[Path]) -> list[DataRoot]:
        """Return the data roots themselves and all others in which data sets with one of their units were read."""
        with self._transaction() as cursor:
            cursor.execute(RELATED, {"names": [self.name_of(path) for path in roots]})
            return _filled(cursor, cursor.fetchall())

    def register_data_set(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> None:
        """Record which data set was read in a data root; the caller must hold the whole lock."""
        with self._transaction() as cursor:
            name, kept = sketch(clients, texts, self._key(cursor))
            cursor.execute("SELECT 1 FROM fedtext.data_set WHERE name = %s", [name])
            if not cursor.fetchall():  # the random values that fill a sketch up are drawn once
                others = [one for one, other in _sketches(cursor) if kept.shares_units(other)]
                cursor.execute("INSERT INTO fedtext.data_set VALUES (%s, %s)", [name, kept.to_bytes()])
                pairs = [pair for other in others for pair in ((name, other), (other, name))]
                cursor.executemany("INSERT INTO fedtext.shared_people VALUES (%s, %s)", pairs)
            cursor.execute(
                "INSERT INTO fedtext.data_read VALUES (%s, %s) ON CONFLICT DO NOTHING", [self._id(cursor, path), name]
            )

    def is_of(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> bool:
        """Return whether a data set has a unit of those read in a data root."""
        with self._transaction() as cursor:
            _, kept = sketch(clients, texts, self._key(cursor))
            names = self._data_root(cursor, path).data_sets
            return any(kept.shares_units(one) for name, one in _sketches(cursor) if name in names)

    def retire(self, path: Path) -> None:
        """Release a data root's name for other data; its releases still count for the people behind them."""
        with self._transaction() as cursor:
            cursor.execute(
                "UPDATE fedtext.data_root SET removed = true WHERE name = %s AND NOT removed", [self.name_of(path)]
            )

    def add(self, path: Path, entries: Iterable[Spent]) -> None:
        """Record the releases of a data root that are not yet recorded; the caller must hold the lock."""
        with self._transaction() as cursor:
            if not (written := [entry.model_dump_json() for entry in dict.fromkeys(entries)]):
                return
            root = self._id(cursor, path)
            cursor.executemany(
                "INSERT INTO fedtext.release (data_root, digest, entry) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                [(root, hashlib.sha256(one.encode()).digest(), one) for one in written],
            )

    def _data_root(self, cursor: Cursor[Any], path: Path) -> DataRoot:
        name = self.name_of(path)
        cursor.execute("SELECT id, name, removed FROM fedtext.data_root WHERE name = %s AND NOT removed", [name])
        return next(iter(_filled(cursor, cursor.fetchall())), DataRoot(path=name))

    def _id(self, cursor: Cursor[Any], path: Path) -> int:
        """Return the number of a data root, which is given one if it has none."""
        name = self.name_of(path)
        cursor.execute("INSERT INTO fedtext.data_root (name) VALUES (%s) ON CONFLICT DO NOTHING", [name])
        cursor.execute("SELECT id FROM fedtext.data_root WHERE name = %s AND NOT removed", [name])
        return int(cursor.fetchall()[0][0])

    @contextmanager
    def _transaction(self) -> Iterator[Cursor[Any]]:
        """Yield the transaction at hand, or one for the block alone.

        Each has a connection of its own: none is idle for hours, to be cut by a firewall, and none is open in a node.
        """
        if self._open is not None:
            yield self._open
            return
        import psycopg

        try:
            with psycopg.connect(**self._settings()) as connection, connection.cursor() as cursor:
                self._open = cursor
                cursor.execute(SETTINGS)
                self._key(cursor)
                yield cursor
        except psycopg.errors.LockNotAvailable:
            raise RunRefusedError(
                f"another run has held releases of the same people in {self.place} for {PATIENCE} s: nothing was "
                "released; run the same command again when it has ended",
                code="team-history-busy",
                parameter="privacy.history",
                value=self.place,
            ) from None
        except psycopg.Error as error:
            raise TeamHistoryLostError(
                f"the team's history {self.place} does not answer or refuses ({_said(error)}): nothing was released; "
                "look at the database, at the password that libpq finds (PGPASSWORD, ~/.pgpass) and at the rights of "
                "this user, and run the same command again",
                code="team-history-lost",
                parameter="privacy.history",
                value=self.place,
            ) from None
        finally:
            self._open = None

    def _settings(self) -> dict[str, Any]:
        """Return libpq's settings: encrypted over a network, unless the address says otherwise."""
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self._address)
        host = str(given.get("host") or given.get("hostaddr") or "")
        here = host in LOCAL or host.startswith("/") or "PGSSLMODE" in os.environ
        own = {"connect_timeout": CONNECT_PATIENCE, "application_name": "fedtext", "client_encoding": "utf8"}
        return {**own, **({} if here else {"sslmode": "require"}), **given}

    def _key(self, cursor: Cursor[Any]) -> bytes:
        """Return the team's key, a file of the user's; the first user of an empty database draws one.

        Raises:
            RunRefusedError: the user has none, or another; or the tables are of another version.
        """
        if self._known_key is None:
            self._known_key = self._found_key(cursor)
        return self._known_key

    def _found_key(self, cursor: Cursor[Any]) -> bytes:
        if not _has_tables(cursor) and (made := _make_tables(cursor)) is not None:
            return made
        cursor.execute("SELECT version, id, key_check FROM fedtext.registry")
        version, team, check = cursor.fetchall()[0]
        if version != VERSION:
            raise RunRefusedError(
                f"the tables of {self.place} are of version {version}, and this fedtext writes version {VERSION}: use "
                "the version of fedtext that the team uses",
                code="team-history-version",
                parameter="privacy.history",
                value=version,
            )
        file = _key_file(team)
        try:
            key = bytes.fromhex(file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            key = b""
        if _check(key) != check:
            raise RunRefusedError(
                f"{file} is not the key by which {self.place} knows people: copy the file of that name from a member "
                "of the team who has it, as one hands on a password",
                code="team-key-missing",
                parameter="privacy.history",
                value=str(file),
            )
        return key


class TeamHistoryLostError(RunRefusedError):
    """The team's history did not answer, or did not confirm what was written."""


def _has_tables(cursor: Cursor[Any]) -> bool:
    # not to_regclass, which remembers what it has not found
    cursor.execute("SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'fedtext' AND tablename = 'registry')")
    return bool(cursor.fetchall()[0][0])


def _make_tables(cursor: Cursor[Any]) -> bytes | None:
    """Make the tables, and a key in a file of this user's; of two who do so at once the second finds them: None."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock("tables")])
    if _has_tables(cursor):
        return None
    cursor.execute(TABLES)
    team, key = secrets.token_hex(8), secrets.token_bytes(KEY_BYTES)
    make_own_folder(_key_file(team).parent)
    with own_file(_key_file(team)) as temporary:
        temporary.write_text(key.hex(), encoding="ascii")
    cursor.execute("INSERT INTO fedtext.registry VALUES (%s, %s, %s)", [VERSION, team, _check(key)])
    return key


def _filled(cursor: Cursor[Any], roots: Sequence[tuple[int, str, bool]]) -> list[DataRoot]:
    """Return the entries of data roots, of which the number, the name and whether they were removed are given."""
    numbers = [number for number, _, _ in roots]
    sets, releases = defaultdict[int, list[str]](list), defaultdict[int, list[Registered]](list)
    cursor.execute(f"SELECT data_root, data_set FROM fedtext.data_read {OF_ROOTS} ORDER BY data_set", [numbers])
    for number, one in cursor.fetchall():
        sets[number].append(one)
    cursor.execute(f"SELECT data_root, made, entry FROM fedtext.release {OF_ROOTS} ORDER BY made", [numbers])
    for number, made, entry in cursor.fetchall():
        releases[number].append(Registered(made=made, entry=_entry(entry)))
    return [
        DataRoot(
            path=f"{name}, which was removed" if removed else name,
            data_sets=tuple(sets[number]),
            releases=tuple(releases[number]),
        )
        for number, name, removed in roots
    ]


def _entry(written: str) -> Spent:
    try:
        return Spent.model_validate_json(written)
    except ValidationError:
        raise RunRefusedError(
            "the team's history has a release that another version of fedtext wrote, so it cannot be accounted for: "
            "use the newest version of fedtext that the team uses",
            code="team-history-unreadable",
            parameter="privacy.history",
        ) from None


def _sketches(cursor: Cursor[Any]) -> list[tuple[str, Sketch]]:
    cursor.execute("SELECT name, sketch FROM fedtext.data_set")
    return [(name, Sketch.of_bytes(kept)) for name, kept in cursor.fetchall()]


def _key_file(team: str) -> Path:
    return state_folder() / KEYS / team


def _check(key: bytes) -> str:
    return hashlib.blake2b(b"fedtext team", key=key, digest_size=8).hexdigest()


def _lock(name: str) -> int:
    """Return the number of the lock of a data set, or, of the empty name, that of the registry as a whole."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"fedtext").digest(), signed=True)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
