"""The server's app in Flower: it carries one message to the silos and their replies back, and reads neither.

It runs in Flower's own environment, beside the SuperLink, and needs nothing of fedtext. Message and replies lie in a
folder that the run names. There is no app for silos here: a silo's process runs what is installed there
(fedtext.silo.supernode), and never fetches this one.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

RECORD, FIELD = "fedtext", "message"
PAUSE = 0.5  # seconds between two looks for silos
app = ServerApp()
client = ClientApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry the message of the folder that the run names."""
    place = Path(str(context.run_config["place"]))
    wanted, patience = int(context.run_config["wanted"]), float(context.run_config["patience"])
    try:
        replies = _asked(grid, (place / "message").read_bytes(), wanted, patience)
        for number, reply in enumerate(replies):
            (place / f"reply-{number}").write_bytes(reply)
        _tell(place, {"replies": len(replies)})
    except BaseException as error:
        _tell(place, {"failed": f"{type(error).__name__}: {error}"})
        raise


def _asked(grid: Grid, message: bytes, wanted: int, patience: float) -> list[bytes]:
    end = time.monotonic() + patience
    while len(nodes := list(grid.get_node_ids())) < wanted and time.monotonic() < end:
        time.sleep(PAUSE)
    sent = [
        Message(RecordDict({RECORD: ConfigRecord({FIELD: message})}), dst_node_id=node, message_type="query")
        for node in nodes
    ]
    replies = grid.send_and_receive(sent, timeout=max(1.0, end - time.monotonic())) if sent else []
    records = [reply.content.config_records for reply in replies if reply.has_content()]
    told = [one[RECORD].get(FIELD) for one in records if RECORD in one]  # a stranger's reply ends nobody's round
    return [one for one in told if isinstance(one, bytes)]


def _tell(place: Path, said: dict[str, object]) -> None:
    """Write the end of the run, whole or not at all."""
    (place / "end.partial").write_text(json.dumps(said), "utf-8")
    os.replace(place / "end.partial", place / "end.json")
