"""The data card (README.md) of a snapshot: what is in it, what was taken out, what its users owe.

Its text is the template `card.md.j2`. Its front matter is what `datasets.load_dataset` reads and a hub searches by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedtext.corpora.records import SPLITS
from fedtext.largefedbench.licenses import LICENSES
from fedtext.largefedbench.snapshot import DESCRIPTIONS, TABLES
from fedtext.system.templates import templates

if TYPE_CHECKING:
    from huggingface_hub import DatasetCardData

Rows = list[list[object]]

TAGS = [
    "federated-learning",
    "differential-privacy",
    "synthetic-data",
    "parliamentary-proceedings",
    "scientific-abstracts",
]
NAMES_SHOWN = 10  # of what no rule knew; provenance.json has all
CLIENTS = {
    "speech": "every speech and every abstract is a client",
    "speaker_day": "a speaker's speeches of one day are a client, and so is every abstract",
    "speaker": "all speeches of a speaker are a client, and so is every abstract",
}
DUPLICATES_ARE = {
    "drop": "Only the first of each cluster is in the tables.",
    "group": "They stay in the tables, each cluster in one split.",
    "report": "They stay in the tables, whatever their split.",
}


def render_card(facts: dict[str, Any]) -> str:
    """Return the whole card, front matter first, from the snapshot's provenance alone."""
    from huggingface_hub import DatasetCard

    found = facts["near_duplicates"]
    text = templates("fedtext.largefedbench").get_template("card.md.j2")
    body = text.render(
        facts=facts,
        client=CLIENTS[facts["parameters"]["client"]],
        dates="; ".join(f"{config} {first} to {last}" for config, (first, last) in facts["dates"].items()),
        sizes=_sizes(facts),
        units_head=["config", *(f"clients if `client: {unit}`" for unit in CLIENTS)],
        units=[[config, *numbers.values()] for config, numbers in facts["clients_by_unit"].items()],
        tables={
            name: [[field.name, field.type, DESCRIPTIONS[field.name]] for field in schema]
            for name, schema in TABLES.items()
        },
        removals={name: _removals(counts) for name, counts in facts["sources"].items()},
        unknown={name: _unknown(counts) for name, counts in facts["sources"].items()},
        bad_pages=[[bad["page"], bad["reason"]] for bad in facts["bad_pages"]],
        duplicates_are=DUPLICATES_ARE.get(facts["parameters"]["near_duplicates"], ""),
        duplicates_head=["config", *next(iter(found.values()), ())],
        duplicates=[[config, *counts.values()] for config, counts in found.items()],
        licenses=[
            [name, LICENSES[name].name, clients, LICENSES[name].asks] for name, clients in facts["licenses"].items()
        ],
    )
    return str(DatasetCard(f"---\n{_front_matter(facts)}\n---\n{body}"))


def _unknown(counts: Mapping[str, Any]) -> Rows:
    """Return what no rule knew, by kind: how often, how often per 1,000 turns, and the most frequent names."""
    rows: Rows = []
    for kind, names in counts["unknown"].items():
        times = sum(names.values())
        most = sorted(names, key=lambda name: (-names[name], name))[:NAMES_SHOWN]
        shown = "; ".join(name.replace("|", "\\|") for name in most)
        rows.append([kind, times, f"{1000 * times / max(counts['turns'], 1):.1f}", shown])
    return rows


def config_tables(facts: dict[str, Any]) -> list[tuple[str, str, str, list[str]]]:
    """Return (name for `datasets.load_dataset`, config, table, existing splits); clients have the config's own name."""
    tables = []
    for config, splits in facts["configs"].items():
        there = [split for split in SPLITS if split in splits]
        tables += [(config, config, "clients", there), (f"{config}_chunks", config, "chunks", there)]
    return tables


def _front_matter(facts: dict[str, Any]) -> DatasetCardData:
    from huggingface_hub import DatasetCardData

    configs = [
        {
            "config_name": name,
            **({"default": True} if number == 0 else {}),
            "data_files": [{"split": split, "path": f"{config}/{table}/{split}-*.parquet"} for split in splits],
        }
        for number, (name, config, table, splits) in enumerate(config_tables(facts))
    ]
    return DatasetCardData(
        language=["en"],
        license="other",
        license_name="by-source",
        license_link="licenses",
        task_categories=["text-generation"],
        tags=TAGS,
        pretty_name=f"LargeFedBench {facts['snapshot']}",
        configs=configs,
    )


def _sizes(facts: dict[str, Any]) -> Rows:
    return [
        [config, split, s["clients"], s["chunks"], s["tokens"], f"{s['chunks'] / s['clients']:.1f}"]
        for config, splits in facts["configs"].items()
        for split in SPLITS
        if (s := splits.get(split))
    ]


def _removals(counts: Mapping[str, Any]) -> Rows:
    return [
        *(["whole turn", rule, c["turns"], c["words"]] for rule, c in counts["left_out"].items()),
        *(["inside a turn", rule, c["times"], c["words"]] for rule, c in counts["removed"].items()),
    ]
