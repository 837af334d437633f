"""A snapshot made ready to publish: version, date, changelog, citation, all under one manifest.

A release is a directory of its own beside the snapshots; the snapshot stays as it was built. It reads like one: the
tables are the same bytes.

A release goes to a model hub as a dataset, by the token of the user who pushes it.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedtext.largefedbench.diff import compare, render_diff
from fedtext.largefedbench.metadata import describe
from fedtext.largefedbench.snapshot import MANIFEST, SnapshotError, file_sha256, provenance, verify, write_manifest
from fedtext.params.largefedbench import Release
from fedtext.system.atomic import replacing_directory
from fedtext.system.errors import InputError

LISTED = 50  # ids of a kind that the changelog itself shows; changes.json has all of them
CITATION = """cff-version: 1.2.0
message: Cite the benchmark and name the version of the data.
title: LargeFedBench {version}
type: dataset
version: "{version}"
date-released: "{date}"
authors:
- name: The maintainers of this rebuild
references:
- type: conference-paper
  title: Private Federated Learning using Preference-Optimized Synthetic Data
  authors:
  - family-names: Hou
  year: 2025
  url: https://arxiv.org/abs/2504.16438
"""


def write_release(snapshot: Path, previous: Path | None, target: Path, date: datetime.date) -> Path:
    """Write the release of `snapshot` to `target`, or return the one that is there if the same snapshot made it.

    Raises:
        SnapshotError: a snapshot is missing or altered, or `target` is the release of another.
    """
    verify(snapshot)
    made_from = file_sha256(snapshot / MANIFEST)
    if target.exists():
        return _existing(target, made_from)
    changes = _without_removed_ids(compare(previous, snapshot)) if previous else None
    facts = provenance(snapshot)
    facts |= {
        "date_published": date.isoformat(),
        "release": {"snapshot_manifest_sha256": made_from, "previous": changes["old"] if changes else None},
    }
    with replacing_directory(target) as directory:
        shutil.copytree(snapshot, directory, dirs_exist_ok=True)
        _write_json(directory / "provenance.json", facts)
        _write_json(directory / "croissant.json", describe(directory, facts))
        if changes:
            _write_json(directory / "changes.json", changes)
        (directory / "CHANGELOG.md").write_text(render_changelog(facts, changes), "utf-8")
        (directory / "CITATION.cff").write_text(CITATION.format(version=facts["snapshot"], date=date), "utf-8")
        with (directory / "README.md").open("a", encoding="utf-8") as card:
            card.write(_release_section(facts))
        write_manifest(directory)
    return target


def render_changelog(facts: dict[str, Any], changes: dict[str, Any] | None) -> str:
    """Return the changes since the previous version, with the ids of added and altered clients."""
    head = f"# {facts['snapshot']} ({facts['date_published']})\n"
    if changes is None:
        clients = sum(split["clients"] for splits in facts["configs"].values() for split in splits.values())
        return f"{head}\nFirst version: {clients} clients.\n"
    parts = [head, render_diff(changes)]
    for config, kinds in changes["clients"].items():
        for kind, ids in kinds.items():
            if ids:
                more = [f"- and {len(ids) - LISTED} more, in changes.json"] if len(ids) > LISTED else []
                parts += [f"## {config}: {len(ids)} {kind}\n", *(f"- {one}" for one in ids[:LISTED]), *more, ""]
    return "\n".join(parts)


def _without_removed_ids(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes without ids of removed clients, who may have asked to be; their number is in the counts."""
    clients = {
        config: {kind: ids for kind, ids in kinds.items() if kind != "removed"}
        for config, kinds in changes["clients"].items()
    }
    return changes | {"clients": clients}


def _existing(target: Path, made_from: str) -> Path:
    verify(target)
    if provenance(target).get("release", {}).get("snapshot_manifest_sha256") != made_from:
        raise SnapshotError(
            f"{target} is the release of another snapshot: give the new one a name of its own (largefedbench.snapshot)",
            code="release-of-another-snapshot",
            parameter="largefedbench.snapshot",
            value=str(target),
        )
    return target


def _release_section(facts: dict[str, Any]) -> str:
    previous = facts["release"]["previous"]
    since = f"What changed since {previous}" if previous else "What is in it"
    return (
        f"\n## Version\n\n{facts['snapshot']}, published {facts['date_published']}. {since} is in `CHANGELOG.md`; "
        "how to cite it is in `CITATION.cff`.\n"
    )


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


TOKEN = "HF_TOKEN"


def push_release(directory: Path, release: Release, *, environment: Mapping[str, str] = os.environ) -> str:
    """Upload a verified release as one commit, tagged with its version; returns the commit's address.

    Raises:
        InputError: no repository is named, or no token is in the environment.
        SnapshotError: the directory is no release, or is altered, or the hub refuses it.
    """
    token = environment.get(TOKEN, "").strip()
    if release.repository is None or not token:
        raise InputError(
            f"nothing to push with: set release.repository=owner/name and {TOKEN} in the environment (a write token)",
            code="nothing-to-push-with",
            parameter="release.repository",
        )
    verify(directory)
    facts = provenance(directory)
    if "release" not in facts:
        raise SnapshotError(
            f"{directory} is a snapshot, not a release: kedro run --pipelines release makes one",
            code="snapshot-is-no-release",
            value=str(directory),
        )
    return _upload(directory, release, token, str(facts["snapshot"]))


def _upload(directory: Path, release: Release, token: str, version: str) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(endpoint=release.endpoint, token=token)
    repository = str(release.repository)
    try:
        api.create_repo(repository, repo_type="dataset", private=release.private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository, folder_path=directory, repo_type="dataset", commit_message=f"Version {version}",
            delete_patterns="*",
        )  # fmt: skip
        api.create_tag(repository, tag=version, repo_type="dataset", exist_ok=True)
    except HfHubHTTPError as error:
        said = " ".join(str(error).split())[:200].replace(token, "...")
        raise SnapshotError(
            f"{release.endpoint} refused {repository}: {said}; check the token and the name",
            code="hub-refused",
            parameter="release.repository",
            value=repository,
        ) from None
    return str(commit.commit_url)
