"""The privacy flow check: private data may leave a pipeline only where something is declared that protects them.

Every data set is `private`, `released` or `public`. A node that reads private data writes private data only, unless a
tag says what it is:

- `release`: it takes a ledger in, gives the charged one out, and its other outputs may be `released`;
- `held_out_evaluation`: it reads `private_test` or `private_validation`, or what is made of nothing private but them;
  its outputs may be shown, but nothing that the run produces may depend on them, so only nodes tagged
  `held_out_evaluation` or `report` may read them, or anything made of them;
- `unprotected_control`: it writes private data that held-out evaluations may read, although they are made of protected
  text: the upper bound that every method is compared with. The privacy report says that no epsilon covers it;
- `public_count`: it writes the data set `population` only, the number of units, which zero_out and replace_one take
  as public.

A ledger is a data set whose name's last part starts with `ledger`, a privacy report one whose name's last part ends in
`privacy_report`. Every charge must reach a report: a ledger that a release gives out is read by somebody, and no report
is of a ledger that was charged again. The check is pure: it sees names, never data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

CLASSES = ("private", "released", "public")
RELEASE, HELD_OUT, REPORT, COUNT = "release", "held_out_evaluation", "report", "public_count"
CONTROL = "unprotected_control"
HELD_OUT_PARTS = ("private_test", "private_validation")


@dataclass(frozen=True)
class GraphNode:
    """A node of the pipeline: its name, the data sets it reads and writes, and its tags."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Violation:
    """One thing that is not allowed. `node` is empty where the catalog alone is at fault."""

    rule: str
    node: str
    dataset: str
    message: str

    def __str__(self) -> str:
        return self.message


Rule = Callable[[GraphNode, str, Mapping[str, str]], Iterator[Violation]]


def check_flow(
    nodes: Sequence[GraphNode],
    classes: Mapping[str, str],
    *,
    previewed: Collection[str] = (),
    logged: Collection[str] = (),
) -> list[Violation]:
    """All violations of a graph: those of the catalog first, then the nodes' in the order given.

    `classes` says what each data set is; names whose last part starts with `private_` are private without saying so,
    parameters are public. `previewed` are the data sets that Kedro-Viz would show, `logged` those whose type sends
    them to an experiment tracker. What leaks is followed: a data set made of a leaked one is a violation too.
    """
    names = sorted({name for node in nodes for name in (*node.inputs, *node.outputs)} | set(classes))
    found = list(_catalog_violations(names, classes, previewed, logged))
    secret = {_bare(name): name for name in names if _is_private(name, classes)}
    private = _reached(secret, nodes, lambda node: not node.tags & {RELEASE, HELD_OUT, COUNT})
    scored = {_bare(name): node.name for node in nodes if HELD_OUT in node.tags for name in node.outputs}
    evaluated = _reached(scored, nodes, _may_read_evaluations)
    held_out = _held_out(nodes, private)
    ledger_readers: dict[str, str] = {}
    for node in nodes:
        if not _may_read_evaluations(node):
            found += _steering(node, evaluated)
        found += _forked_ledgers(node, ledger_readers)
        read = [name for name in node.inputs if _bare(name) in private]
        if read:
            found += _rule_for(node)(node, read[0], classes)
            found += _silent(node, read[0])
        if HELD_OUT in node.tags:
            found += _protected_reads(node, [name for name in read if _bare(name) not in held_out])
    return [*found, *_lost_charges(nodes)]


def _held_out(nodes: Sequence[GraphNode], private: Collection[str]) -> set[str]:
    """Private data sets that are held-out text, made of nothing private but that, or declared a control."""
    makers = {_bare(name): node for node in nodes for name in node.outputs}
    known: dict[str, bool] = {}

    def is_held_out(name: str) -> bool:
        if name not in known:
            known[name] = False  # what is made of itself is made of nothing held out
            maker = makers.get(name)
            read = [_bare(one) for one in maker.inputs if _bare(one) in private] if maker else []
            declared = _last_part(name) in HELD_OUT_PARTS or (maker is not None and CONTROL in maker.tags)
            known[name] = declared or (bool(read) and all(map(is_held_out, read)))
        return known[name]

    return {name for name in private if is_held_out(name)}


def _may_read_evaluations(node: GraphNode) -> bool:
    return bool(node.tags & {HELD_OUT, REPORT})


def _reached(start: dict[str, str], nodes: Sequence[GraphNode], through: Callable[[GraphNode], bool]) -> dict[str, str]:
    """Data sets made of those in `start` by nodes that are `through`, each with the value of what it was made of."""
    readers: dict[str, list[GraphNode]] = {}
    for node in filter(through, nodes):
        for name in node.inputs:
            readers.setdefault(_bare(name), []).append(node)
    reached, waiting = dict(start), list(start)
    while waiting:
        name = waiting.pop()
        new = {_bare(made) for node in readers.get(name, ()) for made in node.outputs} - reached.keys()
        reached |= dict.fromkeys(new, reached[name])
        waiting += new
    return reached


