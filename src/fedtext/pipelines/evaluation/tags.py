"""Tags of the evaluation's nodes, as the privacy flow check knows them."""

HELD_OUT, RELEASE, BUDGET = "held_out_evaluation", "release", "budget"
