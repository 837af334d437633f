"""A dataset hub on this machine: as much of the hub's upload protocol as its own client uses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


class DatasetHub:
    """The pushed content: files by path, the tags, and every token received."""

    def __init__(self, token: str) -> None:
        self.token, self.endpoint = token, ""
        self.repositories: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.tags: list[str] = []

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Return status and JSON of one authorised request."""
        parts = path.strip("/").split("/")
        name = "/".join(parts[2:4])
        if parts[:3] == ["api", "repos", "create"]:
            made = json.loads(body)
            name = f"{made.get('organization') or 'ada'}/{made['name'].rpartition('/')[2]}"
            self.repositories[name] = made
            return 200, {"url": f"{self.endpoint}/datasets/{name}", "name": name}
        if parts == ["api", "validate-yaml"]:
            return 200, {"errors": [], "warnings": []}
        if parts[:2] != ["api", "datasets"] or name not in self.repositories:
            return 404, {"error": "Repository not found"}
        verb = parts[4] if len(parts) > 4 else "info"
        return getattr(self, f"_{verb}", self._info)(name, parts, body)  # type: ignore[no-any-return]

    def _info(self, name: str, parts: list[str], body: bytes) -> tuple[int, Any]:
        return 200, {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in self.files]}

    def _tree(self, name: str, parts: list[str], body: bytes) -> tuple[int, Any]:
        return 200, [
            {"type": "file", "path": path, "size": len(data), "oid": "0" * 40} for path, data in self.files.items()
        ]

    def _preupload(self, name: str, parts: list[str], body: bytes) -> tuple[int, Any]:
        asked = json.loads(body)["files"]
        return 200, {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in asked]}

    def _commit(self, name: str, parts: list[str], body: bytes) -> tuple[int, Any]:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                self.files.pop(line["value"]["path"], None)
        return 200, {
            "commitUrl": f"{self.endpoint}/datasets/{name}/commit/{COMMIT}",
            "commitOid": COMMIT,
            "success": True,
        }

    def _tag(self, name: str, parts: list[str], body: bytes) -> tuple[int, Any]:
        self.tags.append(json.loads(body)["tag"])
        return 200, {}


@contextmanager
def serving(hub: DatasetHub) -> Iterator[DatasetHub]:
    """Serve at `hub.endpoint` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Authorization") == f"Bearer {hub.token}":
                status, value = hub.answer(self.command, unquote(urlsplit(self.path).path), body)
            else:
                status, value = 401, {"error": "Invalid credentials"}
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
