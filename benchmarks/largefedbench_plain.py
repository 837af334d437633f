"""A straightforward build of the same benchmark: one document at a time, one rule after the other.

The rules are the package's own, and so are the parsers, the splitter of sentences and the vocatives; every pattern of
every rule makes its own pass, every character is tested by itself, and every text is its own call of the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedtext.corpora.records import chunk_texts
from fedtext.largefedbench.cleaning import parliament
from fedtext.largefedbench.cleaning.abstracts import clean_abstract
from fedtext.largefedbench.cleaning.cleaner import normalise, split_sentences
from fedtext.largefedbench.cleaning.parliament import strip_vocatives
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.turns import SPEECH, SPOKEN, Turn

Counts = dict[str, int]


def plain_build(raw: Path, tokenizer: Any, path: Path) -> int:
    """Parse, clean, chunk and write the turns one by one, a row a chunk; returns the number of clients."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    counts: Counts = {}
    for turn in _turns(raw):
        text = plain_text(turn, counts) if turn.kind == SPEECH else ""
        if text:
            rows += [
                {"client_id": turn.client_id, "index": index, "text": text[c.start : c.end], "n_tokens": c.n_tokens}
                for index, c in enumerate(chunk_texts([text], tokenizer, length=64, min_tokens=8)[0])
            ]
    pd.DataFrame(rows).to_parquet(path)
    return len({row["client_id"] for row in rows})


def _turns(raw: Path) -> Iterator[Turn]:
    for name in ("ca", "us", "biorxiv"):
        for page in raw_pages(raw, SOURCES[name]):
            yield from (item for item in SOURCES[name].parse(page) if isinstance(item, Turn))


def plain_text(turn: Turn, counts: Counts) -> str:
    """Return the text of one client, and add the words that each rule removed to `counts`."""
    spoken = [paragraph.text for paragraph in turn.paragraphs if paragraph.kind == SPOKEN]
    if turn.source == "biorxiv":
        return clean_abstract(spoken, turn.source).text
    text = normalise("\n".join(spoken), turn.source)
    for one in (*parliament.NOTATION, *parliament.MEMBER_NAMES):
        if turn.source in one.sources:
            for pattern in one.patterns:
                text = _without(pattern, one.name, text, counts)
    text, vocatives = strip_vocatives(text)
    counts["vocative"] = counts.get("vocative", 0) + sum(len(vocative.split()) for vocative in vocatives)
    return " ".join(sentence for line in text.split("\n") for sentence in _sentences(line, turn.source, counts))


def _without(pattern: str, rule: str, text: str, counts: Counts) -> str:
    """Return `text` without a pattern's matches, and without the space before one that a mark or a space follows."""

    def take_out(match: re.Match[str]) -> str:
        keep = match.groupdict().get("keep") or ""
        counts[rule] = counts.get(rule, 0) + len(match["all"][len(keep) :].split())
        closes_up = match.end() == len(text) or text[match.end()] in " \n,.;:!?"
        return (match["gap"] + keep).rstrip(" ") if closes_up else match["gap"] + keep

    return re.sub(rf"(?P<gap> *)(?P<all>{pattern})", take_out, text)


def _sentences(line: str, source: str, counts: Counts) -> list[str]:
    line = " ".join(line.split())
    rule = _rule_for(line, parliament.CLERK, source)
    if rule:
        counts[rule] = counts.get(rule, 0) + len(line.split())
        return []
    kept = []
    for sentence in split_sentences(line):
        rule = _rule_for(sentence.strip(" .!?,;—–-"), parliament.PROCEDURE, source) or _not_letters(sentence)
        if rule:
            counts[rule] = counts.get(rule, 0) + len(sentence.split())
        else:
            kept.append(sentence)
    return kept


def _rule_for(text: str, rules: tuple[Any, ...], source: str) -> str | None:
    for one in rules:
        if source in one.sources and any(re.fullmatch(pattern, text) for pattern in one.patterns):
            return str(one.name)
    return None


def _not_letters(sentence: str) -> str | None:
    core = sentence.strip(" .!?,;:…—–-\"“”‘’'()[]•")
    characters = sum(1 for character in core if not character.isspace())
    letters = sum(1 for character in core if character.isalpha())
    return None if characters and letters / characters >= 0.70 else "not_letters"
