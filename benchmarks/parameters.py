"""Parameters for benchmarks: conf/base's, laid out as tests have them; the root of the project is on no script's path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.parameters import conf_base

__all__ = ["conf_base"]
