"""Configuration: one loader per run.

Pipelines are given it as `Settings` (fedtext.wiring.pipeline_settings). Hooks and the runner, which Kedro makes without
it, look up the newest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cached_property, reduce
from importlib import import_module
from itertools import combinations
from pathlib import Path
from tarfile import TarError
from typing import Any, ClassVar, cast
from zipfile import BadZipFile

from fsspec import AbstractFileSystem
from kedro.config import MissingConfigException, OmegaConfigLoader
from kedro.framework.project import settings
from kedro.utils import find_kedro_project
from omegaconf import OmegaConf
from pydantic import ValidationError

from fedtext.params.corpus import Corpus
from fedtext.system.errors import FedtextError, did_you_mean
from fedtext.system.refusal import RunRefusedError
from fedtext.system.remote_files import is_address
from fedtext.wiring.asked_texts import AskedTexts
from fedtext.wiring.conf_files import CONF_ERRORS, DEFAULTS, config_error, deep_merge, read, resolved, with_defaults
from fedtext.wiring.entries_of_models import comparisons
from fedtext.wiring.one_run import check_no_other_run
from fedtext.wiring.tracking_server import complete_tracking, without_nulls

DEFAULT_DATA_ROOT = "data"
TRACKING_ROOT = "FEDTEXT_TRACKING_ROOT"  # environment: the data root whose MLflow records to use in place of one's own
ARCHIVES = ("tar", "zip")
PATTERNS = {
    "mlflow": ["mlflow*", "mlflow*/**", "**/mlflow*"],  # as kedro-mlflow names them
    "compare": ["compare/*"],
}
SOFT = dict.fromkeys(("parameters", "globals", "mlflow", "compare"), "soft")


class ProjectConfigLoader(OmegaConfigLoader):
    """Kedro's loader with twelve additions.

    - Files are read as plain values, and only what has `${` is resolved (fedtext.wiring.conf_files).
    - A block of parameters with `_defaults: NAME` starts from the block of that name below `_defaults`.
    - Entries and claims of comparisons lie in a folder `compare`, one file for each paper; one that is named by a
      placeholder is made for each model of `models.plms` (fedtext.wiring.entries_of_models).
    - The newest loader is `active`, for `active_parameters()`.
    - Environments are merged over the base key by key (all but the catalog), not file by file; `local` may be
      absent. All lie in a directory or in an archive.
    - A mistake in a file gives an error of one sentence.
    - `${data_root:}` is the absolute directory that this run reads and writes: `--params data_root=DIR`, else the
      global `data_root`; a relative path starts at the project. `${parameter:privacy.history}` is a
      parameter, `${parameter:A.B,C.D}` the first of them that has a value.
    - `${tracking_root:}` is where MLflow's records lie: the data root, or that which the environment variable
      FEDTEXT_TRACKING_ROOT names; `${tracking_uri:}` is the same directory as a URI. What mlflow.yml makes of them
      is completed (fedtext.wiring.tracking_server).
    - What generators are asked for has references of its own (fedtext.wiring.asked_texts).
    - Credentials of `conf/local` hold in every environment: of all folders it alone is kept out of the repository.
    - Kedro-Viz previews no catalog entry but released and public ones, whatever the entry says: it asks no flow check,
      so to it an entry without a class may be private.
    """

    active: ClassVar[ProjectConfigLoader | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        check_no_other_run()
        kwargs["merge_strategy"] = {**SOFT, **(kwargs.get("merge_strategy") or {})}
        kwargs["config_patterns"] = {**PATTERNS, **(kwargs.get("config_patterns") or {})}
        self._raw: tuple[Any, ...] | None = None
        self._read: dict[str, dict[str, Any]] = {}  # Kedro reads the globals while it makes itself
        super().__init__(*args, **kwargs)
        self._check_environment()
        register = getattr(OmegaConf, "register_resolver", OmegaConf.register_new_resolver)  # renamed in 2.4
        register("data_root", lambda: str(self.data_root), replace=True)
        register("tracking_root", lambda: str(self.tracking_root), replace=True)
        register("tracking_uri", lambda: self.tracking_root.as_uri(), replace=True)  # noqa: PLW0108 - not known yet
        register("parameter", self._first_stated, replace=True)
        self._asked = AskedTexts(self)
        self._asked.register()
        ProjectConfigLoader.active = self

    def __getitem__(self, key: str) -> dict[str, Any]:
        """Return Kedro's value, with no preview of a catalog entry that may be private; files are read once."""
        if key != "globals":
            # What is read may ask for these, and Kedro cannot resolve the globals in the midst of that.
            _ = self.data_root, self._asked.description, self._asked.prompt, self._parameter_files
        if key in self or key not in self._read:  # what was set comes before what was read
            config = self._credentials() if key == "credentials" else self._checked(key)
            self._read[key] = self._completed(key, config)
        return deepcopy(self._read[key])

    def _checked(self, key: str) -> dict[str, Any]:
        """Return Kedro's value; a mistake in a file becomes a one-sentence error (fedtext.wiring.conf_files)."""
        try:
            return super().__getitem__(key)
        except (FedtextError, MissingConfigException):  # Kedro reads some kinds that need not be there
            raise
        except CONF_ERRORS as error:
            raise config_error(key, error, self._fs, self._files(key)) from error

    def _credentials(self) -> dict[str, Any]:
        """Return the credentials of `conf/local`, overridden by those of the environment.

        Raises:
            MissingConfigException: there is no file with any, as Kedro expects it.
        """
        own, found = self.env, dict[str, Any]()
        try:
            for env in dict.fromkeys((self.default_run_env, own or self.default_run_env)):
                self.env = env  # Kedro reads one environment at a time
                with suppress(MissingConfigException):
                    found |= self._checked("credentials")
        finally:
            self.env = own
        if not found:
            raise MissingConfigException(f"no credentials in {self.conf_source}")
        return found

    def _completed(self, key: str, config: dict[str, Any]) -> dict[str, Any]:
        if key == "catalog":
            return _without_private_previews(config)
        if key == "parameters":
            return cast("dict[str, Any]", deep_merge(self._comparisons(), with_defaults(config)))
        return complete_tracking(config, self.tracking_root) if key == "mlflow" else config

    def _comparisons(self) -> dict[str, Any]:
        """Return the entries and claims of conf's folders `compare`, as parameters, for the models that there are."""
        try:
            found = self._checked("compare")
        except MissingConfigException:
            return {}
        models = {**self.global_group("models"), **((self.runtime_params or {}).get("models") or {})}
        return comparisons(found, models)

    def _merge_configs(self, config: dict[str, Any], env_config: dict[str, Any], key: str, env_path: str) -> Any:
        above = without_nulls(env_config) if key == "mlflow" else env_config
        if self.merge_strategy.get(key) == "soft":
            return deep_merge(config, above)
        return super()._merge_configs(config, above, key, env_path)

    def _merge_and_resolve(self, key: str, config_per_file: Mapping[Path, Any]) -> dict[str, Any]:
        """Merge and resolve as Kedro does; restricted catalog types and credentials are left to OmegaConf."""
        if key == "credentials" or (key == "catalog" and self.restrict_runtime_params_type_selection):
            wrapped = {path: OmegaConf.create(config) for path, config in config_per_file.items()}
            return cast("dict[str, Any]", super()._merge_and_resolve(key, wrapped))
        files = [
            *config_per_file.values(),
            *([self.runtime_params or {}] if key == "parameters" and config_per_file else []),
        ]
        found = resolved(reduce(deep_merge, files, {}))
        return found if key == "parameters" else {name: value for name, value in found.items() if name[:1] != "_"}

    def _files(self, key: str) -> Iterator[str]:
        for folder in dict.fromkeys((self.base_env, self.env or self.default_run_env)):
            yield from map(str, self._found(self._get_conf_env_path(folder), self.config_patterns[key]))

    def _found(self, folder: str, patterns: Iterable[str]) -> list[Path]:
        """Return the files of one kind in an environment: `parameters.yml`, `parameters_x.yml`, `parameters/x.yml`."""
        paths = {Path(path) for pattern in patterns for path in self._fs.glob(f"{Path(folder).as_posix()}/{pattern}")}
        shown = [path for path in paths if not (self.ignore_hidden and self._is_hidden(str(path)))]
        return sorted(path for path in shown if self._is_valid_config_path(path))

    @staticmethod
    def _initialise_filesystem_and_protocol(conf_source: str) -> tuple[AbstractFileSystem, str]:
        """Open the configuration source as Kedro does.

        Raises:
            RunRefusedError: an archive cannot be opened.
        """
        try:
            return OmegaConfigLoader._initialise_filesystem_and_protocol(conf_source)
        except (TarError, BadZipFile, EOFError, OSError) as error:
            raise RunRefusedError(
                f"--conf-source {conf_source} cannot be opened ({error}): name a directory, or an archive as "
                "`kedro package` makes it",
                code="conf-source-unreadable",
                parameter="conf_source",
                value=str(conf_source),
            ) from None

    def _get_conf_env_path(self, env: str) -> str:
        """Return the folder of an environment, which an archive has at its top or in any one folder there."""
        if self._protocol not in ARCHIVES:
            return str(super()._get_conf_env_path(env))
        tops = ["", *(f"{top}/" for top in self._fs.ls("", detail=False))]
        return next((f"{top}{env}" for top in tops if self._fs.isdir(f"{top}{self.base_env}")), env)

    def _read_dir_configs(
        self,
        conf_path: str,
        patterns: Iterable[str],
        key: str,
        processed_files: set[Path],
        read_environment_variables: bool | None = False,
    ) -> dict[Path, Any]:
        """Read a folder as Kedro does, without wrapping; the `local` folder, which git leaves out, may be absent."""
        own = not self.env and conf_path == self._get_conf_env_path(self.default_run_env)
        if not self._fs.isdir(Path(conf_path).as_posix()):
            if own:
                return {}
            raise MissingConfigException(f"{conf_path} is no directory")
        if read_environment_variables:  # of credentials, which alone may have some
            wrapped: dict[Path, Any] = super()._read_dir_configs(conf_path, patterns, key, processed_files, True)
            return wrapped
        found = {
            path: read(self._fs.cat_file(path.as_posix()).decode("utf8")) for path in self._found(conf_path, patterns)
        }
        processed_files.update(found)
        self._check_duplicates(key, found)
        return found

    def _check_duplicates(self, key: str, config_per_file: dict[Path, Any]) -> None:
        """Raise if two files of an environment define the same key, as Kedro does for wrapped parameters."""
        named = {
            path: self._get_all_keys(config) if key in ("parameters", "compare") else set(config)
            for path, config in config_per_file.items()
        }
        for one, other in combinations(named, 2):
            if twice := sorted(name for name in named[one] & named[other] if not name.startswith("_")):
                raise ValueError(f"Duplicate keys found in {one} and {other}: {', '.join(twice)[:100]}")

    def _read_raw_config(self, key: str) -> Any:
        """Read raw configuration as Kedro does; parameters, which are needed before they are resolved, once."""
        if key != "parameters":
            return super()._read_raw_config(key)
        if self._raw is None:
            self._raw = super()._read_raw_config(key)
        return self._raw

    def _check_environment(self) -> None:
        """Raise RunRefusedError if base or environment has no folder; Kedro would raise with a traceback.

        Kedro itself checks places on the network.
        """
        if self._protocol not in ("file", *ARCHIVES):
            return
        if not self._has_folder(self.base_env):
            raise RunRefusedError(
                f"{self.conf_source} has no folder '{self.base_env}', which holds all parameters: start from the "
                "project's directory, or name a directory or an archive of `kedro package` that has it (--conf-source)",
                code="base-folder-missing",
                parameter="conf_source",
                value=str(self.conf_source),
            )
        if self.env and not self._has_folder(self.env):
            folder = self._get_conf_env_path(self.env)
            beside = self._fs.ls(str(Path(folder).parent), detail=False)
            known = [name for name in (Path(path).name for path in beside) if name[:1] not in "._"]
            known = [name for name in known if self._has_folder(name)]
            raise RunRefusedError(
                f"environment '{self.env}' has no folder {folder}: {did_you_mean(self.env, known, 'make it')}",
                code="unknown-environment",
                parameter="env",
                value=self.env,
            )

    def _has_folder(self, env: str) -> bool:
        return bool(self._fs.isdir(Path(self._get_conf_env_path(env)).as_posix()))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the run, read once and not validated yet."""
        return self["parameters"]

    @property
    def tracking(self) -> dict[str, Any]:
        """The content of mlflow.yml; empty if there is none."""
        try:
            return self["mlflow"]
        except MissingConfigException:
            return {}

    @property
    def project_path(self) -> Path:
        """The Kedro project around `conf`, or the working directory's for a `--conf-source` outside of a project."""
        around = Path(self.conf_source).resolve().parent
        return Path(find_kedro_project(around) or find_kedro_project(Path.cwd()) or around)

    @property
    def named_source(self) -> str | None:
        """The place of the configuration, for another process; None if it is the project's own folder."""
        here = Path(self.conf_source)
        if here.resolve() == (self.project_path / settings.CONF_SOURCE).resolve():
            return None
        return str(here.resolve()) if here.exists() else str(self.conf_source)

    @cached_property
    def data_root(self) -> Path:
        """Absolute path below which the run reads and writes everything.

        Raises:
            RunRefusedError: it was given, and is empty, a group or a list, or an address.
        """
        given = self.runtime_params or {}
        chosen = given["data_root"] if "data_root" in given else self["globals"].get("data_root", DEFAULT_DATA_ROOT)
        if not chosen or isinstance(chosen, Mapping | list):
            raise RunRefusedError(
                f"data_root is {chosen or 'empty, perhaps an unset variable'}: name a directory, or leave it out",
                code="data-root-empty",
                parameter="data_root",
            )
        if is_address(str(chosen)):
            raise RunRefusedError(
                f"data_root is {str(chosen).partition('://')[0]}://..., and a run locks, syncs and renames its files, "
                "which an object store cannot: name a directory, --params data_root=DIR, and take the results out with "
                "`kedro export`",
                code="data-root-is-an-address",
                parameter="data_root",
            )
        return self.project_path / Path(str(chosen)).expanduser()

    def stated(self, group: str, name: str) -> object:
        """Return an unresolved parameter: the command line's, else the environment's, else the base's."""
        stated = (
            OmegaConf.select(OmegaConf.create({group: file[group]}), f"{group}.{name}")
            for file in self._parameter_files
            if group in file
        )
        return self.given(group, name, lambda: next((value for value in stated if value is not None), None))

    def _first_stated(self, *names: str) -> object:
        """Return the value of the first of these parameters, each `group.name`, that has one."""
        stated = (self.stated(*name.split(".")) for name in names)
        found = next((value for value in stated if value is not None), None)
        return OmegaConf.create({"value": found}).value

    def given(self, group: str, name: str, otherwise: Callable[[], Any] = lambda: None) -> Any:
        """Return a parameter of the command line, or what `otherwise` gives where the command line has none."""
        given = (self.runtime_params or {}).get(group)
        return given[name] if isinstance(given, Mapping) and name in given else otherwise()

    def global_group(self, name: str) -> Mapping[str, Any]:
        """Return a group of the globals; empty where there is none."""
        return self["globals"].get(name) or {}

    @cached_property
    def groups(self) -> frozenset[str]:
        """Names of all parameter groups in the configuration's files, whether or not a pipeline uses them."""
        return frozenset(str(name) for file in self._parameter_files for name in file) - {DEFAULTS}

    @cached_property
    def _parameter_files(self) -> tuple[dict[str, Any], ...]:
        """The unresolved parameter files, wherever they lie, those of the environment first."""
        try:
            base, own, *_ = self._read_raw_config("parameters")
        except MissingConfigException:
            return ()
        except CONF_ERRORS as error:
            raise config_error("parameters", error, self._fs, self._files("parameters")) from error
        return tuple(files[path] for files in (own, base) for path in sorted(files))

    @property
    def tracking_root(self) -> Path:
        """Absolute path of the directory that holds MLflow's records.

        Raises:
            RunRefusedError: the environment names a directory that is not there.
        """
        if not (given := os.environ.get(TRACKING_ROOT)):
            return self.data_root
        if not (root := self.project_path / Path(given).expanduser()).is_dir():
            raise RunRefusedError(
                f"{TRACKING_ROOT} is {given}: no such directory; name a data root that has had a run",
                code="no-such-data-root",
                parameter=TRACKING_ROOT,
                value=str(given),
            )
        return root


