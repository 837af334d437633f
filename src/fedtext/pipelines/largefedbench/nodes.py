"""Public sources -> immutable raw pages -> a verified snapshot, its description, and how two of them differ."""

import datetime
from pathlib import Path
from typing import Any

from plotly.graph_objects import Figure

from fedtext.largefedbench.figures import speech_map, tokens_per_client_by_config
from fedtext.largefedbench.review import Pulled, review
from fedtext.largefedbench.snapshot import Built
from fedtext.models.encoder import Encoder
from fedtext.models.language_model import place_of
from fedtext.params.calendar import Calendar, half_year_before
from fedtext.params.ingest import Ingest
from fedtext.params.largefedbench import LargeFedBench, Release, half_year
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.console import echo

SPEECHES_ON_THE_MAP = 1500  # of countries: as many as a figure of points shows apart; no snapshot depends on it


def pull_raw_pages(ingest: Ingest) -> dict[str, Any]:
    """Pull the windows of one source that are declared and not there yet; return the counts."""
    from fedtext.largefedbench.ingest.pull import pull, pull_summary  # HTTP and XML libraries are for this run only

    report = pull(ingest)
    echo(f"  {pull_summary(report)}")
    return report


def pull_half_year(ingest: Ingest, calendar: Calendar) -> list[Pulled]:
    """Pull a half-year from every source of the calendar, one after the other; one that fails does not stop the others.

    Raises:
        RunRefusedError: No half-year is named.
        IngestError: Every source failed: the first failure.
    """
    from fedtext.largefedbench.ingest.errors import IngestError
    from fedtext.largefedbench.ingest.pull import pull, pull_summary

    first, last = half_year(_named(calendar))
    pulled, failures = list[Pulled](), list[IngestError]()
    for source in calendar.sources:
        try:
            report = pull(ingest.model_copy(update={"source": source, "from_date": first, "to_date": last}))
        except IngestError as error:
            failures.append(error)
            pulled.append(Pulled(source, {}, str(error)))
            echo(f"  {source}: {error}")
            continue
        echo(f"  {pull_summary(report)}")
        pulled.append(Pulled(source, report))
    if failures and len(failures) == len(calendar.sources):
        raise failures[0]
    return pulled


def build_half_year(largefedbench: LargeFedBench, calendar: Calendar, half_year_pulled: list[Pulled]) -> Built:
    """Build the snapshot of a half-year from all pages up to its last day."""
    _, last = half_year(_named(calendar))
    changes = {"snapshot": largefedbench.snapshot or calendar.half_year, "to_date": largefedbench.to_date or last}
    return build_largefedbench(largefedbench.model_copy(update=changes))


def review_half_year(
    largefedbench_snapshot: Path, largefedbench: LargeFedBench, calendar: Calendar, half_year_pulled: list[Pulled]
) -> dict[str, str]:
    """Print, and return under the half-year's name, the page of what a person must look at."""
    from fedtext.largefedbench.diff import compare
    from fedtext.largefedbench.snapshot import provenance, snapshot_directory

    half, snapshot = _named(calendar), largefedbench_snapshot
    previous = snapshot_directory(calendar.previous or half_year_before(half), largefedbench.out_dir)
    compared = calendar.previous is not None or previous.is_dir()
    page = review(
        half, provenance(snapshot), provenance(previous) if compared else None,
        compare(previous, snapshot) if compared else None, half_year_pulled, calendar.deviations,
    )  # fmt: skip
    echo(page)
    return {half: page}


def _named(calendar: Calendar) -> str:
    if calendar.half_year is None:
        raise RunRefusedError(
            "name the half-year: kedro run --pipelines half_year --params calendar.half_year=2026H1",
            code="half-year-not-told",
            parameter="calendar.half_year",
        )
    return calendar.half_year


