"""Configuration files as plain values, and one-sentence errors for files that cannot be read.

YAML is read and merged, and only values that contain `${` are resolved by OmegaConf. OmegaConf wraps every value in an
object of its own, which took most of the start-up time, and few values need it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, cast

import yaml
from fsspec import AbstractFileSystem
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from fedtext.system.errors import FedtextError, InputError, did_you_mean
from fedtext.system.refusal import RunRefusedError, refusal_of
from fedtext.system.unique_keys import UniqueKeysLoader, yaml_fault

DEFAULTS = "_defaults"  # the group of named blocks, and in a block the name of the one that it starts from
# Resolvers that use no other value of the file: an interpolation of these alone can be resolved by itself.
STANDALONE = (
    "data_root",
    "tracking_root",
    "tracking_uri",
    "description",
    "prompt",
    "prompt_alone",
    "openings",
    "examples",
    "drawn",
    "sample_tokens",
    "globals",
    "runtime_params",
)
_CALL = re.compile(r"\$\{(\w+):[\w,]*\}")  # a resolver with plain words for arguments, or none
_ALONE = re.compile(r"\$\{(?!(?:" + "|".join(STANDALONE) + r"):)|\\")  # anything else, or an escaped `$`
_FLOAT = re.compile(
    r"""(?:[-+]?\d+(?:_\d+)*\.[\d_]*(?:[eE][-+]?\d+)?
         |[-+]?\d+(?:_\d+)*[eE][-+]?\d+
         |\.\d+(?:_\d+)*(?:[eE][-+]\d+)?
         |[-+]?\d+(?:_\d+)*(?::[0-5]?\d)+\.[\d_]*
         |[-+]?\.(?:inf|Inf|INF)
         |\.(?:nan|NaN|NAN))$""",
    re.X | re.ASCII,
)


class _Loader(UniqueKeysLoader):
    """YAML loader with OmegaConf's rules: `1e-3` is a number, a date stays text, and a duplicate key is an error."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith((":timestamp", ":float"))]
    for first, found in _Loader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def read(text: str) -> dict[str, Any]:
    """Return the keys and values of a YAML or JSON file; an empty file has none.

    Raises:
        YAMLError: it is no YAML.
        ValueError: it holds no names.
    """
    found = yaml.load(text, Loader=_Loader)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError("it holds no names with values; write NAME: VALUE")  # the caller adds the file's name
    return cast("dict[str, Any]", found)


def deep_merge(below: Any, above: Any) -> Any:
    """Return `above` merged over `below`, mappings key by key; neither argument is changed."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{name: deep_merge(below.get(name), value) for name, value in above.items()}}


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """Return the value at a dotted name in nested mappings; None where there is none."""
    value: Any = values
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def resolved(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` with each `${...}` replaced by its value, as OmegaConf resolves it.

    Raises:
        OmegaConfBaseException: something stands for nothing.
    """
    call = cache(_by_omegaconf)
    try:
        return cast("dict[str, Any]", _each(values, lambda text: _alone(text, call)))
    except (_AsksTheFileError, OmegaConfBaseException):  # or it is wrong: resolving the whole, OmegaConf reports where
        whole = OmegaConf.create(dict(values))
        return cast("dict[str, Any]", OmegaConf.to_container(whole, resolve=True))


def with_defaults(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups without `_defaults`; a block that names defaults (`_defaults: sampler`) is merged over them.

    Raises:
        ValueError: a block names defaults that are not there.
    """
    blocks = groups.get(DEFAULTS) or {}
    return {name: _started(value, name, blocks) for name, value in groups.items() if name != DEFAULTS}


def _started(value: Any, place: str, blocks: Mapping[str, Any]) -> Any:
    if not isinstance(value, Mapping):
        return value
    own = {key: _started(one, f"{place}.{key}", blocks) for key, one in value.items() if key != DEFAULTS}
    if DEFAULTS not in value:
        return own
    if (name := value[DEFAULTS]) not in blocks:
        raise InputError(
            f"{place} starts from {DEFAULTS} {name!r}: {did_you_mean(str(name), blocks)}",
            code="unknown-defaults",
            value=str(name),
        )
    return deep_merge(blocks[name], own)


class _AsksTheFileError(Exception):
    """An interpolation refers to another value of the file."""


def _alone(text: str, call: Callable[[str], Any]) -> Any:
    """Return the value of an interpolation that does not refer to the rest of its file."""
    if _ALONE.search(text):
        raise _AsksTheFileError
    if found := _CALL.fullmatch(text):
        return call(found[0])
    if "${" in _CALL.sub("", text):
        return _by_omegaconf(text)
    return _CALL.sub(lambda found: str(call(found[0])), text)


def _by_omegaconf(text: str) -> Any:
    return cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.create({"value": text}), resolve=True))["value"]


def _each(value: Any, resolve: Callable[[str], Any]) -> Any:
    """Return the value with every string in it that contains `${` resolved."""
    if isinstance(value, str):
        return resolve(value) if "${" in value else value
    if isinstance(value, Mapping):
        return {key: _each(one, resolve) for key, one in value.items()}
    return [_each(one, resolve) for one in value] if isinstance(value, list | tuple) else value


# What Kedro and OmegaConf raise of files that cannot be read, put together or resolved.
CONF_ERRORS = (YAMLError, OmegaConfBaseException, ValueError, TypeError, AttributeError, OSError)


def config_error(key: str, error: Exception, files: AbstractFileSystem, paths: Iterable[str]) -> RunRefusedError:
    """Return the RunRefusedError that explains why one kind of configuration could not be read.

    Args:
        key: The kind, as `parameters`.
        error: What was raised.
        files: Where the configuration lies.
        paths: Its files of that kind.
    """
    for link in _chain(error):
        if isinstance(link, FedtextError):  # of one of our own resolvers
            return refusal_of(link)
    for path in paths:
        if (fault := _fault(files, path)) is not None:
            return RunRefusedError(f"{path} cannot be read: {fault}", code="conf-file-unreadable", value=path)
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = next((line.removeprefix("full_key: ") for line in said if line.startswith("full_key: ")), None)
    return RunRefusedError(
        f"the {key} of conf cannot be used: {said[0] if said else type(error).__name__}"
        f"{f' (asked for by {where})' if where else ''}; correct it there",
        code="conf-unusable",
        value=key,
    )


def _fault(files: AbstractFileSystem, path: str) -> str | None:
    """Return what is wrong with a file by itself; None if nothing is."""
    try:
        read(files.cat_file(path).decode("utf8"))
    except UnicodeDecodeError as error:
        return f"byte {error.start} is no UTF-8 text; save it as UTF-8"
    except MarkedYAMLError as error:
        return f"{yaml_fault(error)}; correct it as YAML"
    except (YAMLError, OSError) as error:
        return f"{str(error).splitlines()[0]}; correct it as YAML"
    except ValueError as error:
        return str(error)
    return None


def _chain(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
