"""A server on this machine with OpenAI's API: models, completions and chat completions, and faults on request."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

KEY = "a-key-that-nobody-may-see"
WORDS = [
    "raise",
    "return",
    "value",
    "list",
    "error",
    "given",
    "name",
    "path",
    "file",
    "object",
    "type",
    "string",
    "number",
    "default",
    "index",
    "key",
    "call",
    "read",
]


def written(prompt: str, seed: int, number: int, most: int) -> str:
    """Return a text that prompt, seed and number determine, of at most `most` words."""
    digest = hashlib.sha256(f"{prompt}|{seed}|{number}".encode()).digest()
    return " ".join(WORDS[byte % len(WORDS)] for byte in digest[: min(most, 20)])


@dataclass
class Served:
    """The server's behaviour, and the requests that it received.

    Attributes:
        models: Its models.
        key: The key that it requires, None for none.
        faults: Responses to the next requests for text, one each: status, and headers.
        delay: Seconds before an answer.
        together: Requests that must be under way before the first is answered, within a minute.
        drip: Seconds before each byte of an answer, of its headers too.
        most: Most responses that it returns to a request.
        refuses_several: Whether a request for more than one response is an error.
        form: The text around a response.
        routes: What it serves beside the models.
        raw: What it sends in place of every answer: content type and bytes.
        raw_models: The same in place of its list of models.
        asked: Route, body and key of every request for text.
    """

    models: tuple[str, ...] = ("tiny",)
    key: str | None = None
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    delay: float = 0.0
    together: int = 0
    drip: float = 0.0
    most: int = 100
    refuses_several: bool = False
    form: str = "{}"
    routes: tuple[str, ...] = ("/v1/completions", "/v1/chat/completions")
    raw: tuple[str, bytes] | None = None
    raw_models: tuple[str, bytes] | None = None
    asked: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    url: str = ""
    busiest: int = 0
    busy: int = 0
    lock: Lock = field(default_factory=Lock)

    def listed(self) -> list[dict[str, Any]]:
        """Return its list of models."""
        told = {"object": "model", "created": int(time.time()), "owned_by": "us"}
        return [{"id": name, **told, "root": f"/weights/{name}"} for name in self.models]

    def shown(self, route: str) -> dict[str, Any] | None:
        """Return the content of a page beside the list of models; None if there is none."""
        return None

    def answer(self, route: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and content for one request for text."""
        with self.lock:
            self.asked.append((route, body, key))
            fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            return fault[0], fault[1], _error(f"fault {fault[0]}", "fault")
        if route not in self.routes:
            return 404, {}, _error("no such route", "not_found")
        if body["model"] not in self.models:
            return 404, {}, _error(f"The model `{body['model']}` does not exist", "model_not_found")
        count = body.get("n", 1)
        if self.refuses_several and count > 1:
            return 400, {}, _error("only one completion choice is allowed", "invalid_value")
        prompt = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
        texts = [
            self.form.format(written(prompt, body["seed"], i, body["max_tokens"])) for i in range(min(count, self.most))
        ]
        form = (
            (lambda text: {"text": text})
            if "prompt" in body
            else (lambda t: {"message": {"role": "assistant", "content": t}})
        )
        choices = [{"index": i, "finish_reason": "stop", **form(text)} for i, text in enumerate(texts)]
        return (
            200,
            {},
            {"id": "x", "object": "text", "created": int(time.time()), "model": body["model"], "choices": choices},
        )


def _error(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "code": code}}


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024  # connections that wait to be taken


@contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Serve at `served.url` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if not self._allowed():
                return
            if self.path == "/v1/models" and served.raw_models:
                self._send_bytes(200, {"Content-Type": served.raw_models[0]}, served.raw_models[1])
            elif self.path == "/v1/models":
                self._send(200, {}, {"object": "list", "data": served.listed()})
            elif (shown := served.shown(self.path)) is not None:
                self._send(200, {}, shown)
            else:
                self._send(404, {}, _error("no such route", "not_found"))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._allowed():
                return
            with served.lock:
                served.busy += 1
                served.busiest = max(served.busiest, served.busy)
            time.sleep(served.delay)
            until = time.monotonic() + 60
            while served.busiest < served.together and time.monotonic() < until:
                time.sleep(0.05)
            with served.lock:
                served.busy -= 1
            status, headers, content = served.answer(self.path, body, self._key())
            if served.raw:
                self._send_bytes(200, {"Content-Type": served.raw[0]}, served.raw[1])
            else:
                self._send(status, headers, content)

        def _key(self) -> str:
            return (self.headers["Authorization"] or "").removeprefix("Bearer ")

        def _allowed(self) -> bool:
            if served.key is None or self._key() == served.key:
                return True
            self.rfile.read(0)
            self._send(401, {}, _error(f"Incorrect API key provided: {self._key()}", "invalid_api_key"))
            return False

        def _send(self, status: int, headers: dict[str, str], content: dict[str, Any] | str) -> None:
            if isinstance(content, str):
                self._send_bytes(status, {**headers, "Content-Type": "text/plain"}, content.encode())
            else:
                self._send_bytes(status, {**headers, "Content-Type": "application/json"}, json.dumps(content).encode())

        def _send_bytes(self, status: int, headers: dict[str, str], told: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(told))}.items():
                    self.send_header(name, value)
                if served.drip:
                    self._drip(told)
                else:
                    self.end_headers()
                    self.wfile.write(told)
            except (BrokenPipeError, ConnectionResetError):  # who asked did not wait
                pass

        def _drip(self, told: bytes) -> None:
            head = b"".join(self._headers_buffer) + b"\r\n"  # type: ignore[attr-defined]
            self._headers_buffer = []
            for byte in head + told:
                self.wfile.write(bytes([byte]))
                time.sleep(served.drip)

        def log_message(self, *_: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
