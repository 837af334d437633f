"""YAML in which no key of a mapping stands twice: of two values the last would count, without a word."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import ConstructorError


class UniqueKeysLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML loader that raises ConstructorError for a duplicate key, and for a value that contains itself."""

    def construct_document(self, node: yaml.Node) -> Any:
        """Implement yaml.constructor.BaseConstructor."""
        _validate_unique_keys(node)  # before `<<` adds keys that may stand again
        return super().construct_document(node)


def _validate_unique_keys(node: yaml.Node, above: tuple[int, ...] = ()) -> None:
    """Raise ConstructorError for a duplicate key in a mapping, and for a value that contains itself."""
    if id(node) in above:
        raise ConstructorError(None, None, "found a value that holds itself", node.start_mark)
    above = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            _validate_unique_keys(one, above)
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if (name := str(key.value)) in seen:
                raise ConstructorError(None, None, f"found duplicate key {name}", key.start_mark)
            seen.add(name)
            _validate_unique_keys(value, above)


def yaml_fault(error: yaml.MarkedYAMLError) -> str:
    """Return what is wrong with a file that is no YAML, and in which line."""
    line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
    return f"{error.problem or error.context}{line}"
