"""Kedro's command line, with one-sentence errors in place of tracebacks, and lists as parameter values.

Kedro finds `cli` and `run` here by their names; `BEFORE` is an entry point of the package (`kedro.cli_hooks`), which
Kedro calls before every command.
"""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import click
import yaml
from kedro import runner as runners
from kedro.framework.cli.hooks import cli_hook_impl
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.startup import ProjectMetadata
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fedtext.system.errors import did_you_mean
from fedtext.system.refusal import RunRefusedError, explanation
from fedtext.system.surrogates import has_lone_surrogate
from fedtext.wiring.config import ProjectConfigLoader, active_data_root, loader_for
from fedtext.wiring.mlflow_plugin import leave_out_commands
from fedtext.wiring.mlflow_ui import ui
from fedtext.wiring.session import check_pipelines

NAME_AND_VALUE = re.compile(r"\s*[\w.\-]+\s*=")
LOOKALIKE = re.compile(
    r"\s*[\w\-]+(?:\.[\w\-]+)*\s*[\uff1d\ufe66\u207c\u208c\ua78a\u30a0\u2550]"
)  # as input methods write it
AS_TEXT = re.compile(  # what YAML would read otherwise: a mark of its own, an octal number, hours and minutes
    r"\s*(?:[&*!@%`|>#].*|[-?] .*|[-+]?0[0-9_]+|[-+]?[0-9_]+(?::[0-5]?[0-9])+)\s*", re.DOTALL
)
PACKAGE = "fedtext"


