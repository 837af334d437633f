"""Addresses of databases: what they may hold."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from fedtext.system.errors import InputError

SCHEMES = ("postgresql", "postgres")
SECRETS = {"password", "sslpassword", "passfile"}


def database_address(address: str, asked_by: str) -> str:
    """Return the address of a PostgreSQL database if it holds no password; no message repeats any of it.

    A command line, its history and a list of processes show an address to others.

    Raises:
        InputError: it holds one, or is of something else.
    """
    try:
        parts = urlsplit(address)
    except ValueError:  # half a bracket
        parts = urlsplit("")
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.query):
        raise InputError(
            f"{asked_by} is no address of a PostgreSQL database: give postgresql://USER@HOST/DATABASE, or leave it out",
            code="no-database-address",
            parameter=asked_by,
        )
    if ":" in parts.netloc.rpartition("@")[0] or SECRETS & parse_qs(parts.query, keep_blank_values=True).keys():
        raise InputError(
            f"{asked_by} holds a password, which a command line shows to others: leave it out of the address, and let "
            "PGPASSWORD or ~/.pgpass hold it",
            code="database-address-holds-a-secret",
            parameter=asked_by,
        )
    return address
