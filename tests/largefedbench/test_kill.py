"""kill -9 in the middle of a build, again and again: the same bytes in the end, and nothing half-made in between."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedtext.largefedbench.tokens import ChunkTokenizer

from .pages import preprint, preprint_page
from .test_build import contents

ROOT = Path(__file__).parents[2]

# Slowed down after every shard and at every step of the merge, so that a kill falls anywhere in a build.
SCRIPT = """
import sys, time
from pathlib import Path
from fedtext.largefedbench import build, merge
from fedtext.largefedbench.tokens import load_tokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base
pause = float(sys.argv[4])
def slow(function):
    def slowed(*arguments):
        result = function(*arguments)
        time.sleep(pause)
        return result
    return slowed
build.write_shard = slow(build.write_shard)
merge._Merge._add = slow(merge._Merge._add)
build.write_papers = slow(build.write_papers)
build.write_manifest = slow(build.write_manifest)
print("started", flush=True)
params = conf_base(LargeFedBench, snapshot="k", shard_bytes=1)
build.build_snapshot(params, load_tokenizer(sys.argv[3], name="words"), raw_dir=Path(sys.argv[1]), out_dir=Path(sys.argv[2]))
"""


def start(raw: Path, out: Path, tokenizer: Path, pause: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(raw), str(out), str(tokenizer), str(pause)]
    environment = os.environ | {"FEDTEXT_PROGRESS": "0"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as lines:
        assert lines.readline() == "started\n"
    return process


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_nine(raw: Path, tmp_path: Path, words: ChunkTokenizer, kills: int) -> None:
    for number in range(12):
        rows = [preprint(f"10.1101/{number}.{row}") for row in range(4)]
        (raw / "biorxiv" / f"{number:02d}.json").write_bytes(preprint_page(rows))
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(words.definition, "utf-8")
    assert start(raw, tmp_path / "whole", tokenizer, 0).wait() == 0
    draw = random.Random(7)
    killed = 0
    for _ in range(kills):
        process = start(raw, tmp_path / "out", tokenizer, 0.02)
        time.sleep(draw.uniform(0.05, 1.8))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if (tmp_path / "out" / "k").exists():
            assert contents(tmp_path / "out" / "k") == contents(tmp_path / "whole" / "k")
    assert killed >= 1
    assert start(raw, tmp_path / "out", tokenizer, 0).wait() == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
