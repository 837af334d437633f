"""Rules about data sets by themselves: that each has a class, and that none is shown which is private."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from fedtext.privacy.flow.graph import CLASSES, HELD_OUT_NAMES, Violation, bare, is_private, last_part, stated


def catalog_violations(
    names: Sequence[str], classes: Mapping[str, str], previewed: Collection[str], logged: Collection[str]
) -> Iterator[Violation]:
    """What is wrong with names and classes, one violation each."""
    for name in names:
        said = stated(name, classes)
        if said not in CLASSES:
            what = "has no privacy class" if said is None else f"has the unknown privacy class '{said}'"
            remedy = f"set metadata.fedtext.privacy of its catalog entry to one of {', '.join(CLASSES)}"
            yield Violation("unclassed", "", name, f"data set '{name}' {what}: {remedy}")
        if last_part(name).startswith("private_") and said != "private":
            message = f"data set '{name}' is named private but classed {said}: class it private, or rename it"
            yield Violation("misnamed", "", name, message)
        if last_part(name) in HELD_OUT_NAMES and bare(name) not in HELD_OUT_NAMES:
            message = (
                f"data set '{name}' has the name of held-out text, which only the split makes: read "
                f"'{last_part(name)}' itself, or rename it"
            )
            yield Violation("held-out name", "", name, message)
        for shown, where in ((previewed, "shown by Kedro-Viz"), (logged, "sent to the experiment tracker")):
            if name in shown and is_private(name, classes):
                message = f"data set '{name}' is private, but its catalog entry has it {where}: remove that"
                yield Violation("shown", "", name, message)
