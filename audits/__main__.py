"""`python -m audits`: every attack, over all cores. Writes docs/audits.md; fails if one comes out wrong.

`python -m audits wasp`: the attacks on one algorithm, and their rows; writes nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from audits.attacks import Finding, run_attack
from audits.canaries import COPIES, canary_attack
from audits.corpus import CLIENTS
from audits.page import page, tables
from audits.plan import faulty, sound
from audits.worlds import ROOT

ECHOES = {"popri": 6, "pe": 6, COPIES: 6}


def main(names: Sequence[str]) -> int:
    """Run all attacks, or those on the named algorithms, and return how many had an unexpected result."""
    began, workers = time.monotonic(), os.cpu_count() or 1
    chosen = [one for one in (*sound(), *faulty()) if not names or one.job.partition(" ")[0] in names]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        attacks = [_said(pool.submit(run_attack, one), str(one)) for one in chosen]
        echoing = {} if names else ECHOES
        texts = {
            name: _said(pool.submit(canary_attack, name, runs), f"canaries, {name}") for name, runs in echoing.items()
        }
        found: list[Finding] = [one.result() for one in attacks]
        echoes = {name: (ECHOES[name], one.result()) for name, one in texts.items()}
    intact = [one for one in found if one.attack.fault == "none"]
    broken = [one for one in found if one.attack.fault != "none"]
    if names:
        text = tables(intact, broken)
    else:
        text = page(intact, broken, echoes, minutes=(time.monotonic() - began) / 60, workers=workers, clients=CLIENTS)
        (ROOT / "docs" / "audits.md").write_text(text, encoding="utf-8")
    wrong = [one for one in intact if not one.holds] + [one for one in broken if one.holds]
    print(text, *wrong, f"{len(wrong)} of {len(found)} attacks came out as they should not", sep="\n")
    return min(len(wrong), 1)


def _said(future: Future[Any], name: str) -> Future[Any]:
    future.add_done_callback(lambda _: print(f"done: {name}", file=sys.stderr, flush=True))
    return future


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
