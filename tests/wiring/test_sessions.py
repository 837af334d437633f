"""Scripts and notebooks run as `kedro run` does, by Kedro's own sessions too: the page's own lines are run here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedtext.privacy.history import release_history
from tests.wiring.conftest import ToyProject, here

PAGE = Path(__file__).parents[2] / "docs" / "from_python.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.sampled(only=("script",))
@pytest.mark.parametrize("block", BLOCKS[:2], ids=["script", "several runs"])
def test_the_lines_of_the_page_run_guarded_and_resumed(toy: ToyProject, block: str) -> None:
    block = block.replace("corpus", "toy").replace('"max_clients": 100', '"draws": 6')
    twice = [sys.executable, "-c", f"{block}\n{block}"]
    subprocess.run(twice, cwd=toy.path, env=here(), check=True, capture_output=True, text=True)
    assert len(release_history(toy.data)) == 1, "what was released is on record, once"


def test_a_runner_of_ones_own_is_refused(toy: ToyProject) -> None:
    block = BLOCKS[0].replace("session.run(", "session.run(runner=SequentialRunner(), ").replace("corpus", "toy")
    block = "from kedro.runner import SequentialRunner\n" + block.replace('"max_clients": 100', '"draws": 6')
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=toy.path, env=here(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "session.run() without runner" in done.stderr
