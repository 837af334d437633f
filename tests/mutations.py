"""Thirty faults planted by hand, one at a time, in copies of the project: does a commit's tests see each of them?

`python -m tests.mutations` runs them all and prints the table of docs/experiments/mutations.md; `python -m
tests.mutations NAME...` runs some. For each a copy of the tracked files gets the fault, and the tests of the changed
module run there, then those of the modules that import it (tests/touched.py), until the first one fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import grimp

from tests.touched import PACKAGE, ROOT, touched_by

MARKS = "not slow and not network"
TESTED = ("src", "tests", "conf", "docs", "audits", "notebooks", "benchmarks")


@dataclass(frozen=True)
class Mutation:
    """A fault: in `file`, below src/fedtext, `old` becomes `new`; `tests` are run first."""

    file: str
    old: str
    new: str
    fault: str
    tests: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The file's path from the root of the project."""
        return f"src/fedtext/{self.file}"


MUTATIONS = (
    # What is drawn.
    Mutation("privacy/noise.py", "(magnitude != 0) | (sign == 0)", "magnitude >= 0", "zero has twice its probability"),
    Mutation("privacy/noise.py", "str(size), *stream)", "str(size))", "two releases share their noise"),
    Mutation("privacy/noise.py", "math.hypot(stddev, _SMOOTHING)", "stddev", "discrete noise is counted as continuous"),
    Mutation("privacy/noise.py", "np.exp(-0.5 * np.square", "np.exp(-0.55 * np.square", "noise is 5% too narrow"),
    # What is counted.
    Mutation(
        "privacy/ledger.py",
        "watched = watched and not self.secret_sample",
        "watched = False",
        "sampling that the server watched is said to amplify",
    ),
    Mutation(
        "privacy/ledger.py", "if total > budget * (1 + ROUNDING)", "if total > budget * 1.2", "a budget is overdrawn"
    ),
    Mutation("privacy/ledger.py", "if self.planned is not None:", "if False:", "what was not planned is released"),
    Mutation(
        "privacy/ledger.py", "return bool(shared) and (self", "return False and (self", "one release is charged twice"
    ),
    Mutation(
        "privacy/ledger.py", 'if self.sampling == "full" and', "if False and", "a rate without sampling is believed"
    ),
    Mutation(
        "privacy/dominating_pairs.py",
        "_mixtures(rate, 2 * shift, shift)",
        "_mixtures(rate, shift, shift / 2)",
        "fixed-size samples are counted at half their shift",
    ),
    Mutation(
        "privacy/dominating_pairs.py",
        "(math.sqrt(2) if non_negative else 2.0)",
        "1.0",
        "replace_one is counted as zero_out",
    ),
    Mutation("privacy/calibration.py", "if asked <= delta:", "if False:", "delta covers a unit's whole text"),
    Mutation(
        "privacy/spending.py",
        "return self.epsilon > self.budget * (1 + ROUNDING)",
        "return False",
        "a data set has no budget",
    ),
    Mutation(
        "privacy/spending.py",
        "for party in ledger.parties])",
        "for party in ledger.parties[:1]])",
        "one silo's budget is looked at",
    ),
    # What a unit sends.
    Mutation(
        "privacy/clipping.py", "wide *= clip_factors(norms, clip_norm)[:, None]", "wide *= 1.0", "nothing is clipped"
    ),
    Mutation(
        "privacy/clipping.py",
        "wide[broken], norms[broken] = 0.0, 0.0",
        "norms[broken] = 0.0",
        "one client's NaN ends the release",
    ),
    Mutation(
        "privacy/quantisation.py",
        "clip_norm + step * math.sqrt(dim)",
        "clip_norm",
        "the grid adds nothing to the sensitivity",
    ),
    Mutation(
        "privacy/quantisation.py",
        "rounded += draws.view(np.uint32)[:, :dim]",
        "rounded += 2 ** (_ROUNDING_BITS - 1)",
        "rounding has a bias",
    ),
    Mutation(
        "federation/mechanism.py",
        "_rounding_randomness(key, (*stream, str(unit))))[0])",
        "_rounding_randomness(key, (*stream, str(len(block.unit)))))[0])",
        "a message depends on who else is there",
    ),
    Mutation(
        "federation/mechanism.py", "for unit in sorted(silent):", "for unit in []:", "who holds nothing sends nothing"
    ),
    Mutation(
        "federation/private_samples.py",
        "return units[lots < clients_per_round / population]",
        "return units[: round(clients_per_round)]",
        "the first clients are always sampled",
    ),
    Mutation(
        "federation/units.py",
        'derived_seed(0, "unit", one) for one in set(ids)',
        "n for n, one in enumerate(sorted(set(ids)))",
        "a client's code is its rank",
    ),
    # What is made of it.
    Mutation(
        "voting/ballots.py",
        "np.ldexp(1.0, -found.rank)",
        "np.ldexp(1.0, -found.rank - 1)",
        "the first vote counts a half",
    ),
    Mutation(
        "voting/choice.py",
        "np.minimum(rejected_rank, n_valid[kept]) - 1",
        "np.minimum(rejected_rank, n_valid[kept]) - 2",
        "the rejected text is one rank too high",
    ),
    Mutation("training/unit_gradients.py", " / counts[:, None])", ")", "who has more texts has a longer gradient"),
    Mutation(
        "training/federated_averaging.py", 'params.decay * server["mean"] + update', "update", "momentum is forgotten"
    ),
    Mutation(
        "training/dpo.py",
        '"robust": -(1 - 2 * e)',
        '"robust": 1 - 2 * e',
        "the loss of smoothed labels has a wrong sign",
    ),
    # What a run believes of the last one.
    Mutation(
        "resuming/decision.py",
        "if self._content_digest(name) != record.outputs.get(name):",
        "if False:",
        "a changed output is used",
    ),
    Mutation(
        "resuming/decision.py",
        'parts["code"] = self._code_digest(node)',
        'parts["code"] = ""',
        "changed code makes nothing again",
    ),
    Mutation(
        "resuming/fingerprint.py",
        ":{stat.st_mtime_ns}:{stat.st_ctime_ns}",
        "",
        "a changed file of equal size is not read again",
    ),
)


