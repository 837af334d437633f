"""Write docs/audits.md from the results of the attacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from audits.attacks import Finding
from audits.canaries import CANARIES, COPIES, Guesses

HEAD = """# Audits

`make audit` attacks every algorithm of `audits/plan.py` on the whole way from records to release,
and writes this page ({minutes:.0f} minutes on {workers} cores). It ends with an error if a bound passes a claim, or if
a planted fault stays unseen. `make nightly` ends with it, `make test` runs some of the attacks.

## How the attack works

Two tables of `private_records` differ in one of {clients} clients. The registered job runs on both:
partition, chunks, splits, tokens or embeddings (the offline encoder), and the algorithm's own nodes
in all rounds. Local training is real, of a Llama of three thousand weights. What the nodes tagged
`release` write is what leaves.

The auditor knows both tables, all parameters, and all that was released before. It works out what
either table would have released without noise, and asks which of the two was there
(`audits/worlds.py`). Many runs, each with a noise key of its own, give lower bounds on epsilon at
the declared delta of 1e-5. All bounds together are wrong with probability 0.001
(`audits/statistics.py`):

- **threshold** assumes nothing. It counts the errors of a threshold on the likelihood ratio, by
  Clopper and Pearson. It cannot pass the logarithm of the number of runs; at epsilon 1 and delta
  1e-5 it is far below the truth.
- **along** takes noise for Gaussian and measures its deviation along the line between the two
  worlds.
- **everywhere** takes it to be alike in all coordinates as well. 15% too little noise cannot hide
  from it.
- **together** looks at the steps of a training alone, each of which the auditor sees. It measures
  how their noise varies together: noise that two steps share cancels in their difference. It is 0
  where there are no steps.

A bound near the claim says that all the noise that was paid for is needed. A bound above it says
that the claim is false. A bound far below it is of a neighbour who sends less than is paid for: the
last client of `flexible` has one record in a silo that only votes, and in some runs noise leaves
its code without a text to vote for. The attack cannot show

- harm on other corpora than this one;
- sampling of clients, whose draws are secret (`tests/privacy/test_accounting.py` compares its
  price with enumeration);
- what leaves other than through the release nodes.

"""
SOUND = "## The code as it is\n\nThe claim is the epsilon of the run's own privacy report, for such neighbours.\n\n"
FAULTY = """
## With a fault planted

Each fault (`audits/faults.py`) makes the claim false, and a bound must pass it. Two faults do no
harm in some places and are not planted there. A client's code seeds its training and nothing else
that could be seen. POPri's one release takes means of bounded features, which have nothing to clip.

"""
BEFORE = """
## The code before

DP-FedAvg under the same attack at a claim of 1, on commit 6e0ad2f, where a client's place among the
sorted ids seeded its batches, and since. The first client is removed; distances are those of all
rounds together.

| code | corpus | rounds | runs | moved, in clip norms | along | everywhere |
|---|---|---|---|---|---|---|
| 6e0ad2f | this page's | 2 | 40 | 7.3 | 4.29 | 5.98 |
| 6e0ad2f | the default job's 2,377 clients | 4 | 1 | 27.6 (13.1 in the first round) | 2.45 | 21.85 |
| since | the default job's 2,377 clients | 4 | 1 | 2.0 (1.0 in each round) | 0.13 | 0.997 |

One run has four values of noise along the line between the two worlds, and three million
everywhere. A client that is clipped moves four sums by one clip norm each: by 2.0 together, which
is what epsilon 1 pays for.

"""
ECHO = """
## Canaries in the text

The attacker sees the published synthetic text and nothing else. {canaries} records of unlikely
words, each a client of its own, are in the private text or not, by fair coins. The attacker guesses
which (`audits/canaries.py`): by a trigram model of the synthetic text against one of public text,
and by the nearest synthetic text's embedding. Runs are at epsilon 1 and delta 1e-7, with the
bundled generator at small sizes. In the control `{copies}` the attacker must succeed: that text
copies the private text. An AUC (area under the curve) of 0.5 is chance. Bounds are wrong with
probability 0.001.

| text | signal | runs | AUC (95%) | epsilon at least |
|---|---|---|---|---|
"""


def page(
    sound: Sequence[Finding],
    faulty: Sequence[Finding],
    echoes: Mapping[str, tuple[int, Mapping[str, Guesses]]],
    *,
    minutes: float,
    workers: int,
    clients: int,
) -> str:
    """Return the whole page; tables keep the given order."""
    rows = [
        f"| {text} | {signal} | {runs} | {one.auc:.3f} ({one.low:.3f} to {one.high:.3f}) | {one.epsilon:.2f} |\n"
        for text, (runs, signals) in echoes.items()
        for signal, one in signals.items()
    ]
    return "".join(
        [
            HEAD.format(minutes=minutes, workers=workers, clients=clients),
            tables(sound, faulty),
            BEFORE,
            ECHO.format(canaries=CANARIES, copies=COPIES),
            *rows,
        ]
    )


def tables(sound: Sequence[Finding], faulty: Sequence[Finding]) -> str:
    """Return the results on the code as it is, and on the code with faults."""
    return "".join(
        [
            SOUND,
            _table(sound, ("algorithm", "neighbour"), lambda one: (one.attack.job, one.attack.neighbour)),
            FAULTY,
            _table(faulty, ("fault", "algorithm", "neighbour"), lambda one: (one.attack.fault, *one.attack[:2])),
        ]
    )


def _table(found: Sequence[Finding], names: tuple[str, ...], described: Callable[[Finding], tuple[str, ...]]) -> str:
    head = [*names, "runs", "claim", "threshold", "along", "everywhere", "together", "claim survives"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for one in found:
        bounds = [f"{bound:.3f}" for bound in one.bounds]
        cells = [*described(one), str(2 * one.attack.runs), f"{one.claim:.3f}", *bounds, "yes" if one.holds else "no"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
