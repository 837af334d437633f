"""The package can be imported on a system without the modules that Unix alone has."""

from __future__ import annotations

import subprocess
import sys

EVERY_MODULE = """
import builtins, importlib, pkgutil

ABSENT = {"fcntl", "resource", "pwd", "grp", "termios", "_posixsubprocess"}
usual = builtins.__import__


def without(name, globals=None, *rest, **more):
    # libraries have a way of their own for every system: theirs is not tested here
    if name in ABSENT and str((globals or {}).get("__name__")).startswith("fedtext"):
        raise ImportError(f"No module named {name!r}", name=name)
    return usual(name, globals, *rest, **more)


builtins.__import__ = without
import fedtext

names = [one.name for one in pkgutil.walk_packages(fedtext.__path__, "fedtext.")]
assert len(names) > 100, names
failed = {}
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if error.name in ABSENT:
            failed[name] = error
        else:
            raise
assert not failed, failed
from fedtext.system.file_limit import ENFORCED
assert not ENFORCED
"""


def test_every_module_is_imported_without_the_modules_of_unix() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_MODULE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