def with_lists(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Parse `--params` into nested groups; an item without `NAME=` belongs to the value before it: `a.b=1,2,c=3`.

    `NAME=` is an empty text and not null, so that an unset variable is not taken for none.

    Raises:
        UsageError: the first item has no name, a name is given twice, with an empty part or with another sign than
            `=`, or a value is not valid YAML or not Unicode.
    """
    if not isinstance(value, str) or not value:
        return value or {}
    if has_lone_surrogate(value):
        context.fail(f"--params {value!a}: it has bytes that are no UTF-8, as in a file's name: rename the file")
    items: list[str] = []
    for part in value.split(","):
        if NAME_AND_VALUE.match(part) or not items:
            items.append(part.strip())
        else:
            items[-1] += f",{part}"
    if signs := [part.strip() for part in value.split(",") if LOOKALIKE.match(part)]:
        context.fail(f"--params {signs[0]}: its sign is no '=' but looks like one: write NAME=VALUE")
    if not NAME_AND_VALUE.match(items[0]):
        context.fail(f"--params {items[0]}: give NAME=VALUE, as popri.rounds=3")
    names = Counter(item.partition("=")[0].strip() for item in items)
    if empty := [name for name in names if not all(name.split("."))]:
        context.fail(f"--params {empty[0]}: a part of this name is empty: give NAME=VALUE, as popri.rounds=3")
    if twice := [name for name, times in names.items() if times > 1]:
        context.fail(f"--params gives {twice[0]} {names[twice[0]]} times: give it once")
    try:
        return OmegaConf.to_container(OmegaConf.from_dotlist([_quoted(item) for item in items]))
    except (yaml.YAMLError, OmegaConfBaseException):
        remedy = "close its brackets and quotes, or put quotes around it"
        context.fail(f"--params {value}: a value cannot be read as YAML: {remedy}")


def _quoted(item: str) -> str:
    """Return `NAME=VALUE`, quoting a value that YAML would not read as it is written.

    These are nothing, words with a colon or a `#`, and what `AS_TEXT` names.
    """
    name, _, value = item.partition("=")
    in_words = not value.lstrip().startswith(tuple("[{'\""))
    cut = any(sign in value for sign in (": ", " #")) or AS_TEXT.fullmatch(value)
    return f"{name}={json.dumps(value.strip())}" if not value or (in_words and cut) else item


def known_runner(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Raise RunRefusedError for a runner that Kedro does not have; a dotted name is another package's, and passes."""
    if value and "." not in value and not hasattr(runners, value):
        names = [name for name in dir(runners) if name.endswith("Runner") and name != "AbstractRunner"]
        raise RunRefusedError(
            f"no runner is named '{value}': {did_you_mean(value, names)}",
            code="unknown-runner",
            parameter="runner",
            value=value,
        )
    return value


def _command() -> click.Command:
    """Return Kedro's own `run`, with two options parsed by this module."""
    command = copy(kedro_run)
    command.params = [copy(option) for option in kedro_run.params]
    for option in command.params:
        if option.name == "params":
            option.callback = with_lists
        if option.name == "runner":
            option.callback = known_runner
    return command


class MlflowCommands(click.Group):
    """`ui` is this project's, `init` is kedro-mlflow's, imported when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of both."""
        return ["init", *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of that name."""
        if name != "init":
            return super().get_command(context, name)
        from kedro_mlflow.framework.cli import cli as commands

        init: click.Command = commands.init
        return init


leave_out_commands(PACKAGE)
run = _command()
PLANNED = ("env", "pipelines", "params", "conf_source", "config")  # options of `kedro run` that a plan reads


def _plan_command() -> click.Command:
    """Return `kedro plan`, which takes the options of `kedro run` that decide what is run."""
    options = [option for option in run.params if option.name in PLANNED]
    return click.Command("plan", params=options, callback=print_plan, help=str(print_plan.__doc__).partition("\n")[0])


def print_plan(
    env: str | None, pipelines: list[str], params: dict[str, Any], conf_source: str | None, **_: Any
) -> None:
    """Say what `kedro run` with these options would release, write and take here, and what would not fit.

    Nothing private is read, and no model has to be here.
    """
    from fedtext.job_plans import plans_of  # here: other commands need none of it
    from fedtext.planning.wording import plan_page
    from fedtext.wiring.hooks.preflight import check_names, check_names_have_values
    from fedtext.wiring.planning import paces_of

    with _one_sentence():
        loader = loader_for(env, params, conf_source)
        check_names_have_values(params)
        check_pipelines(names := list(pipelines) or ["__default__"])
        check_names(params)
        paces = paces_of(loader, measures=True)
        for plan in (plan for name in names for plan in plans_of(name, loader, paces)):
            click.echo(plan_page(plan))


def _export_command() -> click.Command:
    """Return `kedro export`, which takes the options of `kedro run` that decide where its data root is."""
    options = [option for option in run.params if option.name in ("env", "params", "conf_source")]
    to = click.Option(["--to"], required=True, help="A folder, or an address as s3://BUCKET/FOLDER.")
    described = str(export.__doc__).partition("\n")[0]
    return click.Command("export", params=[to, *options], callback=export, help=described)


def export(to: str, env: str | None, params: dict[str, Any], conf_source: str | None, **_: Any) -> None:
    """Copy the model outputs and reports of a data root to a folder, or to an address that fsspec knows."""
    from fedtext.wiring.exporting import export_results

    with _one_sentence():
        number = export_results(loader_for(env, params, conf_source).data_root, to)
        click.echo(f"{number} files exported")


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Raise an error that a user may meet as a refusal, whose sentence alone is shown."""
    try:
        yield
    except Exception as error:
        if isinstance(error, RunRefusedError) or (refusal := explanation(error, active_data_root())) is None:
            raise
        raise refusal from error
    finally:
        ProjectConfigLoader.active = None


mlflow = MlflowCommands(help="MLflow's records of runs.", commands={"ui": ui})
COMMANDS = {"run": run, "plan": _plan_command(), "export": _export_command(), "mlflow": mlflow}
cli = click.Group(name=PACKAGE, commands=COMMANDS)


class BeforeViz:
    """A hook before `kedro viz run`, which builds the graph in a process of its own and hides the traceback.

    The graph's inputs are checked here first.
    """

    @cli_hook_impl
    def before_command_run(self, project_metadata: ProjectMetadata | None, command_args: list[str]) -> None:
        """End the process with one sentence if environment, parameters or pipeline are wrong."""
        ours = project_metadata is not None and project_metadata.package_name == PACKAGE
        if not ours or command_args[:1] != ["viz"] or command_args[1:2] in (["build"], ["deploy"], ["--help"], ["-h"]):
            return
        open_at_the_steps()
        try:
            check_viz([word for word in command_args[1:] if word != "run"])
        except Exception as error:
            refusal = error if isinstance(error, RunRefusedError) else explanation(error, active_data_root())
            if refusal is None:
                raise
            click.echo(f"Error: {refusal}", err=True)
            sys.exit(1)
        finally:
            ProjectConfigLoader.active = None


def open_at_the_steps() -> None:
    """Make `kedro viz run` open its page with the steps alone: with every data set, names are too small to read."""
    from kedro_viz.launchers import utils

    def start(host: str, port: int) -> None:
        if utils._is_localhost(host):
            webbrowser.open_new(f"http://{host}:{port}/?types=nodes")

    utils._start_browser = start


def check_viz(arguments: list[str]) -> None:
    """Raise FedtextError for an environment, parameters or a pipeline that do not exist."""
    from kedro_viz.launchers.cli.run import run as viz

    options = viz.make_context("viz", arguments, resilient_parsing=True).params
    loader_for(options.get("env"), options.get("params") or {})
    check_pipelines([options["pipeline"]] if options.get("pipeline") else ["__default__"])


BEFORE = BeforeViz()
