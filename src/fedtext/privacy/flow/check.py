"""The rules of the privacy flow check, on a graph of nodes and data set names.

- Every data set has a class, and no private one is shown.
- Every charge reaches a privacy report, and no ledger is charged twice.
- A node has the tags that allow what it reads and writes.
- One file belongs to one data set with one class, and a private file has a private name.

The guard (fedtext.wiring.guard) recognises a private file by its name while a node runs, and so does a person.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from fedtext.privacy.flow.declared import Declared
from fedtext.privacy.tags import Tag

CLASSES = ("private", "released", "public")
ROLES = (Tag.RELEASE, Tag.HELD_OUT, Tag.REPORT, Tag.CONTROL, Tag.COUNT)  # a node has one at most
HELD_OUT_NAMES = ("private_test", "private_validation", "pairs.private_test", "pairs.private_validation")


@dataclass(frozen=True)
class GraphNode:
    """A node of the pipeline: its name, the data sets it reads and writes, its tags.

    `bound` describes any values bound to its function, beside its inputs, that are more than plain settings.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tags: frozenset[str] = frozenset()
    bound: tuple[str, ...] = ()


@dataclass(frozen=True)
class Violation:
    """One violation of a rule. `node` is empty where the catalog alone is at fault."""

    rule: str
    node: str
    dataset: str
    message: str

    def __str__(self) -> str:
        return self.message


def descendants(
    start: dict[str, str], nodes: Sequence[GraphNode], through: Callable[[GraphNode], bool]
) -> dict[str, str]:
    """Return the data sets derived from those in `start` by nodes that are `through`, each with its source's value."""
    readers: dict[str, list[GraphNode]] = {}
    for node in filter(through, nodes):
        for name in node.inputs:
            readers.setdefault(without_transcoding(name), []).append(node)
    found, waiting = dict(start), list(start)
    while waiting:
        name = waiting.pop()
        new = {without_transcoding(made) for node in readers.get(name, ()) for made in node.outputs} - found.keys()
        found |= dict.fromkeys(new, found[name])
        waiting += new
    return found


def class_of(name: str, classes: Mapping[str, str]) -> str | None:
    """Return a data set's class: as declared, public for parameters, private for names that start with `private_`."""
    if name == "parameters" or name.startswith("params:"):
        return "public"
    by_name = "private" if last_part(name).startswith("private_") else None
    return classes.get(name, classes.get(without_transcoding(name), by_name))


def is_private(name: str, classes: Mapping[str, str]) -> bool:
    """Return True if a data set is private by its class or, whatever its class, by its name."""
    return class_of(name, classes) == "private" or last_part(name).startswith("private_")


def is_ledger(name: str) -> bool:
    """Return True if the name is a ledger's."""
    return last_part(name).startswith("ledger") or last_part(name).endswith("_ledger")


def without_transcoding(name: str) -> str:
    """Remove Kedro's transcoding suffix: `table@pandas` and `table@polars` are one data set."""
    return name.partition("@")[0]


def namespace(name: str) -> str:
    """Return all before the last point; empty where there is none."""
    return without_transcoding(name).rpartition(".")[0]


def last_part(name: str) -> str:
    """Remove namespace and transcoding from a name."""
    return without_transcoding(name).rpartition(".")[2]


def catalog_violations(
    names: Sequence[str], classes: Mapping[str, str], previewed: Collection[str], logged: Collection[str]
) -> Iterator[Violation]:
    """Yield one violation for each fault of a name or a class."""
    for name in names:
        said = class_of(name, classes)
        if said not in CLASSES:
            what = "has no privacy class" if said is None else f"has the unknown privacy class '{said}'"
            remedy = f"set metadata.fedtext.privacy of its catalog entry to one of {', '.join(CLASSES)}"
            yield Violation("unclassed", "", name, f"data set '{name}' {what}: {remedy}")
        if last_part(name).startswith("private_") and said != "private":
            message = f"data set '{name}' is named private but classed {said}: class it private, or rename it"
            yield Violation("misnamed", "", name, message)
        if last_part(name) in HELD_OUT_NAMES and without_transcoding(name) not in HELD_OUT_NAMES:
            message = (
                f"data set '{name}' has the name of held-out text, which only the split makes: read "
                f"'{last_part(name)}' itself, or rename it"
            )
            yield Violation("held-out name", "", name, message)
        for shown, where in ((previewed, "shown by Kedro-Viz"), (logged, "sent to the experiment tracker")):
            if name in shown and is_private(name, classes):
                message = f"data set '{name}' is private, but its catalog entry has it {where}: remove that"
                yield Violation("shown", "", name, message)


