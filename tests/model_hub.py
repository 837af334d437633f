"""A model hub on this machine: as much of the Hugging Face hub's protocol as its own client uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit


def commit_of(directory: Path) -> str:
    """Return a commit's name: 40 hexadecimal digits that the content of its files determines."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return hashlib.sha1(b"".join(path.read_bytes() for path in files), usedforsecurity=False).hexdigest()


class Hub:
    """Repositories by id, each with its commits, the last of which is `main`."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, Path]] = {}
        self.asked: list[str] = []
        self.endpoint = ""

    def upload(self, name: str, directory: Path) -> str:
        """Make the directory the newest commit of `name`; return the commit."""
        commit = commit_of(directory)
        self.commits.setdefault(name, {})[commit] = directory
        return commit

    def find(self, name: str, revision: str) -> tuple[str, Path] | None:
        """Return commit and files of a revision, None if there are none."""
        commits = self.commits.get(name, {})
        commit = next(reversed(commits), "") if revision == "main" else revision
        return (commit, commits[commit]) if commit in commits else None


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve at `hub.endpoint` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            hub.asked.append(f"{self.command} {path}")
            parts = path.split("/")
            if parts[:2] == ["api", "models"] and parts[4:5] == ["tree"]:
                self._list("/".join(parts[2:4]), parts[5])
            elif parts[:2] == ["api", "models"]:
                self._describe("/".join(parts[2:4]), parts[5] if parts[4:5] == ["revision"] else "main", parts[4:])
            elif parts[2:3] == ["resolve"]:
                self._file("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
            else:
                self._refuse("RepoNotFound")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _describe(self, name: str, revision: str, rest: list[str]) -> None:
            found = hub.find(name, revision)
            if name not in hub.commits or rest not in ([], ["revision", revision]):
                self._refuse("RepoNotFound" if name not in hub.commits else "EntryNotFound")
            elif found is None:
                self._refuse("RevisionNotFound")
            else:
                files = [{"rfilename": str(path.relative_to(found[1]))} for path in found[1].rglob("*")]
                self._answer(json.dumps({"id": name, "sha": found[0], "siblings": files}).encode(), {})

        def _list(self, name: str, revision: str) -> None:
            found = hub.find(name, revision)
            if found is None:
                self._refuse("RevisionNotFound")
                return
            files = [path for path in found[1].rglob("*") if path.is_file()]
            told = [
                {
                    "type": "file",
                    "path": str(path.relative_to(found[1])),
                    "size": path.stat().st_size,
                    "oid": commit_of(path.parent),
                }
                for path in files
            ]
            self._answer(json.dumps(told).encode(), {})

        def _file(self, name: str, revision: str, file: str) -> None:
            found = hub.find(name, revision)
            if found is None or not (found[1] / file).is_file():
                self._refuse("EntryNotFound" if found else "RevisionNotFound")
                return
            content = (found[1] / file).read_bytes()
            self._answer(content, {"X-Repo-Commit": found[0], "ETag": f'"{hashlib.sha256(content).hexdigest()}"'})

        def _refuse(self, code: str) -> None:
            self._answer(b"", {"X-Error-Code": code, "X-Error-Message": f"{code} for {self.path}"}, status=404)

        def _answer(self, content: bytes, headers: dict[str, str], status: int = 200) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
