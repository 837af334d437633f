"""MLflow stores where artifacts lie as an absolute address; it is put right where a data root was moved or copied."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

SQLITE = "sqlite:///"


def follow(records_root: Path, mlflow: Mapping[str, Any]) -> None:
    """Has the artifacts of earlier and later runs below `records_root`, if `mlflow` (mlflow.yml) puts them there."""
    file, experiment = mlflow["server"]["mlflow_tracking_uri"].removeprefix(SQLITE), mlflow["tracking"]["experiment"]
    place = str(experiment["create_experiment_kwargs"]["artifact_location"])
    if not (Path(file).is_file() and place.startswith(records_root.as_uri())):
        return
    with closing(sqlite3.connect(file)) as database, database:
        named = {"name": experiment["name"], "new": place}
        found = database.execute("SELECT artifact_location FROM experiments WHERE name = :name", named).fetchone()
        if found is not None and found[0] != place:
            named["old"] = found[0]
            database.execute(
                "UPDATE runs SET artifact_uri = :new || substr(artifact_uri, length(:old) + 1) "
                "WHERE substr(artifact_uri, 1, length(:old)) = :old",
                named,
            )
            database.execute("UPDATE experiments SET artifact_location = :new WHERE name = :name", named)
