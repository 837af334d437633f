"""A server on this machine that answers as vLLM's does where it has more than OpenAI's API.

It takes prompts as tokens, loads adapters while it runs, and shows its tokenizer and its version. What it refuses, it
refuses in vLLM 0.32's words and with its status.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedtext.models.language_model import Tokenizer
from tests.openai_server import Served

LOAD, DETOKENIZE, COMPLETIONS = "/v1/load_lora_adapter", "/detokenize", "/v1/completions"


@dataclass
class Vllm(Served):
    """The server's behaviour.

    Attributes:
        loads: Whether it was started so that it loads adapters.
        largest_rank: `--max-lora-rank`.
        tokenizer: Source of its tokenizer; None: it shows none.
        version: What it says of its version; None: nothing.
        sees: A folder of adapters by the path that it has here; None: the server's paths are this machine's.
        adapters: Paths of the loaded adapters, by their names.
        loaded: Names of adapters in the order in which they were loaded.
        wrote: Model and prompt of every request for text.
    """

    models: tuple[str, ...] = ("tiny",)
    loads: bool = True
    largest_rank: int = 16
    tokenizer: str | None = "bundled:generator"
    version: str | None = "0.32.0"
    sees: dict[str, Path] = field(default_factory=dict)
    adapters: dict[str, Path] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    wrote: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def restart(self) -> None:
        """Lose what was loaded."""
        self.adapters.clear()

    def listed(self) -> list[dict[str, Any]]:
        """Return its models and then its adapters, which have a parent."""
        models = [{**one, "parent": None, "max_model_len": 2048} for one in super().listed()]
        adapters = [
            {"id": name, "object": "model", "root": str(path), "parent": self.models[0]}
            for name, path in list(self.adapters.items())
        ]
        return models + adapters

    def shown(self, route: str) -> dict[str, Any] | None:
        """Return the version."""
        return {"version": self.version} if route == "/version" and self.version else None

    def answer(self, route: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and content for one request."""
        if route == LOAD and self.loads:
            return self._load(body["lora_name"], body["lora_path"])
        if route == DETOKENIZE and self.tokenizer is not None:
            return 200, {}, {"prompt": Tokenizer(self.tokenizer).load().decode(body["tokens"])}
        if route in (LOAD, DETOKENIZE):
            return 404, {}, {"detail": "Not Found"}
        return self._completed(route, body, key)

    def _completed(self, route: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], Any]:
        assert route == COMPLETIONS
        model, tokens = body["model"], body["prompt"]
        assert isinstance(tokens, list)
        assert all(isinstance(token, int) for token in tokens)
        with self.lock:
            self.wrote.append((model, tuple(tokens)))
        adapted = model in self.adapters
        weights = digest(self.adapters[model]) if adapted else ""
        asked = {**body, "model": self.models[0] if adapted else model, "prompt": f"{weights}{tokens}"}
        return super().answer(route, asked, key)

    def _load(self, name: str, told: str) -> tuple[int, dict[str, str], Any]:
        with self.lock:
            if name in self.adapters:
                return 400, {}, _refused(f"The lora adapter '{name}' has already been loaded.", 400)
            path = self._seen(told)
            if not (path / "adapter_config.json").is_file():
                return 404, {}, _refused(f"No adapter found for {told}", 404)
            rank = json.loads((path / "adapter_config.json").read_bytes())["r"]
            if rank > self.largest_rank:
                return 500, {}, _refused(f"LoRA rank {rank} is greater than max_lora_rank {self.largest_rank}.", 500)
            self.adapters[name] = path
            self.loaded.append(name)
        return 200, {}, f"Success: LoRA adapter '{name}' added successfully."

    def _seen(self, told: str) -> Path:
        here = next((folder for folder in self.sees if told.startswith(folder)), None)
        return Path(told) if here is None else self.sees[here] / told.removeprefix(here).strip("/")


def digest(adapter: Path) -> str:
    """Return the digest of an adapter's weights."""
    return hashlib.sha256((adapter / "adapter_model.safetensors").read_bytes()).hexdigest()


def _refused(message: str, status: int) -> dict[str, Any]:
    return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}