def active_loader() -> ProjectConfigLoader:
    """Return the newest session's loader; without one (`kedro registry list`), that for `conf` and `KEDRO_ENV`."""
    # A loader is a dictionary that starts out empty, and so false.
    return loader_for(None, {}) if ProjectConfigLoader.active is None else ProjectConfigLoader.active


def active_parameters() -> dict[str, Any]:
    """Return the parameters of the current run, or, without a session, those of `conf` and `KEDRO_ENV`."""
    return active_loader().parameters


def corpus_is_public(parameters: Mapping[str, Any] | None = None) -> bool:
    """Return whether the corpus is a public stand-in for private text; if its parameters are faulty, it is not."""
    given = active_parameters() if parameters is None else parameters
    try:
        return Corpus.model_validate(given.get("corpus") or {}).is_public
    except ValidationError:
        return False


def active_data_root() -> Path:
    """Return the absolute data root of the current run, or, without a session, that of `conf` and `KEDRO_ENV`."""
    return active_loader().data_root


def privacy_class(name: str, entry: dict[str, Any]) -> str | None:
    """Return the privacy class that the catalog entry declares, `private` for names that begin so, else None."""
    stated: str | None = ((entry.get("metadata") or {}).get("fedtext") or {}).get("privacy")
    return "private" if stated is None and is_private_name(name) else stated


