"""A release goes to a model hub as a dataset, by the token of whoever pushes it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fedtext.largefedbench.manifest import SnapshotError, verify
from fedtext.largefedbench.snapshot import provenance
from fedtext.params.release import Release
from fedtext.system.errors import InputError

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
            f"nothing to push with: set release.repository=owner/name and {TOKEN} in the environment (a write token)"
        )
    verify(directory)
    facts = provenance(directory)
    if "release" not in facts:
        raise SnapshotError(f"{directory} is a snapshot, not a release: kedro run --pipelines release makes one")
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
        raise SnapshotError(f"{release.endpoint} refused {repository}: {said}; check the token and the name") from None
    return str(commit.commit_url)
