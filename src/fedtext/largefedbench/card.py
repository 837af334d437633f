"""The data card (README.md) of a snapshot: what is in it, what was taken out, what its users owe.

Its front matter is what `datasets.load_dataset` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fedtext.corpora.records import SPLITS
from fedtext.largefedbench.licenses import LICENSES
from fedtext.largefedbench.schema import DESCRIPTIONS, TABLES

UK_LINE = "Contains Parliamentary information licensed under the Open Parliament Licence v3.0.\n"

# What a hub shows and searches by.
LICENSE_AND_TAGS = (
    "license: other", "license_name: by-source", "license_link: licenses", "task_categories:", "- text-generation",
    "tags:", "- federated-learning", "- differential-privacy", "- synthetic-data", "- parliamentary-proceedings",
    "- scientific-abstracts",
)  # fmt: skip

INTRODUCTION = """# LargeFedBench {snapshot}

A federated text benchmark after POPri (ICML 2025, appendix F): {client}, cut into chunks of
{length} tokens. Rebuilt from the public sources by `fedtext`; cleaning: {cleaning}.

- Dates: {dates}.
- Tokenizer: {tokenizer}, sha256 {tokenizer_sha256}.
- Code: sha256 {code_sha256}. With the pages of `raw_pages.sha256` and the
  parameters of `provenance.json` it gives these bytes again.
- Check: `sha256sum -c MANIFEST.sha256`.
- Load: `datasets.load_dataset(directory, "{first}")`; chunks under the same name with `_chunks`.
"""

CLIENTS = {
    "speech": "every speech and every abstract is a client",
    "speaker_day": "a speaker's speeches of one day are a client, and so is every abstract",
    "speaker": "all speeches of a speaker are a client, and so is every abstract",
}

DUPLICATES = """## Near-duplicate texts

Texts whose words resemble an earlier text's (MinHash, `<config>/near_duplicates.parquet`). {what}
"""
DUPLICATES_ARE = {
    "drop": "Only the first of each cluster is in the tables.",
    "group": "They stay in the tables, each cluster in one split.",
    "report": "They stay in the tables, whatever their split.",
}

USES = """## Uses and limits

Made for measuring private federated learning on text newer than a model's training data (filter by `date`). Speakers
are public office-holders named in official records; do not use the text to profile people outside that role. Text
spoken in French in the Canadian House is a translation (`floor_language`). Formulas of procedure, chair's turns and
written insertions are left out by rule, so the text is not a complete record: for that, follow `url`.

## Citation

The benchmark is of Hou et al., "Private Federated Learning using Preference-Optimized Synthetic Data", ICML 2025
(https://arxiv.org/abs/2504.16438). Name the snapshot beside it, and attribute the sources as their licences ask.
"""


def render_card(facts: dict[str, Any]) -> str:
    """The whole card, front matter first, from the snapshot's provenance alone."""
    sections = (_front_matter, _introduction, _sizes, _columns, _removals, _bad_pages, _duplicates, _licenses)
    return "\n".join([*(section(facts) for section in sections), USES])


def config_tables(facts: dict[str, Any]) -> list[tuple[str, str, str, list[str]]]:
    """(Name for `datasets.load_dataset`, config, table, splits that exist): clients under the config's plain name."""
    tables = []
    for config, splits in facts["configs"].items():
        there = [split for split in SPLITS if split in splits]
        tables += [(config, config, "clients", there), (f"{config}_chunks", config, "chunks", there)]
    return tables


def _front_matter(facts: dict[str, Any]) -> str:
    lines = ["---", "language:", "- en", *LICENSE_AND_TAGS]
    lines += [f"pretty_name: LargeFedBench {facts['snapshot']}", "configs:"]
    for number, (name, config, table, splits) in enumerate(config_tables(facts)):
        lines += [f"- config_name: {name}", *(["  default: true"] if number == 0 else []), "  data_files:"]
        for split in splits:
            lines += [f"  - split: {split}", f"    path: {config}/{table}/{split}-*.parquet"]
    return "\n".join([*lines, "---", ""])


def _introduction(facts: dict[str, Any]) -> str:
    return INTRODUCTION.format(
        snapshot=facts["snapshot"],
        client=CLIENTS[facts["parameters"]["client"]],
        length=facts["parameters"]["chunking"]["length"],
        cleaning=facts["parameters"]["cleaning"],
        dates="; ".join(f"{config} {first} to {last}" for config, (first, last) in facts["dates"].items())
        or "none given",
        tokenizer=facts["tokenizer"]["name"],
        tokenizer_sha256=facts["tokenizer"]["sha256"],
        code_sha256=facts["code_sha256"],
        first=next(iter(facts["configs"])),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def _sizes(facts: dict[str, Any]) -> str:
    rows = [
        [config, split, s["clients"], s["chunks"], s["tokens"], f"{s['chunks'] / s['clients']:.1f}"]
        for config, splits in facts["configs"].items()
        for split in SPLITS
        if (s := splits.get(split))
    ]
    sizes = _table(["config", "split", "clients", "chunks", "tokens", "chunks per client"], rows)
    units = [[config, *numbers.values()] for config, numbers in facts["clients_by_unit"].items()]
    head = ["config", *(f"clients if `client: {unit}`" for unit in CLIENTS)]
    return f"## Sizes\n\n{sizes}\n{_table(head, units)}"


def _columns(_: dict[str, Any]) -> str:
    head = ["column", "type", "what"]
    tables = [
        f"`{name}`\n\n" + _table(head, [[field.name, field.type, DESCRIPTIONS[field.name]] for field in schema])
        for name, schema in TABLES.items()
    ]
    return "\n".join(["## Columns\n", *tables])


def _removals(facts: dict[str, Any]) -> str:
    parts = ["## What was left out, by rule\n"]
    for name, counts in facts["sources"].items():
        share = 100 * counts["words_kept"] / max(counts["words"], 1)
        read = f"{counts['pages']} pages, {counts['turns']} turns, {counts['words']} words read"
        kept = f"{counts['clients']} texts, {counts['words_kept']} words kept ({share:.1f}%)"
        rows = [["whole turn", rule, c["turns"], c["words"]] for rule, c in counts["left_out"].items()]
        rows += [["inside a turn", rule, c["times"], c["words"]] for rule, c in counts["removed"].items()]
        parts += [f"`{name}`: {read}; {kept}.\n", _table(["what", "rule", "times", "words"], rows) if rows else ""]
    return "\n".join(parts)


def _bad_pages(facts: dict[str, Any]) -> str:
    rows = [[bad["page"], bad["reason"]] for bad in facts["bad_pages"]]
    return "## Pages that could not be read\n\n" + (_table(["page", "reason"], rows) if rows else "None.\n")


def _duplicates(facts: dict[str, Any]) -> str:
    found = facts["near_duplicates"]
    if not found:
        return "## Near-duplicate texts\n\nNot looked for.\n"
    head = ["config", *next(iter(found.values()))]
    what = DUPLICATES_ARE[facts["parameters"]["near_duplicates"]]
    return f"{DUPLICATES.format(what=what)}\n" + _table(
        head, [[config, *counts.values()] for config, counts in found.items()]
    )


def _licenses(facts: dict[str, Any]) -> str:
    rows = [
        [license_id, LICENSES[license_id].name, clients, LICENSES[license_id].asks]
        for license_id, clients in facts["licenses"].items()
    ]
    head = "## Licences\n\nColumn `license` of every client; texts in `licenses/`.\n\n"
    line = f"\n{UK_LINE}" if "open_parliament_3" in facts["licenses"] else ""
    return head + _table(["id", "licence", "clients", "what it asks"], rows) + line
