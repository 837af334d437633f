"""Ctrl-C before a run has begun is one line, and every other error keeps its traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.wiring.conftest import here

TOLD = "from fedtext.system.interrupts import tell_interrupts_in_one_line; tell_interrupts_in_one_line(); "


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", TOLD + code], env=here(), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_an_interrupt_while_imports_run_is_one_line() -> None:
    (line,) = printed("raise KeyboardInterrupt").splitlines()
    assert line.startswith("Error: interrupted")


def test_an_interrupt_in_pydantic_s_own_code_or_in_a_clean_up_is_one_line() -> None:
    for code in (
        "raise ValueError('Error building \"literal\" validator:\\n  KeyboardInterrupt: ')",
        "exec('try:\\n  raise KeyboardInterrupt\\nfinally:\\n  raise OSError(1)')",
    ):
        (line,) = printed(code).splitlines()
        assert line.startswith("Error: interrupted")


@pytest.mark.parametrize("error", ["ValueError('x')", "RuntimeError('y')", "KeyError('KeyboardInterrupt in it')"])
def test_other_errors_keep_their_traceback(error: str) -> None:
    assert "Traceback" in printed(f"raise {error}")


def test_the_settings_tell_interrupts_before_they_import_the_rest() -> None:
    """Nearly all of a command's imports come after."""
    code = (
        "import sys; hook = sys.excepthook; sys.excepthook = sys.__excepthook__; before = set(sys.modules); "
        "import builtins; real = builtins.__import__; seen = []; "
        "builtins.__import__ = lambda name, *a, **k: (seen.append((name, sys.excepthook)), real(name, *a, **k))[1]; "
        "import fedtext.settings; "
        "late = [name for name, hook in seen if name == 'fedtext.wiring.hooks' and hook is sys.__excepthook__]; "
        "sys.exit(f'late: {late}' if late else 3)"
    )
    assert "late" not in printed(code)
