"""What a server's robots.txt says to programs such as this one: asked once a server, before anything else."""

from __future__ import annotations

import logging
from urllib.robotparser import RobotFileParser

import httpx

LOG = logging.getLogger(__name__)
AGENT = "fedtext"


class Robots:
    """The rules of one server.

    Args:
        text: Its robots.txt; empty where it has none.
    """

    def __init__(self, text: str) -> None:
        self._rules = RobotFileParser()
        self._rules.parse(text.splitlines())

    def allow(self, url: httpx.URL) -> bool:
        """Whether the page may be asked for."""
        return self._rules.can_fetch(AGENT, str(url))

    @property
    def delay(self) -> float:
        """Seconds the server wants between two requests; 0 where it does not say."""
        return float(self._rules.crawl_delay(AGENT) or 0)


def place(url: httpx.URL) -> httpx.URL:
    """Where a server keeps its robots.txt."""
    return url.copy_with(raw_path=b"/robots.txt", fragment=None)
