"""`python -m audits`: every attack, over all cores. Writes docs/audits.md; fails if one comes out wrong."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from audits.attacks import Finding, attacked
from audits.canaries import COPIES, echoed
from audits.corpus import CLIENTS
from audits.page import page
from audits.plan import faulty, sound
from audits.worlds import ROOT

ECHOES = {"popri": 6, "pe": 6, COPIES: 6}


def main() -> int:
    """Runs all, writes the page, and says how many attacks came out other than they should."""
    began, workers = time.monotonic(), os.cpu_count() or 1
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        attacks = [_said(pool.submit(attacked, one), str(one)) for one in (*sound(), *faulty())]
        texts = {name: _said(pool.submit(echoed, name, runs), f"canaries, {name}") for name, runs in ECHOES.items()}
        found: list[Finding] = [one.result() for one in attacks]
        echoes = {name: (ECHOES[name], one.result()) for name, one in texts.items()}
    intact, broken = found[: len(sound())], found[len(sound()) :]
    text = page(intact, broken, echoes, minutes=(time.monotonic() - began) / 60, workers=workers, clients=CLIENTS)
    (ROOT / "docs" / "audits.md").write_text(text, encoding="utf-8")
    wrong = [one for one in intact if not one.holds] + [one for one in broken if one.holds]
    print(text, *wrong, f"{len(wrong)} of {len(found)} attacks came out as they should not", sep="\n")
    return min(len(wrong), 1)


def _said(future: Future[Any], name: str) -> Future[Any]:
    future.add_done_callback(lambda _: print(f"done: {name}", file=sys.stderr, flush=True))
    return future


if __name__ == "__main__":
    sys.exit(main())
