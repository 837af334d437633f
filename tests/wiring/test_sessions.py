"""Scripts and notebooks run as `kedro run` does, by Kedro's own sessions too: the page's own lines are run here."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.session import KedroServiceSession, KedroSession

from fedtext.privacy.history import release_history
from fedtext.system.errors import FedtextError
from fedtext.wiring.config import active_loader
from fedtext.wiring.one_run import only_run_here
from tests.refusals import faults_in, refuses
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


@pytest.mark.parametrize("kind", [KedroSession, KedroServiceSession])
@pytest.mark.parametrize(
    ("chosen", "told", "code"),
    [
        ({"pipeline_names": "unsaved"}, {}, "name-for-a-list"),
        ({"node_names": "toy.report"}, {}, "name-for-a-list"),
        ({"pipeline_names": ["unsavd"]}, {}, "unknown-pipeline"),
        ({}, {"toy": {"draws": "many"}}, "unfit-value"),
    ],
    ids=["a name", "a node", "a misspelt name", "a value"],
)
def test_a_mistake_in_a_script_is_one_sentence(
    toy: ToyProject, kind: Any, chosen: dict[str, Any], told: dict[str, Any], code: str
) -> None:
    of_run = {"runtime_params": told} if kind is KedroServiceSession else {}
    with kind.create(**({} if of_run else {"runtime_params": told})) as session, pytest.raises(FedtextError) as raised:
        session.run(**chosen, **of_run)
    assert code in {fault.code for fault in faults_in(raised.value)}
    assert "\n" not in str(raised.value)


def test_a_second_run_of_one_process_is_refused_and_the_first_keeps_its_configuration(toy: ToyProject) -> None:
    def in_a_thread(what: Any) -> None:
        with ThreadPoolExecutor(1) as thread, refuses("another-run-in-this-process"):
            thread.submit(what).result()

    toy.run(toy={"draws": 6})
    first = active_loader()
    with only_run_here():
        for kind in (KedroSession, KedroServiceSession):
            in_a_thread(lambda kind=kind: kind.create().run())
        in_a_thread(lambda: KedroServiceSession.create().load_context())
    assert active_loader() is first
    toy.run(toy={"draws": 6})
    assert len(release_history(toy.data)) == 1
