"""Links that an answer gives to its next page: followed on the same server only, and never with a key in them."""

from __future__ import annotations

import httpx

from fedtext.largefedbench.ingest.errors import UnusableAnswerError


def same_origin_link(url: str, link: object) -> str:
    """`link`, absolute or relative to `url`, without any `api_key` a server wrote into it.

    Raises:
        UnusableAnswerError: it leads to another server.
    """
    base = httpx.URL(url)
    try:
        target = base.join(str(link))
    except httpx.InvalidURL:
        raise UnusableAnswerError("the link to the next page is not a URL") from None
    if (target.scheme, target.host, target.port) != (base.scheme, base.host, base.port):
        raise UnusableAnswerError(f"the link to the next page leads to {target.host}, not back to {base.host}")
    return str(target.copy_remove_param("api_key"))
