"""The silos of a run as a catalog entry: whoever loads it can ask them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from fedtext.datasets.atomic import StorageError
from fedtext.federation.flower import FlowerTransport


class FlowerSilosDataset(AbstractDataset[Any, FlowerTransport]):
    """The way to the silos that a SuperLink connects; read only.

    Args:
        superlink: The SuperLink's address.
        flwr: Flower's command line.
        root_certificates: The certificate of the SuperLink's authority, if the connection is encrypted.
        patience: Seconds for all silos to be there and to answer.
        folder: Where messages lie on their way.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self,
        *,
        superlink: str | None,
        flwr: str,
        root_certificates: str | None,
        patience: float,
        folder: str,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        certificate = None if root_certificates is None else Path(root_certificates).expanduser().resolve()
        self._transport = FlowerTransport(superlink or "", flwr, certificate, Path(folder), patience)
        self.metadata = metadata

    def identity(self) -> str:
        """Return what a result depends on: nothing, for the way to the silos changes no answer."""
        return "silos"

    def load(self) -> FlowerTransport:
        """Return the way to the silos.

        Raises:
            StorageError: no SuperLink is named.
        """
        if not self._transport.superlink:
            raise StorageError(
                "federation.superlink is not set: give the address of the SuperLink, as 127.0.0.1:8000",
                code="superlink-not-set",
                parameter="federation.superlink",
            )
        return self._transport

    def save(self, data: Any) -> NoReturn:
        """Raise an error: nothing makes silos."""
        raise StorageError("silos are read only: no node makes them", code="silos-are-read-only")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"superlink": self._transport.superlink}