def build_largefedbench(largefedbench: LargeFedBench) -> Built:
    """Build the snapshot `largefedbench.snapshot` from the pages in `largefedbench.raw_dir`; saving it publishes it."""
    from fedtext.largefedbench.build import built_snapshot
    from fedtext.largefedbench.tokens import load_tokenizer

    name = largefedbench.tokenizer
    raw_dir, out_dir = Path(largefedbench.raw_dir), Path(largefedbench.out_dir)
    tokenizer = load_tokenizer(place_of(name), name=name)
    return built_snapshot(largefedbench, tokenizer, raw_dir=raw_dir, out_dir=out_dir)


def describe_largefedbench(largefedbench_snapshot: Path) -> tuple[dict[str, Any], str]:
    """Return the snapshot's provenance (sizes, counts by rule, bad pages) and its data card."""
    from fedtext.largefedbench.card import render_card
    from fedtext.largefedbench.snapshot import provenance

    facts = provenance(largefedbench_snapshot)
    return facts, render_card(facts)


def draw_largefedbench(
    largefedbench_snapshot: Path, encoder: Encoder, largefedbench: LargeFedBench
) -> tuple[Figure, Figure]:
    """Draw POPri's Figures 9 and 10 for this snapshot: tokens per client, speeches by country."""
    from fedtext.largefedbench.figures import sample_speeches, tokens_of_clients

    speeches = sample_speeches(largefedbench_snapshot, SPEECHES_ON_THE_MAP)
    described = f"{len(speeches.texts)} speeches of snapshot {largefedbench.snapshot}, {encoder.name} embeddings"
    return (
        tokens_per_client_by_config(tokens_of_clients(largefedbench_snapshot)),
        speech_map(encoder.encode(speeches.texts, "speeches"), speeches.countries, seed=0, described=described),
    )


def compare_snapshots(
    old: str | float | None, new: str | float | None, largefedbench: LargeFedBench
) -> tuple[dict[str, Any], dict[str, str], dict[str, dict[str, Any]]]:
    """Compare snapshots `old` and `new` (names, or directories): clients added, removed and altered.

    Returns:
        The difference; it as Markdown and as JSON with all ids, both under the names of the two snapshots.
    """
    from fedtext.largefedbench.diff import compare, render_diff
    from fedtext.largefedbench.snapshot import snapshot_directory

    if old is None or new is None:
        raise RunRefusedError(
            "name two snapshots: kedro run --pipelines largefedbench_diff --params old=2025.1,new=2025.2",
            code="snapshots-not-told",
        )
    difference = compare(*(snapshot_directory(str(one), largefedbench.out_dir) for one in (old, new)))
    name = f"{difference['old']}-to-{difference['new']}"
    return difference, {name: render_diff(difference)}, {name: difference}


def release_snapshot(largefedbench_snapshot: Path, largefedbench: LargeFedBench, release: Release) -> str:
    """Write the release of a snapshot with its changes since `release.previous`; return its directory."""
    from fedtext.largefedbench.release import write_release
    from fedtext.largefedbench.snapshot import snapshot_directory

    snapshot = largefedbench_snapshot
    previous = snapshot_directory(release.previous, largefedbench.out_dir) if release.previous else None
    date = release.date or datetime.datetime.now(datetime.UTC).date()
    directory = write_release(snapshot, previous, Path(release.out_dir) / snapshot.name, date)
    echo(f"  release {snapshot.name}: {directory}")
    return str(directory)


def push_snapshot(largefedbench: LargeFedBench, release: Release) -> str:
    """Push the release of `largefedbench.snapshot` to the hub; return the address of the commit."""
    from fedtext.largefedbench.release import push_release

    if largefedbench.snapshot is None:
        raise RunRefusedError(
            "name the release: HF_TOKEN=... kedro run --pipelines push "
            "--params largefedbench.snapshot=2025.1,release.repository=owner/name",
            code="release-not-told",
            parameter="release",
        )
    address = push_release(Path(release.out_dir) / largefedbench.snapshot, release)
    echo(f"  pushed: {address}")
    return address
