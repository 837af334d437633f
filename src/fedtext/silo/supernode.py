"""A silo as a node of Flower's: it fetches messages from a SuperLink, and answers them at its own handler.

It speaks the Fleet API of flwr 1.42 as a SuperNode does. A stock SuperNode runs whatever app the server sends with a
run, with the rights of its own process: it could read the table. Here the app of a run is never fetched. All that runs
is what is installed, and the answer is one process's, which starts no other.

Nothing here is imported without Flower (constraints-flower.txt), which has an environment of its own.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fedtext.silo.settings import Link
from fedtext.system.errors import InputError, MissingFileError

LOG = logging.getLogger(__name__)
VERSION = "1.42.0"
RECORD, FIELD = "fedtext", "message"  # where a message's bytes lie in Flower's message
PAUSE = 1.0  # seconds between two looks for a message
RECONNECT = 10.0  # seconds before a lost connection is made again
Handler = Callable[[bytes], bytes]


def serve(link: Link, beside: Path, handle: Handler, stopped: Callable[[], bool] = lambda: False) -> None:
    """Answer messages until the process is ended; a connection that is lost is made again.

    Raises:
        ValueError: another version of Flower is installed, or none; certificate or key are not of the right kind; or
            the SuperLink does not take the silo.
        OSError: a file of the connection is missing.
    """
    _validate_version()
    while not stopped():
        if (lost := _until_lost(link, beside, handle, stopped)) is not None:
            LOG.warning("the connection to %s is lost (%s)", link.superlink, lost, exc_info=lost)
            time.sleep(RECONNECT)


def _until_lost(link: Link, beside: Path, handle: Handler, stopped: Callable[[], bool]) -> Exception | None:
    """Answer messages; return why the connection was lost, for Flower's own would end without a word."""
    with _connected(link, beside) as (node, receive, send, pull, push, acknowledge):
        LOG.info("connected to %s as node %s", link.superlink, node)
        try:
            while not stopped():
                if (received := receive()) is None:
                    time.sleep(PAUSE)
                    continue
                _answer(received, pull, acknowledge, handle, send, push)
        except Exception as error:
            return error
    return None


def _answer(received: Any, pull: Any, acknowledge: Any, handle: Handler, send: Any, push: Any) -> None:
    """Answer one message; one that cannot be read as Flower's is left."""
    envelope, tree = received
    try:
        message = _whole(envelope, tree, pull, acknowledge)
    except (ValueError, TypeError, KeyError):
        LOG.exception("a message that cannot be read")
        return
    _send(_reply_to(message, handle), send, push)


@contextmanager
def _connected(link: Link, beside: Path) -> Iterator[tuple[Any, ...]]:
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    from flwr.supernode.fleet_http_connection import http_request_response

    certificates = None if link.root_certificates is None else _certificates(_file(link.root_certificates, beside))
    connection = http_request_response(
        link.superlink,
        insecure=certificates is None,
        root_certificates=certificates,
        authentication_keys=None if link.private_key is None else _keys(_file(link.private_key, beside)),
    )
    with ExitStack() as connected:
        try:
            node, receive, send, _get_run, _get_app, pull, push, acknowledge = connected.enter_context(connection)
        except SystemExit as ended:  # what Flower does, with its own words on standard error
            if not ended.code:  # its person ends it while it waits for the SuperLink
                raise
            raise InputError(
                f"the SuperLink at {link.superlink} (link.superlink) does not take this silo: if Flower says above "
                "that a certificate fails, link.root_certificates must be that of the name in link.superlink, and the "
                "clock right; else have the server register the public half of link.private_key, again where its "
                "SuperLink was started without the old --database",
                code="superlink-takes-no-silo",
                parameter="link",
                value=link.superlink,
            ) from None
        yield node, receive, send, pull, push, acknowledge


def _whole(envelope: Any, tree: Any, pull: Any, acknowledge: Any) -> Any:
    """Return the message with its content, which travels apart from it."""
    from flwr.app import Message
    from flwr.supercore.inflatable.inflatable_utils import pull_and_inflate_object_from_tree

    run = envelope.metadata.run_id
    message = pull_and_inflate_object_from_tree(
        tree, lambda name: pull(run, name), lambda name: acknowledge(run, name), return_type=Message
    )
    message.metadata.__dict__["_message_id"] = tree.object_id  # what travels does not hold its own digest
    return message


def _reply_to(message: Any, handle: Handler) -> Any:
    from flwr.app import ConfigRecord, Message, RecordDict

    try:
        told = message.content.config_records[RECORD][FIELD]
    except (KeyError, AttributeError):
        told = b""
    reply = handle(told if isinstance(told, bytes) else b"")
    return Message(RecordDict({RECORD: ConfigRecord({FIELD: reply})}), reply_to=message)


def _send(reply: Any, send: Any, push: Any) -> None:
    from flwr.supercore.inflatable.inflatable_object import (
        get_all_nested_objects,
        get_object_tree,
        no_object_id_recompute,
    )
    from flwr.supercore.run import RunNotRunningException

    run = reply.metadata.run_id
    reply.metadata.__dict__["_message_id"] = reply.object_id
    try:
        with no_object_id_recompute():
            wanted, session = send(reply, get_object_tree(reply), 0.0)
            for name, part in get_all_nested_objects(reply).items():
                if name in wanted:
                    push(run, session, name, part.deflate())
    except RunNotRunningException:
        LOG.info("the server has ended run %s and takes no answer; asked again, the same is sent", run)


def _certificates(file: Path) -> bytes:
    import ssl

    found = file.read_bytes()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise InputError(
            f"link.root_certificates {file} is no certificate in PEM's form: name the server.pem that the server gave",
            code="silo-certificate-unreadable",
            parameter="link.root_certificates",
            value=str(file),
        ) from None
    return found


def _keys(file: Path) -> tuple[Any, Any]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(file.read_bytes(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # a TypeError: it has a passphrase
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError(
            f"link.private_key {file} is no elliptic-curve key in OpenSSH's form without a passphrase: make one by "
            "`ssh-keygen -t ecdsa -b 384 -N '' -f FILE`",
            code="silo-key-of-other-kind",
            parameter="link.private_key",
            value=str(file),
        )
    return key, key.public_key()


def _file(name: str, beside: Path) -> Path:
    file = beside / Path(name).expanduser()
    if not file.is_file():
        raise MissingFileError(
            f"{file} is not a file: name the one that you were given in silo.yml, below link",
            code="missing-link-file",
            value=str(file),
        )
    return file


def _validate_version() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("flwr")
    except PackageNotFoundError:
        installed = "none"
    if installed != VERSION:
        raise InputError(
            f"Flower {VERSION} is needed, and {installed} is installed: make an environment for the silo by "
            "`pip install -c constraints-flower.txt 'fedtext[flower,offline]'`",
            code="another-flower",
            value=installed,
        )
