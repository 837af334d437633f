"""Every charge reaches a privacy report, and none is made twice on one ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedtext.privacy.flow.graph import GraphNode, Violation, bare, is_ledger, last_part
from fedtext.privacy.tags import Tag


def forked_ledgers(node: GraphNode, readers: dict[str, str]) -> Iterator[Violation]:
    """A ledger that two nodes charge; `readers` is who charges which, filled in node by node."""
    if not any(map(is_ledger, node.outputs)):
        return
    for name in filter(is_ledger, node.inputs):
        first = readers.setdefault(bare(name), node.name)
        if first != node.name:
            message = (
                f"nodes '{first}' and '{node.name}' both charge the ledger '{name}', so one charge would be lost: give "
                f"'{node.name}' the ledger that '{first}' returns"
            )
            yield Violation("forked ledger", node.name, name, message)


def lost_charges(nodes: Sequence[GraphNode]) -> Iterator[Violation]:
    """Charges that no privacy report would show."""
    releases = [node for node in nodes if Tag.RELEASE in node.tags]
    read = {bare(name) for node in nodes for name in node.inputs}
    for node in releases:
        for name in filter(is_ledger, node.outputs):
            if bare(name) not in read:
                message = (
                    f"node '{node.name}' charges the ledger '{name}', which nobody reads: hand it to the next release, "
                    "and the last one to the node that writes the privacy report"
                )
                yield Violation("lost charge", node.name, name, message)
    charged = {bare(name): node.name for node in releases for name in filter(is_ledger, node.inputs)}
    for node in nodes:
        if any(last_part(name).endswith("privacy_report") for name in node.outputs):
            for name in filter(is_ledger, node.inputs):
                if later := charged.get(bare(name)):
                    message = (
                        f"node '{node.name}' reports the ledger '{name}', which '{later}' charges further: give it the "
                        "ledger that the last release returns"
                    )
                    yield Violation("lost charge", node.name, name, message)
