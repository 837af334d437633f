"""A user's path with a network: pull two sources, build a snapshot, take it for the private corpus.

The sources are a real HTTP server on this machine that answers in their shapes; every step is a `kedro run`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import kedro, params
from tests.largefedbench.ingest.local_server import TODAY, local_sources

SECRET = "govinfo-secret-7f3a"
CLIENTS = {"ca": 34, "us": 33}  # twelve weeks of three sitting days, of which some are not published


def ran(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = kedro(*arguments, **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.mark.slow
def test_pull_build_and_read(tmp_path: Path) -> None:
    environment = {"FEDTEXT_CONTACT": "corpus@example.org", "GOVINFO_API_KEY": SECRET}
    dates = {"ingest.from_date": "2024-01-01", "ingest.to_date": "2024-03-24", "ingest.today": TODAY}
    said = ""
    with local_sources() as server:
        servers = {
            "ca": {"ca.base_url": "ca", "ca.listing_url": "op"},
            "us": {"us.base_url": "us", "us.listing_url": "api"},
        }
        for source, places in servers.items():
            urls = {f"ingest.{name}": f"{server.base}/{place}" for name, place in places.items()}
            quick = {f"ingest.{source}.interval": 0, **({"ingest.ca.sessions": "44-1"} if source == "ca" else {})}
            values = {"data_root": tmp_path, "ingest.source": source, **dates, **urls, **quick}
            done = ran("run", "--pipelines", "ingest", "--params", params(**values), **environment)
            said += done.stdout + done.stderr
    # no network from here on: the build reads what the pull left below data_root
    # the servers' speeches differ in a word, so near-duplicates stay
    build = {"data_root": tmp_path, "largefedbench.snapshot": "2024.1", "largefedbench.near_duplicates": "report"}
    shares = {"largefedbench.split.validation_share": 0.2, "largefedbench.split.test_share": 0.2}
    words = ("--pipelines", "largefedbench", "--to-nodes", "describe_largefedbench")  # the figures have their own test
    ran("run", *words, "--params", params(**build, **shares))
    facts = json.loads((tmp_path / "08_reporting" / "largefedbench" / "provenance.json").read_text("utf-8"))
    assert {name: one["clients"] for name, one in facts["sources"].items()} == CLIENTS
    corpus = {"corpus.source": "snapshot", "corpus.snapshot": "2024.1", "corpus.config": "congress"}
    ran("run", "--pipelines", "snapshot", "--params", params(data_root=tmp_path, **corpus))
    records = pd.read_parquet(tmp_path / "03_primary" / "private_records.parquet")
    assert len(records) == sum(CLIENTS.values())
    assert set(records["split"]) == {"train", "validation", "test"}
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in said
    assert SECRET.encode() not in files
