"""`fedtext-silo`: the commands of the person at a silo.

fedtext-silo init --name north --table notes.csv --population 3300   writes silo.yml
fedtext-silo check                                                    reads and embeds the table, and asks nobody
fedtext-silo key                                                      prints what other silos need for secure sums
fedtext-silo serve                                                    answers a server's questions
fedtext-silo report                                                   what was asked, answered and spent
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType

import click
import yaml

from fedtext.silo.settings import FILE, Silo, read_settings, settings_of
from fedtext.system.errors import FedtextError, InputError
from fedtext.system.folders import make_own_folder
from fedtext.system.held_locks import holding
from fedtext.system.refusal import RunRefusedError, refusal_of
from fedtext.system.templates import templates

LOCK = Path(".fedtext") / "lock"
LOG_FILE = "silo.log"
SETTINGS = click.option(
    "--settings", type=click.Path(path_type=Path), default=Path(FILE), show_default=True, help="The silo's file."
)


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except RunRefusedError:
        raise
    except FedtextError as error:
        raise refusal_of(error) from None
    except OSError as error:
        if error.filename is None:
            raise
        raise RunRefusedError(
            f"{error.filename} cannot be used ({error.strerror}): give this user the right to it, or name another "
            "place in the silo's file",
            code="silo-place-closed",
            value=str(error.filename),
        ) from None


@click.group()
def main() -> None:
    """Keep text where it is, and answer a server's questions about it with noise, within a budget."""


@main.command()
@click.option("--name", required=True, help="The silo's name, the same in every run.")
@click.option("--table", required=True, help="A CSV, Parquet or JSON Lines file.")
@click.option("--population", required=True, type=click.IntRange(1), help="How many people there are, silent ones too.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="What all releases together may cost.")
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option("--client-column", default="client_id", show_default=True, help="Who a row is about.")
@click.option("--superlink", default="127.0.0.1:8000", show_default=True, help="The server's SuperLink.")
@click.option("--root-certificates", help="The certificate of the SuperLink's authority.")
@click.option("--private-key", help="The silo's own key, which the server knows the public half of.")
@SETTINGS
def init(settings: Path, **said: object) -> None:
    """Write the silo's file; what it says can be changed there."""
    with _one_sentence():
        if settings.exists():
            raise InputError(
                f"{settings} is there already: change it, or name another by --settings",
                code="silo-file-there",
                value=str(settings),
            )
        values = {name: json.dumps(value) for name, value in said.items()}  # JSON is YAML, and quotes what needs it
        text = templates("fedtext.silo").get_template("silo.yml.j2").render(folder=f"{settings.stem}-data", **values)
        settings_of(text, settings)  # a faulty one is not written
        settings.write_text(text, "utf-8")
        click.echo(f"{settings} is written. Next: fedtext-silo check, and fedtext-silo serve")


@main.command()
@SETTINGS
def check(settings: Path) -> None:
    """Read the table and embed it, once; nobody is asked, and nothing leaves."""
    with _one_sentence():
        from fedtext.silo.handler import MessageHandler

        handler = MessageHandler(read_settings(settings), settings.parent.resolve())
        with holding_folder(handler.folder):
            held = handler.local_data()
        click.echo(f"{len(held.records):,} rows, {len(held.samples):,} passages, embedded in {handler.folder}")


@main.command()
@SETTINGS
def key(settings: Path) -> None:
    """Print the silo's name and public key, which the other silos put below secure_sums.peers."""
    with _one_sentence():
        from fedtext.silo.handler import KEY, own_key
        from fedtext.silo.pairwise_masks import MaskKey

        silo = read_settings(settings)
        folder = settings.parent.resolve() / Path(silo.folder).expanduser()
        with nullcontext() if (folder / KEY).exists() else holding_folder(folder):
            click.echo(yaml.safe_dump({silo.name: MaskKey(silo.name, own_key(folder)).public}, width=1000).strip())


@main.command()
@SETTINGS
def serve(settings: Path) -> None:
    """Answer a server's questions until this process is ended."""
    with _one_sentence():
        from fedtext.silo.handler import MessageHandler
        from fedtext.silo.supernode import serve as answer

        silo, beside = read_settings(settings), settings.parent.resolve()
        handler = MessageHandler(silo, beside)
        with holding_folder(handler.folder), _logged(handler.folder):
            handler.local_data()
            signal.signal(signal.SIGTERM, _end)
            click.echo(f"silo {silo.name} answers {silo.link.superlink}; {_terms(silo)}")
            answer(silo.link, beside, handler.reply)


@main.command()
@SETTINGS
def report(settings: Path) -> None:
    """Print what was asked, answered and spent, on one page."""
    with _one_sentence():
        from fedtext.silo.report import page

        silo = read_settings(settings)
        click.echo(page(silo, settings.parent.resolve() / Path(silo.folder).expanduser()))


@contextmanager
def holding_folder(folder: Path) -> Iterator[None]:
    """Hold the folder for one process: two would spend one budget twice."""
    os.umask(0o077)
    make_own_folder(folder / LOCK.parent)
    with holding(folder / LOCK):
        yield


def _terms(silo: Silo) -> str:
    own, link = silo.protection, silo.link
    open_ = [] if link.root_certificates else ["NOT encrypted"]
    open_ += [] if link.private_key else ["NOT authenticated"]
    return f"all releases together may cost epsilon {own.epsilon:g} at delta {own.delta:g}" + "".join(
        f"; {one}" for one in open_
    )


@contextmanager
def _logged(folder: Path) -> Iterator[None]:
    """Write the log into the silo's own folder: a traceback may quote text, and stays here."""
    file = logging.FileHandler(folder / LOG_FILE, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    own = logging.getLogger("fedtext")
    own.setLevel(logging.INFO)
    own.addHandler(file)
    own.propagate = False
    try:
        yield
    finally:
        own.removeHandler(file)
        own.propagate = True
        file.close()


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    main()
