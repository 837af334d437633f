"""The list of attacks: every algorithm with every neighbour, and with every fault that can affect it."""

from __future__ import annotations

from audits.attacks import NEIGHBOURS, Attack

TRAINED, VOTED = ("dp_fedavg", "dp_ftrl"), ("pe", "pe_sft")
PAID_AT_ONCE = ("popri", *VOTED, "wasp", "dpprefsyn", *TRAINED, "ctcl", "dp_rft", "dp_sgd_generation", "dp_prediction")
ALGORITHMS = (*PAID_AT_ONCE, "flexible", "dp_ft")
NOISED = tuple(name for name in ALGORITHMS if name != "dp_prediction")  # which draws tokens
STEPPED = ("flexible", "dp_ft", "ctcl", "dp_sgd_generation")  # whose steps are seen one by one
# Runs of either world: many where the bound that assumes nothing has something to see, and for the page's first rows.
QUICK = ("pe", "pe_sft", "dp_rft", "wasp", "dpprefsyn")
MANY = {"popri": 600, "popri by ballots": 80, **dict.fromkeys(QUICK, 100), **dict.fromkeys(STEPPED, 20),
        "dp_prediction": 20, "dp_fedavg": 100, "dp_ftrl": 60}  # fmt: skip
SOME = {"popri": 60, "popri by ballots": 60, **dict.fromkeys(QUICK, 30), **dict.fromkeys(STEPPED, 10),
        "dp_prediction": 10, "dp_fedavg": 10, "dp_ftrl": 10}  # fmt: skip
LOUD = ("unclipped", "seeded by rank")

# Fault, whose removal shows it, and where it can do harm. A client's code seeds its training and nothing else that
# could be seen; POPri's one release takes the mean of what an encoder bounds, and has nothing to clip; WASP's
# candidates are written texts, of which no two are apart by the last bits alone. No noise is on the
# size by which DPPrefSyn's published form drops a cluster: tests/audits/test_dpprefsyn.py has a bound for it. Flexible
# participation's claim is that of the silo that paid most, and DP-FT's that of the half, behind which a charge that
# others lost would not be seen.
HARM = {
    "unclipped": (
        "middle removed",
        ("popri by ballots", *VOTED, "dp_rft", "wasp", "dpprefsyn", *TRAINED, *STEPPED, "dp_prediction"),
    ),
    "15% too little noise": ("first removed", NOISED),
    "seeded by rank": ("first removed", TRAINED),
    "embedded in company": ("first removed", VOTED),
    "embedded by batch statistics": ("first removed", ("popri", *VOTED)),
    "trained in company": ("middle removed", TRAINED),
    "last release uncharged": ("first removed", PAID_AT_ONCE),
    "noise over the root of silos": ("first removed", ("flexible",)),
    "one noise for all silos": ("first removed", ("flexible",)),
    "one noise for all rounds": ("first removed", ("flexible",)),
    "one noise for a round's steps": ("first removed", ("flexible",)),
}
# A client whose texts the generator expects says little of a token, with or without a clip.
SEEN_BEST = {"dp_prediction": "first removed"}


def sound() -> list[Attack]:
    """Return the attacks on the code as it is: its claim must hold."""
    return [
        Attack(job, neighbour, "none", (MANY if neighbour == "first removed" else SOME)[job])
        for job in ALGORITHMS
        for neighbour in NEIGHBOURS
    ]


def faulty() -> list[Attack]:
    """Return the attacks on the code with a fault: its claim must be refuted."""
    return [
        Attack(job, SEEN_BEST.get(job, neighbour), fault, (MANY if fault in LOUD else SOME)[job])
        for fault, (neighbour, jobs) in HARM.items()
        for job in jobs
    ]