HANDED_ON = ("07_model_output", "08_reporting")  # the folders that people pass on


def check_files(files: Mapping[str, PurePath], classes: Mapping[str, str]) -> list[Violation]:
    """Return the violations of `files`, the resolved path of each data set that has one.

    A parameter that names a file is a data set here (`params:corpus.path`), and `classes` holds the file's class.
    """
    private = {name for name in files if _is_private(name, classes)}
    first: dict[PurePath, str] = {}
    found: list[Violation] = []
    for name in sorted(files):
        other = first.setdefault(files[name], name)
        if without_transcoding(other) != without_transcoding(name) and not (
            _is_parameter(name) and (name in private) == (other in private)
        ):
            message = f"data sets '{other}' and '{name}' are one file, {files[name]}: give each a file of its own"
            found.append(Violation("shared file", "", name, message))
    for name, path in sorted(files.items()):
        found += _nested(name, path, first, private)
        if not _is_parameter(name):
            found += _misnamed(name, path, name in private)
    return found


def check_further_files(
    named: Mapping[str, Collection[PurePath]], files: Mapping[str, PurePath], classes: Mapping[str, str]
) -> list[Violation]:
    """Return the data sets that are not private and name a private file in any setting of their catalog entries.

    Args:
        named: The resolved paths that each data set's entry names beside its own.
        files: The resolved path of each data set, and of each parameter that names a file.
        classes: The class of each.
    """
    private = {path: name for name, path in files.items() if _is_private(name, classes)}
    found = []
    for name, paths in sorted(named.items()):
        for path in () if _is_private(name, classes) else sorted(paths):
            if other := next((private[one] for one in (path, *path.parents) if one in private), None):
                message = (
                    f"data set '{name}' is not private, but its catalog entry names {path}, which is of '{other}': "
                    "class it private, or name another file there"
                )
                found.append(Violation("shared file", "", name, message))
    return found


def check_private_places(places: Mapping[str, PurePath | None], data_root: PurePath) -> list[Violation]:
    """Return the private outputs of nodes that do not lie in a local file or folder of the data root.

    In the data root the guard recognises the file by its name, and removing the data root removes it.

    Args:
        places: The resolved path of each; None where the catalog entry has no local one, as for a database table.
        data_root: The run's data root, resolved.
    """
    found = []
    for name, path in sorted(places.items()):
        if path is not None and path.is_relative_to(data_root):
            continue
        where = f"lies at {path}" if path is not None else "has no local file"
        message = (
            f"data set '{name}' is private and written by a node, but {where}: give it a file below the data root "
            f'{data_root}, as filepath: "${{data_root:}}/03_primary/{last_part(name)}.parquet"'
        )
        found.append(Violation("misplaced", "", name, message))
    return found


def _nested(name: str, path: PurePath, owners: Mapping[PurePath, str], private: set[str]) -> Iterator[Violation]:
    for around in path.parents:
        other = owners.get(around)
        if other is not None and (name in private) != (other in private):
            message = (
                f"data set '{name}' lies at {path}, inside '{other}', and only one of them is private: give them "
                "places of their own"
            )
            yield Violation("nested file", "", name, message)


def _misnamed(name: str, path: PurePath, private: bool) -> Iterator[Violation]:
    named = path.name.startswith("private_")
    for folder in HANDED_ON if private else ():
        if folder in path.parts:
            message = f"data set '{name}' is private but lies in {folder} ({path}): give it a place elsewhere"
            yield Violation("misplaced", "", name, message)
    if private and not named:
        message = f"data set '{name}' is private, which {path} does not show: give it the name private_{path.name}"
        yield Violation("misplaced", "", name, message)
    if named and not private:
        message = f"data set '{name}' is not private, but {path} is named so: class it private, or rename the file"
        yield Violation("misplaced", "", name, message)


def _is_private(name: str, classes: Mapping[str, str]) -> bool:
    return classes.get(name) == "private" if _is_parameter(name) else is_private(name, classes)


def _is_parameter(name: str) -> bool:
    return name.startswith("params:")


