"""Private samples as the silos hold them, for the releases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.units import unit_codes
from fedtext.privacy.ledger import Ledger


def by_silos(
    arrays: Mapping[str, np.ndarray],
    codes: Sequence[str],
    enrolment: Mapping[str, np.ndarray],
    silos: pd.DataFrame,
    ledger: Ledger,
) -> PrivateSamples:
    """The samples of `arrays` (`features`, `client`, `record`, `label`), each held by the silo of its client."""
    samples = PrivateSamples.of(arrays, codes, ledger.declaration.unit, enrolment["unit"])
    client, silo = unit_codes(silos["client_id"].tolist()), unit_codes(silos["silo"].tolist())
    order = np.argsort(client)
    place = np.searchsorted(client[order], arrays["client"])
    return replace(samples, holder=silo[order[place]])