def planted(mutation: Mutation, root: Path = ROOT) -> str:
    """Return the source of the file with the fault in it.

    Raises:
        ValueError: the text that becomes the fault does not stand there exactly once.
    """
    source = (root / mutation.path).read_text(encoding="utf-8")
    if source.count(mutation.old) != 1:
        raise ValueError(
            f"{mutation.path} has {mutation.old!r} {source.count(mutation.old)} times: bring it up to date"
        )
    return source.replace(mutation.old, mutation.new)


def caught_by(mutation: Mutation, graph: grimp.ImportGraph) -> tuple[str | None, float]:
    """Return the first test that fails with the fault, None if there is none, and the seconds that it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        copy.mkdir()
        for name in TESTED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ROOT.iterdir():
            if file.is_file():
                shutil.copy2(file, copy)
        (copy / mutation.path).write_text(planted(mutation), encoding="utf-8")
        for tests in [[*mutation.tests], *([one] for one in touched_by([mutation.path], graph, ROOT))]:
            if tests and (failed := _first_failure(copy, tests)):
                return failed, time.monotonic() - began
    return None, time.monotonic() - began


def _first_failure(project: Path, tests: list[str]) -> str | None:
    env = {**os.environ, "PYTHONPATH": str(project / "src"), "FEDTEXT_PROGRESS": "0"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", MARKS, *tests]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    found = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
    return found[0].split()[1] if found else None


if __name__ == "__main__":
    wanted = [
        one for one in MUTATIONS if not sys.argv[1:] or any(word in f"{one.path} {one.fault}" for word in sys.argv[1:])
    ]
    imports = grimp.build_graph(PACKAGE)
    print("| file | fault | caught by | seconds |\n|---|---|---|---|")
    for one in wanted:
        test, took = caught_by(one, imports)
        print(f"| {one.file} | {one.fault} | {test or '**nothing**'} | {took:.0f} |", flush=True)
