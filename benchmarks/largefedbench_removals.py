"""What the cleaning takes out of the real Canadian and US files: the counts, and every removal, to be read by eye.

    python -m benchmarks.largefedbench_removals                      # the counts of docs/experiments/largefedbench_counts.md
    python -m benchmarks.largefedbench_removals --list removals.tsv  # source, rule and text of everything removed

The files are those of ../shared (or --shared DIR).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from fedtext.largefedbench.cleaning.cleaner import clean_speech
from fedtext.largefedbench.clients import clients_of
from fedtext.largefedbench.counts import SourceCounts
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.tokens import load_tokenizer
from fedtext.largefedbench.turns import SPEECH, SPOKEN, Turn
from fedtext.models.language_model import bundled
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base


def turns_of(raw: Path, source: str, named: str = "") -> list[Turn]:
    """Return every turn of the source's pages whose names contain `named`."""
    pages = [page for page in raw_pages(raw, SOURCES[source]) if named in page.name]
    return [item for page in pages for item in SOURCES[source].parse(page) if isinstance(item, Turn)]


def removals(turns: list[Turn]) -> Iterator[tuple[str, str]]:
    """Yield (rule, text) of every turn and every piece of a turn that the clean reading leaves out."""
    for turn in turns:
        if turn.kind != SPEECH:
            yield turn.kind, " ".join(paragraph.text for paragraph in turn.paragraphs)
            continue
        yield from ((p.kind, p.text) for p in turn.paragraphs if p.kind != SPOKEN)
        yield from clean_speech([p.text for p in turn.paragraphs if p.kind == SPOKEN], turn.source).removed


def summary(turns: list[Turn]) -> dict[str, object]:
    """Return the table of real counts, and what the published cleaner never sanitises."""
    params, counts, published = conf_base(LargeFedBench), SourceCounts(), SourceCounts()
    clients = list(clients_of(turns, params, counts))
    chunked = load_tokenizer(bundled("generator")).chunks([client.text for client in clients], params.chunking)
    list(clients_of(turns, conf_base(LargeFedBench, cleaning="published"), published))
    chairs = sum(counts.left_out[kind][0] for kind in ("chair", "collective"))
    return {
        "interventions": counts.notes["interventions"],
        "chair or collective": f"{chairs} ({chairs / counts.notes['interventions']:.1%})",
        "clients": counts.clients,
        "speakers": len({client.speaker for client in clients}),
        "words read": counts.words,
        "words kept": counts.words_kept,
        "tokens a client, median": median(total for total, _ in chunked),
        "left out": {rule: tuple(tally) for rule, tally in sorted(counts.left_out.items())},
        "removed": {rule: tuple(tally) for rule, tally in sorted(counts.removed.items(), key=lambda r: -r[1][1])},
        "published, clients": published.clients,
        "published, never sanitised": published.notes["never_sanitised"],
        "published, share of words never sanitised": published.notes["words_never_sanitised"] / published.words_kept,
        "published, words never sanitised": published.notes["words_never_sanitised"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--us", default="2005-07-20", help="the US day; '': all that are there")
    parser.add_argument("--list", type=Path, help="write every removal there, tab-separated")
    options = parser.parse_args()
    lines = []
    for source in ("ca", "us"):
        turns = turns_of(options.shared / "data" / "congress", source, options.us if source == "us" else "")
        lines += [f"{source}\t{rule}\t{' '.join(text.split())}\n" for rule, text in removals(turns)]
        print(f"\n{source}")
        for name, value in summary(turns).items():
            print(f"  {name}: {value}")
    if options.list:
        options.list.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