def forked_ledgers(node: GraphNode, readers: dict[str, str]) -> Iterator[Violation]:
    """Yield a violation for each ledger that two nodes charge.

    `readers` maps a ledger to the node that charges it; it is filled in node by node.
    """
    if not any(map(is_ledger, node.outputs)):
        return
    for name in filter(is_ledger, node.inputs):
        first = readers.setdefault(without_transcoding(name), node.name)
        if first != node.name:
            message = (
                f"nodes '{first}' and '{node.name}' both charge the ledger '{name}', so one charge would be lost: give "
                f"'{node.name}' the ledger that '{first}' returns"
            )
            yield Violation("forked ledger", node.name, name, message)


def lost_charges(nodes: Sequence[GraphNode]) -> Iterator[Violation]:
    """Yield charges that no privacy report would show."""
    releases = [node for node in nodes if Tag.RELEASE in node.tags]
    read = {without_transcoding(name) for node in nodes for name in node.inputs}
    for node in releases:
        for name in filter(is_ledger, node.outputs):
            if without_transcoding(name) not in read:
                message = (
                    f"node '{node.name}' charges the ledger '{name}', that no node reads: hand it to the next release, "
                    "and the last one to the node that writes the privacy report"
                )
                yield Violation("lost charge", node.name, name, message)
    charged = {without_transcoding(name): node.name for node in releases for name in filter(is_ledger, node.inputs)}
    for node in nodes:
        if any(last_part(name).endswith("privacy_report") for name in node.outputs):
            for name in filter(is_ledger, node.inputs):
                if later := charged.get(without_transcoding(name)):
                    message = (
                        f"node '{node.name}' reports the ledger '{name}', which '{later}' charges further: give it the "
                        "ledger that the last release returns"
                    )
                    yield Violation("lost charge", node.name, name, message)


