"""Credentials come from the environment and go into request headers or bodies: never into URLs, logs or files."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import httpx
from pydantic import SecretStr

from fedtext.largefedbench.ingest.errors import RefusedError

CONTACT = "FEDTEXT_CONTACT"
GOVINFO_KEY = "GOVINFO_API_KEY"
NCBI_KEY = "NCBI_API_KEY"
OPENREVIEW_USER = "OPENREVIEW_USERNAME"
OPENREVIEW_PASSWORD = "OPENREVIEW_PASSWORD"


def contact(environment: Mapping[str, str]) -> str:
    """Whom a source's operator can write to, from FEDTEXT_CONTACT; sent with every request.

    Raises:
        RefusedError: it is not set, or is not one printable ASCII line.
    """
    value = environment.get(CONTACT, "").strip()
    if not value or not value.isascii() or not value.isprintable():
        raise RefusedError(
            f"{CONTACT} is {'not set' if not value else 'not one printable ASCII line'}: set it in the environment to "
            "an e-mail address or web page; the sources ask to know who pulls"
        )
    return value


def optional(environment: Mapping[str, str], name: str) -> SecretStr | None:
    """The secret named `name`, or None."""
    value = environment.get(name, "").strip()
    return SecretStr(value) if value else None


def required(environment: Mapping[str, str], name: str, source: str) -> SecretStr:
    """The secret named `name`.

    Raises:
        RefusedError: it is not set.
    """
    secret = optional(environment, name)
    if secret is None:
        raise RefusedError(f"{source} needs a key: set {name} in the environment (never in conf/ or on a command line)")
    return secret


class HeaderKey(httpx.Auth):
    """Puts a secret into one header at the moment of sending, so that no other object holds it in clear."""

    def __init__(self, header: str, secret: SecretStr, prefix: str = "") -> None:
        self._header, self._secret, self._prefix = header, secret, prefix

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sends `request` with the header set."""
        request.headers[self._header] = self._prefix + self._secret.get_secret_value()
        yield request
