"""A silo's answers to secure sums: masked, and one vector only for each message that asked.

Two vectors under one mask would tell their difference. So a silo keeps, for each message that it answered, keyed
digests of what it answered from and with, and never answers the same message otherwise. Its ledger names each message,
too: a folder that was put back from a backup has forgotten answers, and the ledger that the registry restores has not.
"""

from __future__ import annotations

from collections.abc import Iterable
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

    def name(self, asked: str, held: str) -> str:
        """Return the name in the silo's ledger of an answer to a message from a text; without the key it tells nothing.

        Args:
            asked: Digest of the message.
            held: Digest of the text.
        """
        return f"{self._digest(asked, '')} {self._digest(asked, held)}"

    def begin(self, asked: str, held: str, charged: Iterable[str]) -> bool:
        """Keep from which text a message is to be answered, before it is charged; return whether it was before.

        Args:
            asked: Digest of the message.
            held: Digest of the text.
            charged: What the ledger calls the releases so far: it may know one that this folder has lost.

        Raises:
            ValueError: it was answered from another text.
        """
        told, (known, sum_) = self._digest(asked, held), self._known(asked)
        made = {one.split()[-1] for one in charged if self._digest(asked, "") in one.split()}
        if (made | ({known} if sum_ else set())) - {told}:
            raise self._changed()
        self._keep(asked, told, sum_)
        return bool(made)

    def remember(self, asked: str, found: GridSum, *, second: bool) -> None:
        """Keep with what the message of digest `asked` is answered.

        Args:
            asked: Digest of the message.
            found: The sum.
            second: Whether the ledger has a release for this message already, and this is another one.

        Raises:
            ValueError: it was answered with another sum, by whatever change: two under one mask never leave.
        """
        told, (held, known) = self._digest(asked, digest(found.sum)), self._known(asked)
        if known not in ("", told) or (second and not known):
            raise self._changed()
        self._keep(asked, held, told)

    def _known(self, asked: str) -> tuple[str, str]:
        """Return the digests of the text and of the sum of an earlier answer; empty where there was none."""
        file = self._file(asked)
        held, sum_ = [*(file.read_text("utf-8").split() if file.exists() else []), "", ""][:2]
        return held, sum_

    def _keep(self, asked: str, *told: str) -> None:
        file = self._file(asked)
        make_own_folder(file.parent)
        with own_file(file) as temporary:
            temporary.write_text(" ".join(told), "utf-8")

    def _file(self, asked: str) -> Path:
        return self.folder / ANSWERED / asked

    def _digest(self, asked: str, told: str) -> str:
        return keyed_bytes(self.key, 16, ("answered", asked, told)).hex()

    def _changed(self) -> InputError:
        return InputError(
            f"the text of silo {self.silo.name} has changed since it answered this secure sum, or its folder was put "
            "back from before: raise federation.session by one to ask all silos anew, for which each of them pays",
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
