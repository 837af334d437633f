"""What each node that is given a model has to compute, by the node's name: a table, by subject."""

from __future__ import annotations

import re

from fedtext.planning.rules import labelled, others, preferences, shared, texts
from fedtext.planning.rules.given import Given, Rule

RULES: dict[str, Rule] = {
    **shared.RULES,
    **texts.RULES,
    **labelled.RULES,
    **preferences.RULES,
    **others.RULES,
}
REPEATED = re.compile(r"\b(?:round_\d+|closing)\.")
OF_ONE = re.compile(r"^evaluation\.\w+\.(?=\w+$)")  # an evaluation for one algorithm
OF_EACH = re.compile(r"^\w+\.(?=choose_for_reading$)")  # a node that algorithms have in common


def kind_of(node: str) -> str:
    """Return the name that a node shares with the same node of other rounds."""
    return REPEATED.sub("", node)


def rule_of(node: str) -> Rule | None:
    """Return the rule of a node, by the longest beginning of its name that has one; None if none has."""
    name = OF_EACH.sub("outputs.", OF_ONE.sub("evaluation.", kind_of(node)))
    found = [beginning for beginning in RULES if name.startswith(beginning)]
    return RULES[max(found, key=len)] if found else None


__all__ = ["RULES", "Given", "Rule", "kind_of", "rule_of"]
