"""The catalog's facts about data sets, through every wrapper: privacy class, preview, tracking and local path.

A data set may wrap another (`CachedDataset`, `PartitionedDataset`): the outer one has the inner one's class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from kedro.io.catalog_config_resolver import CatalogConfigResolver
from kedro.io.core import get_protocol_and_path

from fedtext.wiring.config import privacy_class
from fedtext.wiring.guard.parameters import texts

HISTORY = "ReleaseHistoryDataset"  # is given the data root, and reads the runner's records there
CREDENTIALS = "credentials"
LOCAL = re.compile(r"^(file|local):")  # fsspec's names for files of this machine
UNREAD = ("metadata", "type", "dataset")  # by no class of data sets; the last is a layer of its own

# Kedro compiles every pattern anew for every name, and several checks of a run ask for the same thousand names.
_resolved: WeakKeyDictionary[CatalogConfigResolver, dict[str, dict[str, Any]]] = WeakKeyDictionary()


def catalog_resolver(
    catalog: Mapping[str, Any], default_patterns: Mapping[str, dict[str, Any]] | None = None
) -> CatalogConfigResolver:
    """Return a resolver of the entries in a configuration's catalog (`config_loader["catalog"]`), without credentials.

    Privacy class and path need no credentials, and credentials that were never read cannot leak.
    """
    return CatalogConfigResolver(_without_credentials(dict(catalog)), {}, dict(default_patterns or {}))


def named_credentials(config: Mapping[str, Any]) -> set[str]:
    """Return the names of the credentials that an entry, or what it wraps, is read with."""
    own = {value for key, value in config.items() if key == CREDENTIALS and isinstance(value, str)}
    return own.union(*(named_credentials(value) for value in config.values() if isinstance(value, dict)))


def _without_credentials(config: dict[str, Any]) -> dict[str, Any]:
    """Return the entry without its credentials, at every depth of wrapping."""
    kept = {key: value for key, value in config.items() if key != CREDENTIALS}
    return {key: _without_credentials(value) if isinstance(value, dict) else value for key, value in kept.items()}


def entry(name: str, resolver: CatalogConfigResolver) -> dict[str, Any]:
    """Return the catalog entry of a data set, to be read only; empty for one that only lives in memory."""
    known = _resolved.setdefault(resolver, {})
    if name not in known:
        found = resolver.resolve_pattern(name)
        # Kedro resolves a name that is not in the catalog to its own default; this is called for few names.
        unstated = str(found.get("type")).endswith("MemoryDataset") and not _is_stated(name, resolver)
        known[name] = {} if unstated else found
    return known[name]


def _is_stated(name: str, resolver: CatalogConfigResolver) -> bool:
    """Return whether the catalog has an entry for the name, or a pattern that matches it."""
    return bool(
        name in resolver.config or resolver.match_dataset_pattern(name) or resolver.match_user_catch_all_pattern(name)
    )


def dataset_classes(names: Iterable[str], resolver: CatalogConfigResolver) -> dict[str, str]:
    """Return `private`, `released` or `public` for every data set that declares it, dataset factories included.

    Parameters are public by construction: they come from YAML. What wraps something private is private.
    """
    classes = {}
    for name in names:
        if is_parameter(name):
            classes[name] = "public"
        elif found := [said for layer in layers(entry(name, resolver)) if (said := privacy_class(name, layer))]:
            classes[name] = "private" if "private" in found else found[0]
    return classes


def is_previewed(config: dict[str, Any]) -> bool:
    """Return whether Kedro-Viz previews the data set: it does unless the entry has `preview: false`."""
    said = [(_metadata(layer).get("kedro-viz") or {}).get("preview") for layer in layers(config)]
    return bool(said) and (said[0] is not False or True in said)


def is_logged(config: dict[str, Any]) -> bool:
    """Return whether the entry, or what it wraps, goes to the experiment tracker."""
    return any(
        any((_metadata(layer).get("fedtext") or {}).get(how) for how in ("tracked", "metrics"))
        or str(layer.get("type", "")).startswith("kedro_mlflow.")
        for layer in layers(config)
    )


def place(config: dict[str, Any]) -> Path | None:
    """Return the resolved local path that an entry saves to, None if it has none."""
    for layer in layers(config):
        if (said := _local(str(layer.get("filepath") or layer.get("path") or ""))) is not None:
            return Path(os.path.realpath(said)) / (".fedtext" if str(layer.get("type")).endswith(HISTORY) else "")
    return None


def further_places(config: dict[str, Any]) -> set[Path]:
    """Return the local paths in an entry's settings beside its own: a class may name files in ways of its own."""
    said = {one for layer in layers(config) for one in texts(_without(UNREAD, layer)) if os.sep in one}
    return {Path(os.path.realpath(path)) for one in said if (path := _local(one)) is not None} - {place(config)}


def _without(keys: Collection[str], layer: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in layer.items() if key not in keys}


def _local(said: str) -> str | None:
    """Return the path that a catalog's words mean on this machine, as Kedro reads them; None for other places.

    `file:///a/b`, `FILE://localhost/a/b`, `~/b` and `simplecache::file:///a/b` are paths here, and none of them must
    hide a private file.
    """
    protocol, path = get_protocol_and_path(said.rpartition("::")[2])
    return os.path.expanduser(LOCAL.sub("", path)) if path and protocol in ("file", "local") else None


def layers(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an entry and the entries that it wraps, outermost first; a wrapped one may be a type alone."""
    while config:
        yield config
        inner = config.get("dataset")
        config = {"type": inner} if isinstance(inner, str) else inner if isinstance(inner, dict) else {}


def is_parameter(name: str) -> bool:
    """Return whether Kedro reads the data set from the parameters."""
    return name == "parameters" or name.startswith("params:")


def _metadata(layer: dict[str, Any]) -> dict[str, Any]:
    return layer.get("metadata") or {}