def declaration_violations(node: GraphNode, splitters: Mapping[str, str]) -> Iterator[Violation]:
    """Yield the faults of a node whatever it reads: its tags, the values bound to its function, the names it writes.

    `splitters` maps a namespace to the first node tagged `splits_clients` that writes into it.
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
        if without_transcoding(name) in HELD_OUT_NAMES and splitters.get(namespace(name)) != node.name:
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
    """Yield the violations of a node that reads private data (`read`, at least one)."""
    if Tag.RELEASE in node.tags:
        yield from _release_without_ledger(node, read[0])
    if node.tags & {Tag.RELEASE, Tag.HELD_OUT}:
        yield from _public_outputs(node, read[0], classes)
    else:
        yield from _unmarked_reader(node, read[0], classes, declared)
    if not node.outputs:
        message = (
            f"node '{node.name}' reads private data ('{read[0]}') and writes no data set, so where they go cannot be "
            "seen: give it an output, or remove it"
        )
        yield Violation("leak", node.name, read[0], message)
    if Tag.CONTROL in node.tags and not declared.private_control:
        yield from _undeclared_control(node, read[0])
    if Tag.HELD_OUT in node.tags:
        if not declared.exact_figures:
            yield from _exact_outputs(node, read[0], classes)
        yield from _protected_reads(node, [name for name in read if without_transcoding(name) not in held_out])


def _unmarked_reader(node: GraphNode, read: str, classes: Mapping[str, str], declared: Declared) -> Iterator[Violation]:
    for name in node.outputs:
        if is_private(name, classes):
            continue
        if Tag.COUNT not in node.tags or last_part(name) != "population":
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}', which is "
                f"{class_of(name, classes) or 'unclassed'}: class '{name}' private, or make the node a release (tag "
                "'release', ledger in and out) or a held-out evaluation (tag 'held_out_evaluation')"
            )
            yield Violation("leak", node.name, name, message)
        elif not declared.public_corpus:
            message = (
                f"node '{node.name}' counts private data ('{read}') into '{name}', but the corpus is not declared "
                "public: set privacy.population or privacy.enrolment, or corpus.declared_public if it is public"
            )
            yield Violation("counted", node.name, name, message)


def _release_without_ledger(node: GraphNode, read: str) -> Iterator[Violation]:
    for names, what, remedy in (
        (node.inputs, "does not take one ledger in", "give it the ledger that earlier releases have charged"),
        (node.outputs, "does not give one ledger out", "return the charged ledger, to a data set named ledger..."),
    ):
        if sum(map(is_ledger, names)) != 1:
            message = f"node '{node.name}' releases private data ('{read}') but {what}: {remedy}"
            yield Violation("release without ledger", node.name, read, message)


def _public_outputs(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        if class_of(name, classes) == "public":
            message = (
                f"node '{node.name}' reads private data ('{read}') and writes '{name}' as public: what is made of "
                "private data is released at best; class it released"
            )
            yield Violation("leak", node.name, name, message)


def _exact_outputs(node: GraphNode, read: str, classes: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.outputs:
        if not is_private(name, classes):
            message = (
                f"node '{node.name}' gives exact figures of held-out private text ('{read}') out in '{name}', which "
                "no release accounts for: give them out in a release (tag 'release', the test clients' ledger in "
                "and out), or set evaluation.dp=false, and the report says first that test clients are not "
                "protected"
            )
            yield Violation("unpriced", node.name, name, message)


def _undeclared_control(node: GraphNode, read: str) -> Iterator[Violation]:
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


ALL = Declared()


def check_flow(
    nodes: Sequence[GraphNode],
    classes: Mapping[str, str],
    *,
    previewed: Collection[str] = (),
    logged: Collection[str] = (),
    declared: Declared = ALL,
) -> list[Violation]:
    """Return all violations of a graph: those of the catalog first, then the nodes' in the order given.

    A data set derived from a leaked one is a violation too.

    Args:
        nodes: The nodes, in the order of a run.
        classes: The class of each data set. Names whose last part starts with `private_` are private without an entry,
            parameters are public.
        previewed: The data sets that Kedro-Viz would show.
        logged: The data sets whose type sends them to an experiment tracker.
        declared: The results that may leave beside releases; by default those of a public corpus.
    """
    names = sorted({name for node in nodes for name in (*node.inputs, *node.outputs)} | set(classes))
    found = list(catalog_violations(names, classes, previewed, logged))
    secret = {without_transcoding(name): name for name in names if is_private(name, classes)}
    private = descendants(secret, nodes, lambda node: not node.tags & {Tag.RELEASE, Tag.HELD_OUT, Tag.COUNT})
    scored = {
        without_transcoding(name): node.name for node in nodes if Tag.HELD_OUT in node.tags for name in node.outputs
    }
    evaluated = descendants(scored, nodes, _may_read_evaluations)
    held_out = _held_out(nodes, private)
    splits = [node for node in reversed(nodes) if Tag.SPLIT in node.tags]
    splitters = {namespace(name): node.name for node in splits for name in node.outputs}
    ledger_readers: dict[str, str] = {}
    for node in nodes:
        found += declaration_violations(node, splitters)
        if not _may_read_evaluations(node):
            found += _steering(node, evaluated)
        found += forked_ledgers(node, ledger_readers)
        if read := [name for name in node.inputs if without_transcoding(name) in private]:
            found += reader_violations(node, read, classes, held_out, declared)
    return [*found, *lost_charges(nodes)]


def _may_read_evaluations(node: GraphNode) -> bool:
    return bool(node.tags & {Tag.HELD_OUT, Tag.REPORT})


def _held_out(nodes: Sequence[GraphNode], private: Collection[str]) -> set[str]:
    """Return private data sets that are held-out text, derived from no other private ones, or declared a control.

    Where several pipelines are checked at once, one data set may have several makers: all must be harmless.
    """
    makers: dict[str, list[GraphNode]] = {}
    for node in nodes:
        for name in node.outputs:
            makers.setdefault(without_transcoding(name), []).append(node)
    known = dict.fromkeys(HELD_OUT_NAMES, True)

    def is_held_out(name: str) -> bool:
        if name not in known:
            known[name] = False  # a data set derived from itself alone is not held out
            known[name] = bool(makers.get(name)) and all(map(harmless, makers[name]))
        return known[name]

    def harmless(maker: GraphNode) -> bool:
        read = [without_transcoding(one) for one in maker.inputs if without_transcoding(one) in private]
        return Tag.CONTROL in maker.tags or (bool(read) and all(map(is_held_out, read)))

    return {name for name in private if is_held_out(name)}


def _steering(node: GraphNode, evaluated: Mapping[str, str]) -> Iterator[Violation]:
    for name in node.inputs:
        if source := evaluated.get(without_transcoding(name)):
            message = (
                f"node '{node.name}' reads '{name}', which comes from the held-out evaluation '{source}' and so may "
                "steer nothing. Read released scores instead, or read the private data in a release that writes the "
                "read into the ledger (Ledger.unaccounted_read); a node of the report needs the tag 'report'"
            )
            yield Violation("steers", node.name, name, message)
