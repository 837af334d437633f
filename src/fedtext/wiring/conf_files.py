"""Mistakes in the files of `conf`, each in one sentence that names the file."""

from __future__ import annotations

from collections.abc import Iterable

from fsspec import AbstractFileSystem
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.conf_values import read

# What Kedro and OmegaConf raise of files that cannot be read, put together or resolved.
CONF_ERRORS = (YAMLError, OmegaConfBaseException, ValueError, TypeError, AttributeError, OSError)


def conf_refused(key: str, error: Exception, files: AbstractFileSystem, paths: Iterable[str]) -> RunRefusedError:
    """The refusal for an error of reading one kind of configuration.

    Args:
        key: The kind, as `parameters`.
        error: What was raised.
        files: Where the configuration lies.
        paths: Its files of that kind.
    """
    for link in _chain(error):
        if isinstance(link, FedtextError):  # of one of our own resolvers
            return RunRefusedError(str(link))
    for path in paths:
        if (fault := _fault(files, path)) is not None:
            return RunRefusedError(f"{path} cannot be read: {fault}")
    said = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = next((line.removeprefix("full_key: ") for line in said if line.startswith("full_key: ")), None)
    return RunRefusedError(
        f"the {key} of conf cannot be used: {said[0] if said else type(error).__name__}"
        f"{f' (asked for by {where})' if where else ''}; correct it there"
    )


def _fault(files: AbstractFileSystem, path: str) -> str | None:
    """What is wrong with a file by itself; None if nothing is."""
    try:
        read(files.cat_file(path).decode("utf8"))
    except UnicodeDecodeError as error:
        return f"byte {error.start} is no UTF-8 text; save it as UTF-8"
    except MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"{error.problem or error.context}{line}; correct it as YAML"
    except (YAMLError, OSError) as error:
        return f"{str(error).splitlines()[0]}; correct it as YAML"
    except ValueError as error:
        return str(error)
    return None


def _chain(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
