"""What the run's parameters declare, which decides what may leave private data beside releases."""

from __future__ import annotations

from typing import NamedTuple


class Declared(NamedTuple):
    """Of a public corpus all of it; of a private one what somebody asked for by name.

    Attributes:
        public_corpus: Its units may be counted.
        exact_figures: Figures of held-out text need no release: test clients are not protected by them.
        private_control: Protected text may be read without protection, to be compared with.
    """

    public_corpus: bool = True
    exact_figures: bool = True
    private_control: bool = True