def _catalog_violations(
    names: Sequence[str], classes: Mapping[str, str], previewed: Collection[str], logged: Collection[str]
) -> Iterator[Violation]:
    for name in names:
        stated = _stated(name, classes)
        if stated not in CLASSES:
            what = "has no privacy class" if stated is None else f"has the unknown privacy class '{stated}'"
            remedy = f"set metadata.fedtext.privacy of its catalog entry to one of {', '.join(CLASSES)}"
            yield Violation("unclassed", "", name, f"data set '{name}' {what}: {remedy}")
        if _last_part(name).startswith("private_") and stated != "private":
            message = f"data set '{name}' is named private but classed {stated}: class it private, or rename it"
            yield Violation("misnamed", "", name, message)
        for shown, where in ((previewed, "shown by Kedro-Viz"), (logged, "sent to the experiment tracker")):
            if name in shown and _is_private(name, classes):
                message = f"data set '{name}' is private, but its catalog entry has it {where}: remove that"
                yield Violation("shown", "", name, message)


def _steering(node: GraphNode, evaluated: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.inputs:
        if source := evaluated.get(_bare(name)):
            message = (
                f"node '{node.name}' reads '{name}', which comes from the held-out evaluation '{source}' and so may "
                "steer nothing. Read released scores instead, or read the private data in a release that writes the "
                "read into the ledger (Ledger.unaccounted_read); a node of the report needs the tag 'report'"
            )
            yield Violation("steers", node.name, name, message)


def _forked_ledgers(node: GraphNode, readers: dict[str, str]) -> Iterator[Violation]:
    if not any(map(_is_ledger, node.outputs)):
        return
    for name in filter(_is_ledger, node.inputs):
        first = readers.setdefault(_bare(name), node.name)
        if first != node.name:
            message = (
                f"nodes '{first}' and '{node.name}' both charge the ledger '{name}', so one charge would be lost: give "
                f"'{node.name}' the ledger that '{first}' returns"
            )
            yield Violation("forked ledger", node.name, name, message)


def _lost_charges(nodes: Sequence[GraphNode]) -> Iterator[Violation]:
    """Charges that no privacy report would show."""
    releases = [node for node in nodes if RELEASE in node.tags]
    charged = {_bare(name): node.name for node in releases for name in filter(_is_ledger, node.inputs)}
    read = {_bare(name) for node in nodes for name in node.inputs}
    for node in releases:
        for name in filter(_is_ledger, node.outputs):
            if _bare(name) not in read:
                message = (
                    f"node '{node.name}' charges the ledger '{name}', which nobody reads: hand it to the next release, "
                    "and the last one to the node that writes the privacy report"
                )
                yield Violation("lost charge", node.name, name, message)
    for node in nodes:
        if any(_last_part(name).endswith("privacy_report") for name in node.outputs):
            for name in filter(_is_ledger, node.inputs):
                if later := charged.get(_bare(name)):
                    message = (
                        f"node '{node.name}' reports the ledger '{name}', which '{later}' charges further: give it the "
                        "ledger that the last release returns"
                    )
                    yield Violation("lost charge", node.name, name, message)


def _silent(node: GraphNode, read: str) -> Iterator[Violation]:
    if not node.outputs:
        message = (
            f"node '{node.name}' reads private data ('{read}') and writes no data set, so where they go cannot be "
            "seen: give it an output, or remove it"
        )
        yield Violation("leak", node.name, read, message)


def _protected_reads(node: GraphNode, read: Sequence[str]) -> Iterator[Violation]:
    for name in read:
        message = (
            f"node '{node.name}' is a held-out evaluation and reads '{name}', which is not made of "
            f"{' or '.join(HELD_OUT_PARTS)} alone: read those, or make the node a release (tag 'release')"
        )
        yield Violation("not held out", node.name, name, message)


def _plain(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        counted = COUNT in node.tags and _last_part(name) == "population"
        if not _is_private(name, classes) and not counted:
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}', which is "
                f"{_stated(name, classes) or 'unclassed'}: class '{name}' private, or make the node a release (tag "
                "'release', ledger in and out) or a held-out evaluation (tag 'held_out_evaluation')"
            )
            yield Violation("leak", node.name, name, message)


def _released(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for names, what, remedy in (
        (node.inputs, "does not take one ledger in", "give it the ledger that earlier releases have charged"),
        (node.outputs, "does not give one ledger out", "return the charged ledger, to a data set named ledger..."),
    ):
        if sum(map(_is_ledger, names)) != 1:
            message = f"node '{node.name}' releases private data ('{read}') but {what}: {remedy}"
            yield Violation("release without ledger", node.name, read, message)
    yield from _not_public(node, read, classes)


def _not_public(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        if _stated(name, classes) == "public":
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}' as public: what is made of "
                "private data is released at best; class it released"
            )
            yield Violation("leak", node.name, name, message)


def _rule_for(node: GraphNode) -> Rule:
    if RELEASE in node.tags:
        return _released
    return _not_public if HELD_OUT in node.tags else _plain


def _stated(name: str, classes: Mapping[str, str]) -> str | None:
    if name == "parameters" or name.startswith("params:"):
        return "public"
    by_name = "private" if _last_part(name).startswith("private_") else None
    return classes.get(name, classes.get(_bare(name), by_name))


def _is_private(name: str, classes: Mapping[str, str]) -> bool:
    return _stated(name, classes) == "private" or _last_part(name).startswith("private_")


def _is_ledger(name: str) -> bool:
    return _last_part(name).startswith("ledger")


def _bare(name: str) -> str:
    """Without Kedro's transcoding suffix: `table@pandas` and `table@polars` are one data set."""
    return name.partition("@")[0]


def _last_part(name: str) -> str:
    return _bare(name).rpartition(".")[2]
