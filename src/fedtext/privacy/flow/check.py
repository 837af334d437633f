"""All rules about a graph, asked in turn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from fedtext.privacy.flow.catalog import catalog_violations
from fedtext.privacy.flow.declared import Declared
from fedtext.privacy.flow.graph import HELD_OUT_NAMES, GraphNode, Violation, bare, is_private, namespace, reached
from fedtext.privacy.flow.ledgers import forked_ledgers, lost_charges
from fedtext.privacy.flow.rules import declaration_violations, reader_violations
from fedtext.privacy.tags import Tag

ALL = Declared()


def check_flow(
    nodes: Sequence[GraphNode],
    classes: Mapping[str, str],
    *,
    previewed: Collection[str] = (),
    logged: Collection[str] = (),
    declared: Declared = ALL,
) -> list[Violation]:
    """All violations of a graph: those of the catalog first, then the nodes' in the order given.

    `classes` says what each data set is; names whose last part starts with `private_` are private without saying so,
    parameters are public. `previewed` are the data sets that Kedro-Viz would show, `logged` those whose type sends
    them to an experiment tracker. `declared` says what may leave beside releases; by default what may of a public
    corpus. What leaks is followed: a data set made of a leaked one is a violation too.
    """
    names = sorted({name for node in nodes for name in (*node.inputs, *node.outputs)} | set(classes))
    found = list(catalog_violations(names, classes, previewed, logged))
    secret = {bare(name): name for name in names if is_private(name, classes)}
    private = reached(secret, nodes, lambda node: not node.tags & {Tag.RELEASE, Tag.HELD_OUT, Tag.COUNT})
    scored = {bare(name): node.name for node in nodes if Tag.HELD_OUT in node.tags for name in node.outputs}
    evaluated = reached(scored, nodes, _may_read_evaluations)
    held_out = _held_out(nodes, private)
    splits = [node for node in reversed(nodes) if Tag.SPLIT in node.tags]
    splitters = {namespace(name): node.name for node in splits for name in node.outputs}
    ledger_readers: dict[str, str] = {}
    for node in nodes:
        found += declaration_violations(node, splitters)
        if not _may_read_evaluations(node):
            found += _steering(node, evaluated)
        found += forked_ledgers(node, ledger_readers)
        if read := [name for name in node.inputs if bare(name) in private]:
            found += reader_violations(node, read, classes, held_out, declared)
    return [*found, *lost_charges(nodes)]


def _may_read_evaluations(node: GraphNode) -> bool:
    return bool(node.tags & {Tag.HELD_OUT, Tag.REPORT})


def _held_out(nodes: Sequence[GraphNode], private: Collection[str]) -> set[str]:
    """Private data sets that are held-out text, made of nothing private but that, or declared a control.

    Where several pipelines are judged at once, one data set may have several makers: all must be harmless.
    """
    makers: dict[str, list[GraphNode]] = {}
    for node in nodes:
        for name in node.outputs:
            makers.setdefault(bare(name), []).append(node)
    known = dict.fromkeys(HELD_OUT_NAMES, True)

    def is_held_out(name: str) -> bool:
        if name not in known:
            known[name] = False  # what is made of itself is made of nothing held out
            known[name] = bool(makers.get(name)) and all(map(harmless, makers[name]))
        return known[name]

    def harmless(maker: GraphNode) -> bool:
        read = [bare(one) for one in maker.inputs if bare(one) in private]
        return Tag.CONTROL in maker.tags or (bool(read) and all(map(is_held_out, read)))

    return {name for name in private if is_held_out(name)}


def _steering(node: GraphNode, evaluated: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.inputs:
        if source := evaluated.get(bare(name)):
            message = (
                f"node '{node.name}' reads '{name}', which comes from the held-out evaluation '{source}' and so may "
                "steer nothing. Read released scores instead, or read the private data in a release that writes the "
                "read into the ledger (Ledger.unaccounted_read); a node of the report needs the tag 'report'"
            )
            yield Violation("steers", node.name, name, message)
