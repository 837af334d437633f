"""The run's declarations that decide which results of private data may leave beside releases."""

from __future__ import annotations

from typing import NamedTuple


class Declared(NamedTuple):
    """The declared exceptions: all of them for a public corpus, only those asked for by name for a private one.

    Attributes:
        public_corpus: Its units may be counted.
        exact_figures: Figures of held-out text need no release: test clients are not protected by them.
        private_control: Protected text may be read without protection, for the non-private bound.
    """

    public_corpus: bool = True
    exact_figures: bool = True
    private_control: bool = True
