"""How fast and how big a LargeFedBench build is: memory, linearity, and documents a second against a plain implementation.

    python benchmarks/largefedbench_build.py ratio            # the same documents both ways, interleaved, CPU seconds
    python benchmarks/largefedbench_build.py scale --copies 158   # 134,000 speeches and 72,000 abstracts

Raw pages are the real ones (../shared, or --shared DIR), repeated with other dates and other words. The plain
implementation applies the same rules one after the other to one document at a time: every rule its own pass, every
character its own test, every text its own call of the tokenizer.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from fedtext.corpora.chunking import chunk_texts
from fedtext.corpora.largefedbench.build import build_snapshot
from fedtext.corpora.largefedbench.cleaning import clerk, notation, procedure
from fedtext.corpora.largefedbench.cleaning.cleaner import normalise
from fedtext.corpora.largefedbench.cleaning.sentences import split_sentences
from fedtext.corpora.largefedbench.cleaning.vocatives import strip_vocatives
from fedtext.corpora.largefedbench.snapshot import read_table
from fedtext.corpora.largefedbench.sources import SOURCES, raw_pages
from fedtext.corpora.largefedbench.tokens import load_tokenizer
from fedtext.corpora.largefedbench.turns import SPEECH, SPOKEN, Turn
from fedtext.generation.language_model import bundled
from fedtext.params.largefedbench import LargeFedBench

ABSTRACTS_A_PAGE = 100
SWAPPED_WORDS = [
    "people",
    "country",
    "nation",
    "children",
    "families",
    "members",
    "amendment",
    "support",
    "American",
    "Canadian",
    "government",
    "program",
    "security",
    "billion",
    "million",
    "workers",
    "important",
    "example",
    "system",
    "policy",
    "problem",
    "question",
    "energy",
    "health",
    "money",
    "future",
    "world",
    "water",
]


# --- raw pages -------------------------------------------------------------------------------------------------------


def make_raw(shared: Path, root: Path, copies: int, abstracts: int) -> Path:
    """`copies` of the real sittings and days, each with its own dates and words, and `abstracts` preprints."""
    for copy in range(copies):
        draw = random.Random(copy)
        pairs = list(zip(draw.sample(SWAPPED_WORDS, 12), draw.sample(SWAPPED_WORDS, 12), strict=True))
        _copy_canada(shared / "congress/ca", root / "ca", copy, pairs)
        _copy_us(next((shared / "congress/us").glob("CREC-*")), root / "us", copy, pairs)
    _copy_abstracts(shared / "abstracts", root / "biorxiv", abstracts)
    return root


def _swapped(data: bytes, pairs: list[tuple[str, str]]) -> bytes:
    for old, new in pairs:
        data = data.replace(f" {old} ".encode(), f" {new} ".encode())
    return data


def _copy_canada(source: Path, target: Path, copy: int, pairs: list[tuple[str, str]]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted(source.glob("*.xml"))):
        day = date(2010, 1, 1) + timedelta(days=2 * copy + number)
        data = _swapped(path.read_bytes(), pairs)
        for name, value in (("Day", day.day), ("Month", day.month), ("Year", day.year)):
            data = re.sub(rf'("MetaDateNum{name}">)\d+'.encode(), rf"\g<1>{value:02d}".encode(), data)
        (target / f"{day}.xml").write_bytes(data)


def _copy_us(source: Path, target: Path, copy: int, pairs: list[tuple[str, str]]) -> None:
    old, new = source.name, f"CREC-{date(2010, 1, 1) + timedelta(days=copy)}"
    package = target / new
    (package / "html").mkdir(parents=True, exist_ok=True)
    (package / "mods.xml").write_bytes((source / "mods.xml").read_bytes().replace(old.encode(), new.encode()))
    for path in source.glob("html/*.htm"):
        (package / "html" / path.name.replace(old, new)).write_bytes(_swapped(path.read_bytes(), pairs))


def _copy_abstracts(source: Path, target: Path, number: int) -> None:
    target.mkdir(parents=True, exist_ok=True)
    rows = [
        json.loads(line) for path in sorted(source.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    for page in range(0, number, ABSTRACTS_A_PAGE):
        collection = []
        for place in range(page, min(page + ABSTRACTS_A_PAGE, number)):
            row, draw = rows[place % len(rows)], random.Random(place)
            text = row["abstract"].replace(f" {draw.choice(SWAPPED_WORDS)} ", f" {draw.choice(SWAPPED_WORDS)} ")
            day = date(2010, 1, 1) + timedelta(days=place // 200)
            collection.append({
                "doi": f"10.1101/{place}", "title": row["title"], "date": str(day), "version": "1", "type": "new results",
                "license": "cc_by", "category": "none", "abstract": f"{text} Study {place}.", "server": "biorxiv",
            })  # fmt: skip
        value = {"messages": [{"status": "ok"}], "collection": collection}
        (target / f"{page:06d}.json").write_text(json.dumps(value), "utf-8")


# --- the plain implementation ----------------------------------------------------------------------------------------


def plain_clean(paragraphs: list[str], source: str) -> tuple[str, dict[str, int]]:
    """The text that `clean_speech` keeps, by one pass a rule, with the words each rule took."""
    counts: dict[str, int] = {}
    text = normalise("\n".join(paragraphs), source)
    for one in (*notation.NOTATION, *notation.MEMBER_NAMES):
        if source in one.sources:
            for pattern in one.patterns:
                text = _plain_sub(pattern, one.name, text, counts)
    before = len(text.split())
    text = strip_vocatives(text).text
    counts["vocative"] = before - len(text.split())
    kept = []
    for line in text.split("\n"):
        kept += _plain_lines(" ".join(line.split()), source, counts)
    return " ".join(kept), counts


def _plain_sub(pattern: str, name: str, text: str, counts: dict[str, int]) -> str:
    before = len(text.split())
    text = re.sub(
        rf"[ ]*(?:{pattern})(?=[ \n,.;:!?]|$)", lambda m: (m.groupdict().get("keep") and " " + m["keep"]) or "", text
    )
    text = re.sub(pattern, lambda m: m.groupdict().get("keep") or "", text)
    counts[name] = counts.get(name, 0) + before - len(text.split())
    return text


def _plain_lines(line: str, source: str, counts: dict[str, int]) -> list[str]:
    for one in clerk.CLERK:
        if source in one.sources and any(re.fullmatch(pattern, line) for pattern in one.patterns):
            counts[one.name] = counts.get(one.name, 0) + len(line.split())
            return []
    kept = []
    for sentence in split_sentences(line):
        rule = _plain_rule(sentence, source)
        if rule is None:
            kept.append(sentence)
        else:
            counts[rule] = counts.get(rule, 0) + len(sentence.split())
    return kept


def _plain_rule(sentence: str, source: str) -> str | None:
    core = sentence.strip(" .!?,;—–-")
    for one in procedure.PROCEDURE:
        if source in one.sources and any(re.fullmatch(pattern, core) for pattern in one.patterns):
            return one.name
    core = sentence.strip(" .!?,;:…—–-\"“”‘’'()[]•")
    characters = sum(1 for character in core if not character.isspace())
    letters = sum(1 for character in core if character.isalpha())
    return None if characters and letters / characters >= 0.70 else "not_letters"


def plain_build(turns: list[Turn], tokenizer: Any, path: Path) -> int:
    """Clean, chunk and write the turns one by one; returns the number of clients."""
    import pandas as pd

    rows = []
    for turn in turns:
        if turn.kind != SPEECH:
            continue
        spoken = [p.text for p in turn.paragraphs if p.kind == SPOKEN]
        text = plain_clean(spoken, turn.source)[0] if turn.source != "biorxiv" else " ".join(" ".join(spoken).split())
        if text:
            chunks = chunk_texts([text], tokenizer, length=64, min_tokens=8)[0]
            rows += [
                {"client_id": turn.client_id, "text": text, "chunk": text[c.start : c.end], "n": c.n_tokens}
                for c in chunks
            ]
    pd.DataFrame(rows).to_parquet(path)
    return len({row["client_id"] for row in rows})


# --- measurements ----------------------------------------------------------------------------------------------------


def ratio(shared: Path, work: Path, repeats: int) -> dict[str, Any]:
    """CPU seconds a document of both, interleaved `repeats` times on the same pages; texts are compared first."""
    from transformers import AutoTokenizer

    raw = make_raw(shared, work / "raw", 1, 800)
    source = bundled("generator")
    slow, fast = AutoTokenizer.from_pretrained(source), load_tokenizer(source)
    _same_texts(raw)
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    documents = {"plain": 0, "ours": 0}
    for repeat in range(repeats):
        started = time.process_time()
        documents["plain"] = plain_build(list(_turns(raw)), slow, work / "plain.parquet")
        times["plain"].append(time.process_time() - started)
        started = time.process_time()
        params = LargeFedBench(snapshot=f"r{repeat}", near_duplicates=False)
        snapshot = build_snapshot(params, fast, raw_dir=raw, out_dir=work / "ours")
        times["ours"].append(time.process_time() - started)
        documents["ours"] = sum(len(read_table(snapshot, config, "clients")) for config in ("congress", "biorxiv"))
    best = {name: min(seconds) for name, seconds in times.items()}
    speed = {name: documents[name] / best[name] for name in best}
    return {
        "documents": documents,
        "cpu_seconds": times,
        "documents_a_cpu_second": speed,
        "ratio_one_process": speed["ours"] / speed["plain"],
    }


def _turns(raw: Path) -> Iterator[Turn]:
    for name in ("ca", "us", "biorxiv"):
        for page in raw_pages(raw, SOURCES[name]):
            yield from (item for item in SOURCES[name].parse(page) if isinstance(item, Turn))


def _same_texts(raw: Path) -> None:
    from fedtext.corpora.largefedbench.cleaning.cleaner import clean_speech

    for turn in _turns(raw):
        if turn.kind == SPEECH and turn.source != "biorxiv":
            spoken = [p.text for p in turn.paragraphs if p.kind == SPOKEN]
            plain, ours = plain_clean(spoken, turn.source)[0], clean_speech(spoken, turn.source).text
            if plain.split() != ours.split():
                raise AssertionError(f"{turn.client_id}: the two implementations differ:\n{plain[:400]}\n{ours[:400]}")


def scale(shared: Path, work: Path, copies: int, processes: int) -> dict[str, Any]:
    """Wall and CPU seconds and peak memory of builds of a quarter, a half and all of `copies`, each in its own process."""
    measured = []
    for part in (copies // 4, copies // 2, copies):
        root = work / f"part{part}"
        raw = make_raw(shared, root / "raw", part, int(72_000 * part / copies))
        command = [sys.executable, __file__, "one", "--work", str(root), "--processes", str(processes)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured.append({"copies": part, **json.loads(done.stdout.splitlines()[-1])})
        print(json.dumps(measured[-1]), flush=True)
        shutil.rmtree(raw)
    return {"processes": processes, "measured": measured}


def one(root: Path, processes: int) -> dict[str, Any]:
    """One build in this process: what it took, and its peak memory (and that of its largest worker)."""
    tokenizer = load_tokenizer(bundled("generator"), name="bundled:generator")
    params = LargeFedBench(snapshot="s", processes=processes)
    started = time.perf_counter()
    snapshot = build_snapshot(params, tokenizer, raw_dir=root / "raw", out_dir=root)
    wall = time.perf_counter() - started
    configs = json.loads((snapshot / "provenance.json").read_text("utf-8"))["configs"]
    documents = {name: sum(split["clients"] for split in splits.values()) for name, splits in configs.items()}
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in usage)
    return {
        "documents": documents,
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "cpu_milliseconds_a_document": round(1000 * cpu / sum(documents.values()), 3),
        "peak_mib": [round(u.ru_maxrss / 1024) for u in usage],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ratio", "scale", "one"])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--copies", type=int, default=158)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as temporary:
        work = Path(temporary)
        if options.what == "ratio":
            result = ratio(options.shared / "data", work, options.repeats)
        elif options.what == "scale":
            result = scale(options.shared / "data", work, options.copies, options.processes)
        else:
            result = one(options.work, options.processes)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
