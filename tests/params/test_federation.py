"""The federation's parameters: silos are counted where they are asked, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.federation import FederationParameters
from tests.parameters import conf_base
from tests.refusals import refuses


def test_a_run_is_simulated_unless_it_says_otherwise() -> None:
    assert conf_base(FederationParameters).engine == "simulated"
    assert conf_base(FederationParameters, engine="flower", silos=3, superlink="127.0.0.1:8000").silos == 3


@pytest.mark.parametrize(
    ("told", "parameter"),
    [
        ({"engine": "flower", "superlink": "127.0.0.1:8000"}, "federation.silos"),
        ({"engine": "flower", "silos": 3}, "federation.superlink"),
        ({"silos": 3}, "federation.silos"),
        ({"superlink": "127.0.0.1:8000"}, "federation.superlink"),
    ],
)
def test_silos_superlink_and_engine_belong_together(told: dict[str, Any], parameter: str) -> None:
    with refuses("federation-half-declared", parameter=parameter):
        conf_base(FederationParameters, told)
