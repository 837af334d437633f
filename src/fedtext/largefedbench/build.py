"""Raw pages -> snapshot, streaming: shards first, then a merge a config, then the papers, then one rename.

Same pages, parameters, code and library versions give the same bytes in any directory. A build killed anywhere goes
on from its finished shards; nothing appears under the snapshot's name until everything is written and `publish` has
renamed it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import fedtext
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.merge import Merged, MergeTask, merge_config, shard_facts
from fedtext.largefedbench.metadata import write_papers
from fedtext.largefedbench.raw_pages import RawPageError
from fedtext.largefedbench.shards import PageDigest, ShardTask, digest_pages, plan_shards, write_shard
from fedtext.largefedbench.snapshot import MANIFEST, Built, SnapshotError, publish, verify, write_manifest
from fedtext.largefedbench.sources import SOURCES, strangers, unread_files
from fedtext.largefedbench.takedown import read_takedown
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.engine import Engine, current, few_collections
from fedtext.system.errors import InputError
from fedtext.system.progress import progress

LOG = logging.getLogger(__name__)
# The files whose text decides a snapshot's bytes.
CODE = ("largefedbench", "corpora/records.py", "corpora/splits.py", "seeding.py", "params/largefedbench.py")
LIBRARIES = ("pyarrow", "lxml", "tokenizers", "numpy", "huggingface_hub", "jinja2")
SHOWN = 5  # files that a refusal names


def build_snapshot(params: LargeFedBench, tokenizer: ChunkTokenizer, *, raw_dir: Path, out_dir: Path) -> Path:
    """Build `out_dir/<params.snapshot>` as `built_snapshot` does, publish it, and return it."""
    return publish(built_snapshot(params, tokenizer, raw_dir=raw_dir, out_dir=out_dir))


def built_snapshot(params: LargeFedBench, tokenizer: ChunkTokenizer, *, raw_dir: Path, out_dir: Path) -> Built:
    """Build the snapshot for `out_dir/<params.snapshot>` from the pages below `raw_dir`.

    One that lies there and would come out the same is verified and kept.

    Raises:
        ValueError: no snapshot name, no raw pages, or nothing left of them.
        RawPageError: a page cannot be read and `params.on_bad_page` is `stop`.
        SnapshotError: a snapshot of that name exists and is another one.
    """
    if not params.snapshot:
        raise InputError(
            "largefedbench.snapshot is not set: name the snapshot, for example 2025.1",
            code="snapshot-not-set",
            parameter="largefedbench.snapshot",
        )
    with few_collections():
        return _build(params, tokenizer, raw_dir, out_dir / params.snapshot, current())


def _build(params: LargeFedBench, tokenizer: ChunkTokenizer, raw_dir: Path, target: Path, engine: Engine) -> Built:
    digests = digest_pages(raw_dir, params, engine)
    unread = [error for name in params.sources for error in unread_files(raw_dir, SOURCES[name])] + strangers(raw_dir)
    if not digests:
        looked = ", ".join(f"{raw_dir / name}" for name in params.sources)
        there = "".join(f"; {error.name} is not read: {error.reason}" for error in unread[:SHOWN])
        raise InputError(
            f"no raw pages in {looked}: set largefedbench.raw_dir to the directory that holds them{there}",
            code="no-raw-pages",
            parameter="largefedbench.raw_dir",
        )
    made_by = code_and_libraries()
    identity = build_identity(params, tokenizer, digests, unread, made_by)
    working = target.with_name(f".{target.name}.building")
    if target.exists():
        return Built(_existing(target, working, identity["inputs_sha256"]), target)
    shards = _write_shards(params, tokenizer, digests, made_by, working / "shards", engine)
    _merge(shards, working / "snapshot", params, tokenizer, identity, digests, unread, engine)
    return Built(working / "snapshot", target)


def build_identity(
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    digests: dict[str, list[PageDigest]],
    unread: Iterable[RawPageError],
    made_by: dict[str, str],
) -> dict[str, str]:
    """Return the hash of all inputs, and what they are processed by (`code_and_libraries`)."""
    pages = [(page.name, page.superseded, digest) for group in digests.values() for page, digest, _ in group]
    facts = [made_by, tokenizer.sha256, params.content_parameters(), pages, [error.args for error in unread]]
    total = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return {"inputs_sha256": total} | made_by


def code_and_libraries() -> dict[str, str]:
    """Return the hash of the code and the library versions that shape a snapshot's bytes."""
    return {"code_sha256": code_sha256()} | {f"{name}_version": version(name) for name in LIBRARIES}


