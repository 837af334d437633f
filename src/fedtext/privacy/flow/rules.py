"""Rules about one node: what it declares itself to be, and what it may write of the private data that it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from fedtext.privacy.flow.declared import Declared
from fedtext.privacy.flow.graph import (
    HELD_OUT_NAMES,
    ROLES,
    GraphNode,
    Violation,
    bare,
    is_ledger,
    is_private,
    last_part,
    namespace,
    stated,
)
from fedtext.privacy.tags import Tag


def declaration_violations(node: GraphNode, splitters: Mapping[str, str]) -> Iterator[Violation]:
    """What is wrong with a node whatever it reads: its tags, what its function carries, whose names it writes.

    `splitters` are, by namespace, the first node with the tag `splits_clients` that writes into it.
    """
    written = node.outputs[0] if node.outputs else ""
    if len(roles := [role for role in ROLES if role in node.tags]) > 1:
        message = (
            f"node '{node.name}', which writes '{written}', has the tags {' and '.join(roles)}, which keep to "
            "different rules: give each its own node"
        )
        yield Violation("two roles", node.name, written, message)
    for one in node.bound:
        message = (
            f"node '{node.name}', which writes '{written}', carries {one} in its function, where no check sees it: "
            "give it as an input, a data set or a parameter"
        )
        yield Violation("bound", node.name, written, message)
    for name in node.outputs:
        if bare(name) in HELD_OUT_NAMES and splitters.get(namespace(name)) != node.name:
            message = (
                f"node '{node.name}' writes '{name}', which only the node that splits the clients may write: give "
                f"the data set another name, or the tag '{Tag.SPLIT}' to that one node"
            )
            yield Violation("held-out name", node.name, name, message)


def reader_violations(
    node: GraphNode,
    read: Sequence[str],
    classes: Mapping[str, str],
    held_out: Collection[str],
    declared: Declared,
) -> Iterator[Violation]:
    """What a node does wrong that reads private data (`read`, at least one)."""
    if Tag.RELEASE in node.tags:
        yield from _released(node, read[0])
    if node.tags & {Tag.RELEASE, Tag.HELD_OUT}:
        yield from _called_public(node, read[0], classes)
    else:
        yield from _plain(node, read[0], classes, declared)
    if not node.outputs:
        message = (
            f"node '{node.name}' reads private data ('{read[0]}') and writes no data set, so where they go cannot be "
            "seen: give it an output, or remove it"
        )
        yield Violation("leak", node.name, read[0], message)
    if Tag.CONTROL in node.tags and not declared.private_control:
        yield from _controlled(node, read[0])
    if Tag.HELD_OUT in node.tags:
        if not declared.exact_figures:
            yield from _unpriced(node, read[0], classes)
        yield from _protected_reads(node, [name for name in read if bare(name) not in held_out])


def _plain(node: GraphNode, read: str, classes: Mapping[str, str], declared: Declared) -> Iterator[Violation]:
    for name in node.outputs:
        if is_private(name, classes):
            continue
        if Tag.COUNT not in node.tags or last_part(name) != "population":
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}', which is "
                f"{stated(name, classes) or 'unclassed'}: class '{name}' private, or make the node a release (tag "
                "'release', ledger in and out) or a held-out evaluation (tag 'held_out_evaluation')"
            )
            yield Violation("leak", node.name, name, message)
        elif not declared.public_corpus:
            message = (
                f"node '{node.name}' counts private data ('{read}') into '{name}', but the corpus is not declared "
                "public: set privacy.population or privacy.enrolment, or corpus.declared_public if it is public"
            )
            yield Violation("counted", node.name, name, message)


def _released(node: GraphNode, read: str) -> Iterator[Violation]:
    for names, what, remedy in (
        (node.inputs, "does not take one ledger in", "give it the ledger that earlier releases have charged"),
        (node.outputs, "does not give one ledger out", "return the charged ledger, to a data set named ledger..."),
    ):
        if sum(map(is_ledger, names)) != 1:
            message = f"node '{node.name}' releases private data ('{read}') but {what}: {remedy}"
            yield Violation("release without ledger", node.name, read, message)


def _called_public(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        if stated(name, classes) == "public":
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}' as public: what is made of "
                "private data is released at best; class it released"
            )
            yield Violation("leak", node.name, name, message)


def _unpriced(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        if not is_private(name, classes):
            message = (
                f"node '{node.name}' gives exact figures of held-out private text ('{read}') out in '{name}', which "
                "test clients are not paid for: give them out in a release (tag 'release', the test clients' ledger in "
                "and out), or set evaluation.priced=false, and the report says first that test clients are not "
                "protected"
            )
            yield Violation("unpriced", node.name, name, message)


def _controlled(node: GraphNode, read: str) -> Iterator[Violation]:
    message = (
        f"node '{node.name}' reads private data ('{read}') as an unprotected control, and the corpus is private: set "
        "evaluation.private_control=true, and the report says first that no epsilon covers it; or remove the node"
    )
    yield Violation("control", node.name, read, message)


def _protected_reads(node: GraphNode, read: Sequence[str]) -> Iterator[Violation]:
    for name in read:
        message = (
            f"node '{node.name}' is a held-out evaluation and reads '{name}', which is not made of "
            f"{' or '.join(HELD_OUT_NAMES)} alone: read those, or make the node a release (tag 'release')"
        )
        yield Violation("not held out", node.name, name, message)
