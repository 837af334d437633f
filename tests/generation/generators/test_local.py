"""Weights on this machine as a generator: the same texts as sampling gives, messages in the model's own template."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fedtext.generation.decoding import decode
from fedtext.generation.generators import local
from fedtext.generation.generators.local import LocalGenerator, sample_responses
from fedtext.models.generator import Framing, Generator, TrainableGenerator
from fedtext.models.language_model import LanguageModel, Tokenizer
from fedtext.params.generation import Sampler
from fedtext.system.finished_pieces import keeping_pieces
from tests.parameters import conf_base
from tests.refusals import refuses

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SAMPLER = conf_base(Sampler, max_new_tokens=6)


@pytest.fixture
def directory(tmp_path: Path, llama: Any, tokenizer: Any) -> Path:
    llama.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def talking(directory: Path) -> LocalGenerator:
    tokenizer = LanguageModel(str(directory)).tokenizer()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(directory)
    return LocalGenerator(str(directory))


PLAIN, CHAT = Framing(closing="\n"), Framing(chat=True, opening='Here:\n\n"', closing='"')


def write(generator: LocalGenerator, *, framing: Framing = PLAIN, seed: int = 3) -> list[list[str]]:
    return generator.write(
        ["a list", "the value"], framing=framing, responses=2, sampler=SAMPLER, seed=seed, label="texts"
    )


def test_it_writes_what_sampling_writes_and_can_be_trained(directory: Path) -> None:
    generator = LocalGenerator(str(directory))
    assert isinstance(generator, Generator)
    assert isinstance(generator, TrainableGenerator)
    model, tokenizer = generator.load()
    asked = {"responses": 2, "sampler": SAMPLER, "seed": 3}
    assert write(generator) == sample_responses(model, tokenizer, ["a list", "the value"], **asked)
    assert write(generator, seed=4) != write(generator)


def test_an_own_temperature_goes_before_the_sampler_s(directory: Path) -> None:
    cold = LocalGenerator(str(directory), temperature=1e-5)
    assert {len(set(row)) for row in write(cold)} == {1}
    assert {len(set(row)) for row in write(LocalGenerator(str(directory)))} == {2}
    assert cold.identity == f"{directory}, temperature 1e-05"
    assert cold.with_adapter(Path("x/lora")).identity == f"{directory}, adapter lora, temperature 1e-05"


def test_messages_go_into_the_model_s_own_template_once_begun(talking: LocalGenerator) -> None:
    (begun,) = talking.completion_prompts(["Write."], CHAT)
    tokenizer = talking.tokenizer()
    assert begun.endswith('<user>Write.<assistant>Here:\n\n"')
    assert tokenizer(begun)["input_ids"].count(tokenizer.bos_token_id) <= 1
    assert talking.completion_prompts(["Write."], PLAIN) == ["Write."]
    assert talking.ending(PLAIN) == "\n"
    assert talking.ending(CHAT) == f'"{tokenizer.eos_token}'
    assert write(talking, framing=CHAT) != write(talking)


def test_a_model_without_a_template_is_refused_in_one_sentence(directory: Path) -> None:
    with refuses("no-chat-template") as refused:
        write(LocalGenerator(str(directory)), framing=CHAT)
    assert "\n" not in str(refused.value)


def test_lengths_are_counted_in_the_named_tokenizer_s_tokens(directory: Path) -> None:
    text = "returns the value of an error"
    own, other = LocalGenerator(str(directory)), LocalGenerator(str(directory), measure=Tokenizer("bundled:generator"))
    assert len(own.length_tokenizer()(text)["input_ids"]) != len(other.length_tokenizer()(text)["input_ids"])


PROMPTS = [f"{word} a list" for word in ("return", "read", "call", "raise", "find", "make", "sort", "take")]
KILLED = """
import sys
from pathlib import Path
from fedtext.generation.generators import local
from fedtext.system.finished_pieces import keeping_pieces
from tests.generation.generators.test_local import eight_batches

decode = local.decode

def slow(*args, **kwargs):
    import time
    time.sleep(1.0)
    return decode(*args, **kwargs)

local.decode = slow
with keeping_pieces(Path(sys.argv[1])):
    eight_batches(sys.argv[2])
"""


def eight_batches(directory: str) -> list[list[str]]:
    sampler = conf_base(Sampler, max_new_tokens=6, batch_size=2)
    return LocalGenerator(directory).write(PROMPTS, framing=PLAIN, responses=2, sampler=sampler, seed=3, label="texts")


def test_after_kill_9_the_batches_under_way_are_decoded_again_and_no_other(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, decoded = eight_batches(str(directory)), []
    pieces = tmp_path / "pieces"
    run = subprocess.Popen([sys.executable, "-c", KILLED, str(pieces), str(directory)])
    until = time.monotonic() + 300

    def kept() -> int:
        return sum(file.read_bytes().count(b"\n") for file in pieces.glob("*.jsonl"))

    while kept() < 3 and time.monotonic() < until:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    before = kept()
    assert 3 <= before < len(PROMPTS)

    def noted(*args: Any, **kwargs: Any) -> Any:
        decoded.append(1)
        return decode(*args, **kwargs)

    monkeypatch.setattr(local, "decode", noted)
    with keeping_pieces(pieces):
        assert eight_batches(str(directory)) == whole
        assert len(decoded) == len(PROMPTS) - before
        assert eight_batches(str(directory)) == whole
        assert len(decoded) == len(PROMPTS) - before