def is_private_name(name: str) -> bool:
    """Return whether a data set is private by its name, as all private ones are."""
    return name.rpartition(".")[2].startswith("private_")


def loader_for(env: str | None, parameters: dict[str, Any], conf_source: str | None = None) -> ProjectConfigLoader:
    """Return the loader that a session with these options would make; it becomes the active one."""
    from kedro.framework.project import PACKAGE_NAME

    package = Path(str(import_module(PACKAGE_NAME or "fedtext").__file__))
    project = find_kedro_project(package.parent) or find_kedro_project(Path.cwd())
    if project is None:
        raise RunRefusedError(
            f"{Path.cwd()} is not inside a Kedro project: change into the project's directory first",
            code="outside-a-project",
            value=str(Path.cwd()),
        )
    return ProjectConfigLoader(
        conf_source=conf_source or str(Path(project) / settings.CONF_SOURCE),
        env=env or os.environ.get("KEDRO_ENV"),
        runtime_params=parameters,
        **settings.CONFIG_LOADER_ARGS,
    )


def _without_private_previews(catalog: dict[str, Any]) -> dict[str, Any]:
    for name, entry in catalog.items():
        if isinstance(entry, dict) and privacy_class(name, entry) not in ("released", "public"):
            entry["metadata"] = metadata = dict(entry.get("metadata") or {})
            metadata["kedro-viz"] = {**(metadata.get("kedro-viz") or {}), "preview": False}
    return catalog
