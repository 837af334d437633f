"""A silo's answers to secure sums: masked, and one vector only for each message that asked.

Two vectors under one mask would tell their difference. So a silo keeps, for each message that it answered, a keyed
digest of the data that it answered from, and answers the same message from other data never.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedtext.federation.inquiry import Inquiry, Masked, SecureSum
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import GridSum
from fedtext.federation.units import digest
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.silo.pairwise_masks import MaskKey, masked
from fedtext.silo.settings import Silo
from fedtext.system.errors import InputError
from fedtext.system.folders import make_own_folder, own_file

ANSWERED = "secure_sums"
CHANGED = "silo-changed"  # the code of `validate_held`


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

    def validate_held(self, asked: str, samples: PrivateSamples) -> None:
        """Raise ValueError if the message of digest `asked` was answered from other samples."""
        known = self._known(asked)
        if known.exists() and known.read_text("utf-8") != self._held(asked, samples):
            raise InputError(
                f"the text of silo {self.silo.name} has changed since it answered this secure sum: raise "
                "federation.session by one to ask all silos anew, for which each of them pays",
                code="silo-changed",
                parameter="federation.session",
            )

    def remember(self, asked: str, samples: PrivateSamples) -> None:
        """Keep that the message of digest `asked` is answered from these samples."""
        known = self._known(asked)
        make_own_folder(known.parent)
        if not known.exists():
            with own_file(known) as temporary:
                temporary.write_text(self._held(asked, samples), "utf-8")

    def _known(self, asked: str) -> Path:
        return self.folder / ANSWERED / asked

    def _held(self, asked: str, samples: PrivateSamples) -> str:
        told = digest(samples.features, samples.unit, samples.label)
        return keyed_bytes(self.key, 16, ("held", asked, told)).hex()

    def masked(self, found: GridSum, inquiry: Inquiry, secure: SecureSum, asked: str) -> Masked:
        """Return the released sum under the masks that the silo shares with each other one in the sum."""
        peers = self.silo.secure_sums.peers
        others = set(inquiry.query.parties or ()) - {self.silo.name}
        pairs = self.mask_key.pairs({name: peers[name] for name in others})
        words = masked(found.sum, pairs, asked, secure.bits)
        return Masked(self.silo.name, words, {pair.other: pair.mark(asked) for pair in pairs})
