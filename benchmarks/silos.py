"""Ten silos over a real SuperLink: seconds and bytes a question, and memory a silo (docs/silos.md).

FEDTEXT_FLOWER names Flower's environment (tests/silo/flower.py): python -m benchmarks.silos [SILOS]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from fedtext.federation.query import Query
from fedtext.federation.silos_asked import Silos, Transport, cards_of, parties_of
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.voting.class_means import ClassMeans
from tests.parameters import conf_base
from tests.silo.examples import CODES, DIM
from tests.silo.flower import Place, federation

MEANS = ClassMeans(labels=CODES)
QUESTIONS = 3
MIB = 2**20


@dataclass
class Measured:
    """A transport that notes how long a question takes, and how many bytes it is."""

    transport: Transport
    seconds: float = 0.0
    sizes: tuple[int, int] = (0, 0)

    def ask(self, message: bytes, wanted: int) -> Sequence[bytes]:
        """Implement Transport."""
        began = time.perf_counter()
        replies = self.transport.ask(message, wanted)
        self.seconds = time.perf_counter() - began
        self.sizes = len(message), max(map(len, replies))
        return replies


def main(silos: int) -> None:
    """Print the table's rows."""
    names = [f"silo {number}" for number in range(silos)]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, federation(Path(folder), names) as place:
        print(f"{silos} silos, there after {time.perf_counter() - began:.0f} s")
        transport = Measured(place.transport(300.0))
        parties = parties_of(cards_of(transport, silos), 4.0)
        for aggregation in ("local", "secure"):
            declared = conf_base(Privacy, epsilon=4.0, delta=1e-5, aggregation=aggregation, honest_fraction=0.7)
            ledger = Ledger(declaration=declared, population=10 * silos, parties=parties)
            query = Query(f"measured.{aggregation}", 0, DIM * len(CODES), 1.0, 12.0)
            for number in range(QUESTIONS):
                Silos(transport).summed(replace(query, round=number), MEANS, ledger)
                asked, answered = transport.sizes
                print(f"{aggregation}: {transport.seconds:.0f} s, {asked:,} bytes to and {answered:,} from each silo")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("memory of a silo", ", ".join(f"{one:.0f}" for one in sorted(resident(place, names))), "MiB")
        print(f"memory of the SuperLink and what it started {sum(resident(place, ['superlink'])):.0f} MiB")


def resident(place: Place, names: Sequence[str]) -> list[float]:
    """Return the resident MiB of each process with its children."""
    found = [psutil.Process(place.running[name].pid) for name in names]
    return [sum(one.memory_info().rss for one in [it, *it.children(recursive=True)]) / MIB for it in found]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
