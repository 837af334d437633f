"""Leaks that a tester found who looked for what the guard does not see; see tests.wiring.guard.planted."""

from __future__ import annotations

from tests.wiring.guard.planted import PRIVATE_CORPUS, Planted, Refused


def _a_node_of(function: str, before: str = "") -> str:
    """Code of a node that reads nothing private, with the table TEXTS at hand."""
    return f"""
TEXTS = pd.DataFrame({{"text": ["secret-0"]}})


def plain(start: int) -> dict[str, Any]:
    return {{"start": start}}


{before}


NODES = [node({function}, "params:toy.start", "shown", name="tell")]
"""


# What a node's function holds.
HELD = {
    "a table behind a decorator": Planted(
        _a_node_of(
            "with_(TEXTS)(plain)",
            """
def with_(table: pd.DataFrame) -> Any:
    def around(function: Any) -> Any:
        @functools.wraps(function)
        def told(start: int) -> dict[str, Any]:
            return {**function(start), **first_text(table)}

        return told

    return around
""",
        ),
        Refused("private-data-would-flow", "bound", "tell", "shown", "a DataFrame ('table')"),
        params=PRIVATE_CORPUS,
    ),
    "a table that is a function's attribute": Planted(
        _a_node_of("plain", "plain.table = TEXTS"),
        Refused("private-data-would-flow", "bound", "tell", "shown", "a DataFrame ('table')"),
        params=PRIVATE_CORPUS,
    ),
}
BY_A_TESTER = HELD
