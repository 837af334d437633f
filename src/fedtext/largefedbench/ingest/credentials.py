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
    """Return the contact address for a source's operator, from FEDTEXT_CONTACT; it is sent with every request.

    Raises:
        RefusedError: It is not set, or is not one printable ASCII line.
    """
    value = environment.get(CONTACT, "").strip()
    if not value or not value.isascii() or not value.isprintable():
        raise RefusedError(
            f"{CONTACT} is {'not set' if not value else 'not one printable ASCII line'}: set it in the environment to "
            "an e-mail address or web page; the sources ask to know who pulls",
            code="contact-not-set",
            parameter=CONTACT,
        )
    return value


def optional(environment: Mapping[str, str], name: str) -> SecretStr | None:
    """Return the secret named `name`, or None."""
    value = environment.get(name, "").strip()
    return SecretStr(value) if value else None


def required(environment: Mapping[str, str], name: str, source: str) -> SecretStr:
    """Return the secret named `name`.

    Raises:
        RefusedError: it is not set.
    """
    secret = optional(environment, name)
    if secret is None:
        raise RefusedError(
            f"{source} needs a key: set {name} in the environment (never in conf/ or on a command line)",
            code="key-not-set",
            parameter=name,
        )
    return secret


class HeaderKey(httpx.Auth):
    """Authentication that puts a secret into a header when a request is sent; no other object holds it in clear."""

    def __init__(self, header: str, secret: SecretStr, prefix: str = "") -> None:
        self._header, self._secret, self._prefix = header, secret, prefix

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send `request` with the header set."""
        request.headers[self._header] = self._prefix + self._secret.get_secret_value()
        yield request