def code_sha256() -> str:
    """Return the hash of the source files that decide a snapshot's bytes: a revision that needs no repository."""
    root = Path(fedtext.__path__[0])
    files = sorted(
        path
        for part in CODE
        for path in ([root / part] if part.endswith(".py") else (root / part).rglob("*"))
        if path.suffix in {".py", ".j2"}
    )
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return total.hexdigest()


def _existing(target: Path, working: Path, inputs_sha256: str) -> Path:
    """Return the snapshot that is already there, verified, if the same inputs made it."""
    verify(target)
    made_from = json.loads((target / "provenance.json").read_text("utf-8"))["inputs_sha256"]
    if made_from != inputs_sha256:
        raise SnapshotError(
            f"{target} exists and was built from other pages, parameters or code: choose another "
            "largefedbench.snapshot, or move the old one away",
            code="snapshot-of-other-pages",
            parameter="largefedbench.snapshot",
            value=str(target),
        )
    if working.exists():
        shutil.rmtree(working)
    return target


def _write_shards(
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    digests: dict[str, list[PageDigest]],
    made_by: dict[str, str],
    directory: Path,
    engine: Engine,
) -> list[ShardTask]:
    """Write missing shards and return all, in source and page order.

    Shards of other builds are removed.
    """
    tasks = [
        task
        for name, pages in digests.items()
        for task in plan_shards(name, pages, params, tokenizer, json.dumps(made_by), directory)
    ]
    wanted = {task.path for task in tasks}
    for stale in directory.rglob("*") if directory.exists() else ():
        if stale.is_file() and stale not in wanted:
            stale.unlink()
    for _ in progress(engine.map(write_shard, tasks), "raw pages", unit="shard", total=len(tasks)):
        pass
    return tasks


def _merge(
    shards: Iterable[ShardTask],
    root: Path,
    params: LargeFedBench,
    tokenizer: ChunkTokenizer,
    identity: dict[str, str],
    digests: dict[str, list[PageDigest]],
    unread: Iterable[RawPageError],
    engine: Engine,
) -> None:
    """Merge the shards into `root`, write the papers beside the tables, and the manifest last."""
    if root.exists():
        shutil.rmtree(root)  # of a merge that was killed
    root.mkdir(parents=True)
    counts: dict[str, SourceCounts] = {}
    bad_pages = [(error.name, error.reason) for error in unread]
    matched, taken_down = set[int](), set[str]()
    retracted = dict[str, str]()
    fronts: dict[str, list[tuple[str, Path]]] = {}
    for shard in shards:
        facts = shard_facts(shard.path)
        counts.setdefault(shard.source, SourceCounts()).add(facts.counts)
        bad_pages += facts.bad_pages
        matched.update(facts.taken_down)
        taken_down.update(facts.taken_down_words)
        for address, rule in facts.retracted.items():
            retracted.setdefault(address, rule)
        if facts.first_id:
            fronts.setdefault(shard.config, []).append((facts.first_id, shard.path))
    for one in counts.values():
        one.hide(taken_down)
    tasks = [MergeTask(config, tuple(fronts[config]), root, params, retracted) for config in sorted(fronts)]
    merged = list(progress(engine.map(merge_config, tasks), "merge", unit="config", total=len(tasks)))
    _take_back(merged, counts)
    merged = [one for one in merged if one.sizes]  # of a config all texts may be retracted
    unmatched = _report_unmatched(params, matched)
    if not merged:
        reasons = {name: one.as_dict()["left_out"] for name, one in counts.items()}
        raise InputError(
            f"no client is left in snapshot {params.snapshot}: {json.dumps(reasons)}; bad pages: {bad_pages[:5]}",
            code="no-client-left",
        )
    for source, one in counts.items():
        one.check(source)
    write_papers(root, params, tokenizer, identity, digests, merged, counts, bad_pages, unmatched)
    write_manifest(root)
    assert (root / MANIFEST).is_file()


def _report_unmatched(params: LargeFedBench, matched: set[int]) -> int:
    """Print the lines of the takedown list that match nobody, and return their number."""
    path = params.takedown_file()
    lines = read_takedown(path).unmatched(matched)
    if lines:
        numbers = ", ".join(map(str, lines))
        LOG.warning(
            f"{path}: nobody in these pages is matched by line {numbers}; compare it with the columns client_id, "
            "speaker and speaker_id of a snapshot, letter by letter"
        )
    return len(lines)


def _take_back(merged: Iterable[Merged], counts: dict[str, SourceCounts]) -> None:
    """Correct the counts by the texts that the merge left out: retracted ones, repeated ids and near-duplicates."""
    for one in merged:
        for (source, rule), (texts, words) in sorted(one.left_out.items()):
            counts[source].clients -= texts
            counts[source].words_kept -= words
            counts[source].leave_out(rule, words, texts)
