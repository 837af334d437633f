"""Pairwise masks: what one silo sends to a secure sum is uniform, and the masks of all silos cancel.

Every two silos share a secret that nobody else knows: X25519 (RFC 7748) of one's private and the other's public key,
through HKDF (RFC 5869). From it both derive the same mask; one adds it, the other subtracts it, modulo 2^k (Bonawitz et
al., CCS 2017, section 4.0.1, "masking with one-time pads"). The sum of all silos carries no mask, and the sum of fewer
is uniform unless everybody else tells their secrets.

Masks are SHAKE-256 of the whole secret and of the digest of the message that asked. A mask hides one vector: a silo
that is asked the same again sends the same (`fedtext.silo.secure_answers`). No secret is ever opened, so no server can
have one opened by telling silos different stories of who is missing; the price is that a sum needs all its silos.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jaxtyping import Int64, Shaped, UInt64

from fedtext.federation.masked_sum import words_of
from fedtext.privacy.noise import NoiseKey, keyed_bytes
from fedtext.system.errors import InputError

MARK_BYTES = 16


@dataclass(frozen=True)
class MaskKey:
    """A silo's own key of all its masks, derived from the secret of its noise: whoever has one has the other.

    Attributes:
        name: The silo's name.
        secret: The silo's secret.
    """

    name: str
    secret: NoiseKey = field(repr=False)

    @property
    def public(self) -> str:
        """The half that other silos are told, as 64 hexadecimal digits."""
        return self._private.public_key().public_bytes_raw().hex()

    @cached_property
    def _private(self) -> X25519PrivateKey:
        return X25519PrivateKey.from_private_bytes(keyed_bytes(self.secret, 32, ("pairwise masks",)))

    def pairs(self, publics: Mapping[str, str]) -> list[Pair]:
        """Return what the silo shares with each other silo, by the other's name and public key.

        Raises:
            ValueError: a public key is none.
        """
        return [self._pair(name, public) for name, public in sorted(publics.items())]

    def _pair(self, other: str, public: str) -> Pair:
        agreed = self._private.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(public)))
        names = "\n".join(sorted((self.name, other)))
        derived = HKDF(SHA256(), 32, salt=None, info=f"fedtext pairwise masks\n{names}".encode()).derive(agreed)
        return Pair(other, self.name < other, NoiseKey(secret=derived.hex(), source="operating system"))


@dataclass(frozen=True)
class Pair:
    """What two silos share.

    Attributes:
        other: The other silo's name.
        adds: Whether this silo adds the mask; the other one subtracts it.
        secret: The shared secret.
    """

    other: str
    adds: bool
    secret: NoiseKey = field(repr=False)

    def mask(self, asked: str, dim: int) -> UInt64[np.ndarray, " dim"]:
        """Return the mask of the message of digest `asked`, modulo 2^64, as this silo adds it."""
        drawn = np.frombuffer(keyed_bytes(self.secret, 8 * dim, ("mask", asked)), dtype="<u8").astype(np.uint64)
        return drawn if self.adds else np.negative(drawn)

    def mark(self, asked: str) -> str:
        """Return what shows that both have the same secret, and nothing else of it: two silos' marks are equal."""
        return keyed_bytes(self.secret, MARK_BYTES, ("mark", asked)).hex()


def masked(
    numbers: Int64[np.ndarray, " dim"], pairs: Iterable[Pair], asked: str, bits: int
) -> Shaped[np.ndarray, " dim"]:
    """Return the numbers modulo 2^bits with the masks of all pairs, in words as short as hold them (`words_of`)."""
    total = numbers.astype(np.uint64)
    for pair in pairs:
        total += pair.mask(asked, len(numbers))
    return np.asarray((total & np.uint64(2**bits - 1)).astype(words_of(bits)))


def validate_publics(publics: Mapping[str, str]) -> None:
    """Raise ValueError unless the public keys, by silo, are keys, and of as many silos as have names.

    A key of zeros gives everybody the same secret, and one key under two names makes one silo count for two. Keys that
    are written otherwise may be the same: whether they agree on the same secret tells.
    """
    probe, seen = X25519PrivateKey.generate(), dict[bytes, str]()
    for name, public in publics.items():
        try:
            agreed = probe.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(public)))
        except ValueError:
            raise InputError(
                f"secure_sums.peers has for silo {name} a key with which nobody has a secret in common: have the "
                "people there tell you what `fedtext-silo key` prints",
                code="peer-key-without-secret",
                parameter="secure_sums.peers",
                value=name,
            ) from None
        if (other := seen.setdefault(agreed, name)) != name:
            raise InputError(
                f"secure_sums.peers has one key for silo {other} and for silo {name}, which would count as two "
                "silos: have the people there tell you what `fedtext-silo key` prints",
                code="peer-key-twice",
                parameter="secure_sums.peers",
                value=name,
            )
