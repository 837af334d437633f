"""A silo's answers to secure sums: masked, and one vector only for each message that asked.

Two vectors under one mask would tell their difference. So a silo keeps, for each message that it answered, keyed
digests of what it answered from and with, and never answers the same message otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedtext.federation.inquiry import Inquiry, Masked, SecureSum
from fedtext.federation.secure_sum import GridSum
from fedtext.federation.units import digest
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.silo.pairwise_masks import MaskKey, masked
from fedtext.silo.settings import Silo
from fedtext.system.errors import InputError
from fedtext.system.folders import make_own_folder, own_file

ANSWERED = "secure_sums"
CHANGED = "silo-changed"  # the code of an answer from other text


@dataclass(frozen=True)
class SecureAnswers:
    """What a silo needs to take part in secure sums: its declaration, its secret, and a folder to remember in."""

    silo: Silo
    key: NoiseKey
    folder: Path

    @property
    def mask_key(self) -> MaskKey:
        """The key of the silo's masks."""
        return MaskKey(self.silo.name, self.key)

    def validate_sum(self, inquiry: Inquiry, secure: SecureSum) -> None:
        """Raise ValueError if the silo takes no part in the sum; it tells public values alone."""
        self.silo.terms.validate_sum(self.silo.name, inquiry.query.parties or (), secure.honest_fraction)

    def validate_held(self, asked: str, held: str) -> None:
        """Raise ValueError if the message of digest `asked` was answered from text of another digest, yet unpaid."""
        known, _ = self._known(asked)
        if known not in ("", self._digest(asked, held)):
            raise self._changed()

    def remember(self, asked: str, held: str, found: GridSum) -> None:
        """Keep what the message of digest `asked` is answered from, the text of digest `held`, and with.

        Raises:
            ValueError: it was answered with another sum, by whatever change: two under one mask never leave.
        """
        told = self._digest(asked, held), self._digest(asked, digest(found.sum))
        if self._known(asked) not in (("", ""), told):
            raise self._changed()
        file = self._file(asked)
        make_own_folder(file.parent)
        if not file.exists():
            with own_file(file) as temporary:
                temporary.write_text(" ".join(told), "utf-8")

    def _known(self, asked: str) -> tuple[str, str]:
        """Return the digests of the text and of the sum of an earlier answer; empty if there was none."""
        file = self._file(asked)
        held, sum_ = file.read_text("utf-8").split() if file.exists() else ("", "")
        return held, sum_

    def _file(self, asked: str) -> Path:
        return self.folder / ANSWERED / asked

    def _digest(self, asked: str, told: str) -> str:
        return keyed_bytes(self.key, 16, ("answered", asked, told)).hex()

    def _changed(self) -> InputError:
        return InputError(
            f"the text of silo {self.silo.name} has changed since it answered this secure sum: raise "
            "federation.session by one to ask all silos anew, for which each of them pays",
            code="silo-changed",
            parameter="federation.session",
        )

    def masked(self, found: GridSum, inquiry: Inquiry, secure: SecureSum, asked: str) -> Masked:
        """Return the released sum under the masks that the silo shares with each other one in the sum."""
        peers = self.silo.secure_sums.peers
        others = set(inquiry.query.parties or ()) - {self.silo.name}
        pairs = self.mask_key.pairs({name: peers[name] for name in others})
        words = masked(found.sum, pairs, asked, secure.bits)
        return Masked(self.silo.name, words, {pair.other: pair.mark(asked) for pair in pairs})
