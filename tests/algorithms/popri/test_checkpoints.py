"""Which adapters write candidates, and that scores match them, for every scoring and choice of checkpoint."""

from __future__ import annotations

from typing import get_args

import pytest

from fedtext.algorithms.popri.checkpoints import Checkpoints
from fedtext.params.popri import SINGLE_RELEASE, CheckpointChoice, Scoring


@pytest.mark.parametrize("scoring", get_args(Scoring))
@pytest.mark.parametrize("choice", get_args(CheckpointChoice))
def test_there_is_one_score_for_each_set_of_candidates(scoring: Scoring, choice: CheckpointChoice) -> None:
    made = Checkpoints(3, scoring, choice)
    single = scoring in SINGLE_RELEASE
    assert made.candidate_sets == (4 if single or choice == "fid_on_private_validation" else 3)
    scored = [0.1, 0.2, 0.3, 0.4] if single else [None] * 3
    assert len(made.scores_of_candidates(scored)) == made.candidate_sets
    assert made.scores_of_adapters(scored) == (scored if single else [None] * 4)
