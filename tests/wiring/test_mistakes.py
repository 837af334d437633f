"""What people type wrong: one sentence that names the thing and the remedy, an exit code, and no private data read.

A mistake of each kind goes through Kedro's own command line in this process, as a user's does, with `--env tiny`; a
traceback is an error here, for the command line would have raised instead of exiting. The others of its kind are asked
of the function that refused the first, which takes milliseconds and not seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click import UsageError

os.environ["FEDTEXT_TRACKING"] = "off"  # before the settings are imported

from kedro.framework import project
from kedro.framework.cli.cli import KedroCLI
from kedro.framework.startup import bootstrap_project
from safetensors.torch import save

from fedtext.cli import BEFORE, open_at_the_steps, run
from fedtext.corpora import table as tables
from fedtext.models.language_model import place_of
from fedtext.models.source import SHIPPED, check_model_files
from fedtext.params.corpus import Corpus
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare.children import merged
from fedtext.pipelines.sources import nodes as sources
from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refusal
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.hooks.preflight import check_names
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.session import check_choice
from tests.parameters import HOMES, conf_base, parameters

ROOT = Path(__file__).parents[2]
LONG = "some words that are long enough to be a text of their own, number"
SECRET = "the patient in room seven"
Told = tuple[int, str]


@pytest.fixture
def private_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which private sources were read, by the nodes that read them; docstrings take seconds, so they are not parsed."""
    read: list[str] = []

    def not_parsed(corpus: object) -> pd.DataFrame:
        read.append("docstrings")
        raise AssertionError("private text was read")

    def read_table(corpus: object) -> pd.DataFrame:
        read.append("table")
        return tables.read_table(corpus)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "stdlib_records", not_parsed)
    monkeypatch.setattr(sources, "read_table", read_table)
    return read


@pytest.fixture
def said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, private_reads: list[str]
) -> Iterator[Callable[..., Told]]:
    """`kedro ARGUMENTS` in this process: its exit code, and what it wrote."""
    monkeypatch.setenv("FEDTEXT_PROGRESS", "0")
    monkeypatch.chdir(ROOT)

    def entered(*arguments: str) -> Told:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            KedroCLI(project_path=ROOT).main(list(arguments))
        written, complained = capfd.readouterr()
        return int(left.value.code or 0), written + complained

    yield entered
    ProjectConfigLoader.active = None


def is_refused(told: Told, *words: str, code: int = 1) -> None:
    """One sentence (or a line a reason), the thing and the remedy in it, and nothing about resuming."""
    exit_code, text = told
    lines = [line for line in text.splitlines() if line and " INFO " not in line]
    assert exit_code == code, text
    assert "Traceback" not in text
    assert "run the same command to resume" not in text, text
    sentence = [line for line in lines if line.startswith("Error: ")]
    assert len(sentence) == 1, text
    rest = lines[lines.index(sentence[0]) + 1 :]
    assert all(line.startswith("  - ") for line in rest), text
    assert len(rest) <= 5, text
    for word in words:
        assert word in text, f"{word!r} not in:\n{text}"
    assert SECRET not in text


COMMANDS = [  # options of `kedro run`
    ("--env tinny", "environment 'tinny'", "did you mean 'tiny'?"),
    ("--pipelines popry", "no pipeline is named 'popry'", "did you mean 'popri'?"),
    ("--to-nodes x", "--to-nodes x: no node has this name", "kedro registry describe"),
    ("--load-versions x:1", "--load-versions x", "no data set has this name"),
    ("--runner SequentailRunner", "no runner is named 'SequentailRunner'", "did you mean 'SequentialRunner'?"),
    ("--runner ThreadRunner", "ThreadRunner keeps no history of releases", "leave --runner out"),
    ("--params popri.round=3", "popri.round is no parameter", "did you mean 'rounds'?"),
    ("--params rounds=3", "rounds is no parameter", "'pe.rounds'"),
    ("--pipelines dpprefsyn --params policies.prompts=1", "policies.prompts is 1", "greater than or equal to 2"),
    ("--params popri=3", "popri is 3", "popri.NAME=VALUE"),
    ("--params corpus=table", "corpus is 'table'", "corpus.NAME=VALUE"),
    ("--params privacy.epsilon=0", "privacy.epsilon is 0", "greater than 0"),
    ("--params privacy.enrolment=/nowhere", "privacy.enrolment /nowhere is not a file", "one client id a line"),
    ("--params popri.rounds=100000", "popri.rounds is 100000", "from 1 to 200"),
    ("--params generation.prompt=lists", "generation.prompt is 'lists'", "did you mean 'list'?"),
    ("--params compare.algorithms=popry", "compare.algorithms names popry", "did you mean 'popri'"),
    ("--params corpus.source=tabel", "corpus.source is 'tabel'", "did you mean 'table'?"),
    ("--params corpus.source=[table]", "corpus.source is ['table']", "did you mean 'table'?"),
    ("--params corpus.source=table", "corpus.path is not set", "corpus.path=FILE"),
    ("--params corpus.source=squad,corpus.path=conf", "conf is of another form (a directory)", "give that, or a table"),
    ("--params corpus.source=imdb,corpus.path=/nowhere", "corpus.path /nowhere is not there", "check the path"),
    ("--pipelines contamination", "contamination needs a snapshot", "contamination.cutoff=2024-06-30"),
    ("--pipelines largefedbench_export", "an export needs a snapshot", "export.config=congress"),
    ("--params corpus.source=snapshot", "corpus.source 'snapshot' needs a snapshot", "corpus.config=congress"),
    ("--params chunking.length=5000", "chunking.length is 5000", "make it smaller"),
    (
        "--pipelines pe_sft --params chunking.length=250",
        "pe_sft lists 6 samples of chunking.length 250, up to 1854 tokens",
        "'generator' reads 1024 at once: lower chunking.length to 111, or choose a generator",
    ),
    (
        "--pipelines popri --params chunking.length=330",
        "popri lists 3 samples of chunking.length 330, up to 1372 tokens",
        "'generator' reads 1024 at once: lower chunking.length to",
    ),
    (
        "--pipelines wasp --params wasp.shown=12,chunking.length=100",
        "wasp lists 12 samples of chunking.length 100, up to 1500 tokens",
        "lower chunking.length to",
    ),
    ("--params corpus.description=คำถามของลูกค้าธนาคาร,models.generator=smollm2", "100%", "of corpus.description"),
    (
        "--params corpus.description=mails,corpus.openings=患者主诉;术后,models.generator=smollm2",
        "encoder 'offline' does not know",
        "corpus.openings together",
    ),
    ("--params data_root=", "data_root is empty", "name a directory"),
    ("--params popri.seed=18446744073709551616", "popri.seed is 18446744073709551616", "less than 4294967296"),
    ("--params evaluation.seed=-1", "evaluation.seed is -1", "greater than or equal to 0"),
    ("--params popri.seed=1.5", "popri.seed is 1.5", "integer"),
    ("--params popri.sampler.temperature=1e-39", "popri.sampler.temperature is 1e-39", "greater than or equal to"),
    ("--params partition.alpha=.inf", "partition.alpha is inf", "finite number"),
    ("--params privacy.epsilon=.inf", "privacy.epsilon is inf", "above nobody is protected"),
    ("--params corpus.description=mails,privacy.epsilon", "privacy.epsilon has no value", "write privacy.epsilon="),
    ("--params popri.seed=3,privacy.delta,popri.rounds=1", "privacy.delta has no value", "write privacy.delta="),
]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("arguments", "thing", "remedy"), COMMANDS, ids=[one[0] for one in COMMANDS])
def test_commands(
    said: Callable[..., Told], private_reads: list[str], tmp_path: Path, arguments: str, thing: str, remedy: str
) -> None:
    options = arguments.split()
    if "--env" not in options:
        options += ["--env", "tiny"]
    if "data_root=" not in arguments:
        root = f"data_root={tmp_path}"
        place = options.index("--params") + 1 if "--params" in options else None
        options = [*options, "--params", root] if place is None else options
        if place is not None:
            options[place] += f",{root}"
    is_refused(said("run", *options), thing, remedy)
    assert not private_reads


SCRIPTS = [  # public texts that the encoder cannot tell apart
    ("thai", "แม่หากุญแจทุกวันจันทร์ หมอส่งยาตอนเช้า"),
    ("khmer", "ខ្ញុំបានបាត់កាតរបស់ខ្ញុំ"),
    ("burmese", "ကျွန်တော့်ကတ်ပျောက်သွားသည်"),
    ("chinese", "我昨天在银行取消了我的信用卡但是还没有收到确认邮件"),
    ("emoji", "🙂🙃🥲 🫠"),
]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("text", [text for _, text in SCRIPTS], ids=[name for name, _ in SCRIPTS])
@pytest.mark.parametrize("pipeline", ["popri", "pe", "wasp"])
def test_public_texts_in_a_script_that_the_encoder_does_not_know(
    said: Callable[..., Told], private_reads: list[str], tmp_path: Path, text: str, pipeline: str
) -> None:
    public, private = tmp_path / "public.csv", tmp_path / "private.csv"
    public.write_text("text\n" + "".join(f"{text} {number}\n" for number in range(30)))
    private.write_text("client_id,text\n" + "".join(f"c{number},{text} {number}\n" for number in range(30)))
    told = said(
        *("run", "--env", "tiny", "--pipelines", pipeline, "--params"),
        f"data_root={tmp_path / 'data'},corpus.source=table,corpus.path={private},corpus.public_path={public},"
        "privacy.population=30",
    )
    is_refused(told, "encoder 'offline' does not know", f"of corpus.public_path {public}", "models.encoder=")
    assert not private_reads


CHOICES = [
    ({"pipeline_names": ["dp_fedagv"]}, "'dp_fedagv'", "did you mean 'dp_fedavg'?"),
    ({"pipeline_names": ["popri", "qqqqq"]}, "no pipeline is named 'qqqqq'", "kedro registry list"),
    ({"to_nodes": ["popri.strat_state"]}, "--to-nodes popri.strat_state", "did you mean 'popri.start_state'"),
    ({"from_nodes": ["split_sample"]}, "--from-nodes split_sample", "did you mean 'split_samples'?"),
    ({"node_names": ["embed_test_samples"]}, "--nodes embed_test_samples", "'evaluation.embed_test_samples'"),
    ({"from_inputs": ["public_record"]}, "--from-inputs public_record", "'public_records'"),
    ({"to_outputs": ["populatoin"]}, "--to-outputs populatoin", "did you mean 'population'?"),
    ({"tags": ["x"]}, "--tags x: no tag has this name", "choose one of"),
    ({"tags": ["relese"]}, "--tags relese: no tag has this name", "did you mean 'release'?"),
    ({"namespaces": ["popry"]}, "--namespaces popry", "did you mean 'popri'?"),
    ({"tags": ["release"], "node_names": ["popri.start_state"]}, "no node in common", "leave one of them out"),
]


@pytest.fixture(scope="module")
def graph() -> Iterator[None]:
    """The registered pipelines of conf/base."""
    bootstrap_project(ROOT)
    loader_for("tiny", {})
    project.pipelines.keys()
    yield
    ProjectConfigLoader.active = None


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(("chosen", "thing", "remedy"), CHOICES, ids=[one[1] for one in CHOICES])
def test_choices(chosen: dict[str, list[str]], thing: str, remedy: str) -> None:
    with pytest.raises(RunRefusedError) as refusal:
        check_choice(chosen)
    is_refused((1, f"Error: {refusal.value}"), thing, remedy)


NAMES = [
    ({"description": "notes"}, "description is no parameter", "did you mean 'corpus.description'"),
    ({"models": {"generatr": "x"}}, "models.generatr is no parameter of models", "did you mean 'generator'?"),
]


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(("given", "thing", "remedy"), NAMES, ids=[one[1] for one in NAMES])
def test_names(given: dict[str, Any], thing: str, remedy: str) -> None:
    with pytest.raises(RunRefusedError) as refusal:
        check_names(given)
    is_refused((1, f"Error: {refusal.value}"), thing, remedy)


ROUNDS = [
    ("many", "popri.rounds is 'many'", "whole number"),
    (0, "popri.rounds is 0", "from 1 to 200"),
]


@pytest.mark.parametrize(("rounds", "thing", "remedy"), ROUNDS, ids=[one[1] for one in ROUNDS])
def test_rounds(rounds: object, thing: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProjectConfigLoader, "active", None)  # and again afterwards
    settings = Settings(loader_for("tiny", {"popri": {"rounds": rounds}}))
    with pytest.raises(FedtextError) as refusal:
        settings.rounds("popri")
    is_refused((1, f"Error: {refusal.value}"), thing, remedy)


VALUES = [
    # names
    ("popri.epsilon=1", "popri.epsilon is no parameter", "'privacy.epsilon'"),
    ("popri.sampler.temprature=1", "popri.sampler.temprature", "did you mean 'temperature'?"),
    ("popri.preference.lora.rnk=1", "popri.preference.lora.rnk", "did you mean 'rank'?"),
    ("corpus.text_colum=x", "corpus.text_colum", "did you mean 'text_column'?"),
    ("privacy.zzzzz=1", "privacy.zzzzz is no parameter", "conf/base has them all"),
    (
        "corpus.source=table,corpus.path=x.csv,corpus.client_column=text",
        "corpus.text_column and corpus.client_column are both 'text'",
        "name the column of the texts",
    ),
    # the budget
    ("privacy.epsilon=0", "privacy.epsilon is 0", "greater than 0"),
    ("privacy.epsilon=-1", "privacy.epsilon is -1", "greater than 0"),
    ("privacy.epsilon=1e-9", "privacy.epsilon is 1e-09", "give a number from 0.0001 to 1e+15"),
    ("privacy.epsilon=inf", "privacy.epsilon is inf", "give a number"),
    ("privacy.epsilon=.inf", "privacy.epsilon is inf", "give a number"),
    ("privacy.epsilon=nan", "privacy.epsilon is 'nan'", "greater than 0"),
    ("privacy.epsilon=eight", "privacy.epsilon is 'eight'", "valid number"),
    ("privacy.epsilon=true", "privacy.epsilon is True", "give a number"),
    ("privacy.epsilon=1:30", "privacy.epsilon is '1:30'", "valid number"),
    ("privacy.population=yes", "privacy.population is True", "give a number"),
    ("privacy.delta=0", "privacy.delta is 0", "greater than 0"),
    ("privacy.delta=2", "privacy.delta is 2", "less than 1"),
    ("privacy.unit=user", "privacy.unit is 'user'", "choose one of client, record"),
    ("privacy.adjacency=replace", "privacy.adjacency is 'replace'", "did you mean 'replace_one'?"),
    ("privacy.aggregation=secured", "privacy.aggregation is 'secured'", "did you mean 'secure'?"),
    ("privacy.sampling=poison", "privacy.sampling is 'poison'", "did you mean 'poisson'?"),
    ("privacy.sampling=poisson", "privacy.clients_per_round is not set", "say how many"),
    ("privacy.clients_per_round=10", "privacy.clients_per_round is 10", "set sampling"),
    ("privacy.honest_fraction=2", "privacy.honest_fraction is 2", "less than or equal to 1"),
    ("privacy.population=0", "privacy.population is 0", "greater than or equal to 1"),
    ("privacy.noise_seed=-1", "privacy.noise_seed is -1", "greater than or equal to 0"),
    ("privacy.noise_seed=abc", "privacy.noise_seed is 'abc'", "integer"),
    ("privacy.population=10,privacy.enrolment=/nowhere/ids.txt", "privacy.population is 10", "give one of the two"),
    # algorithms
    ("popri.seed=-1", "popri.seed is -1", "greater than or equal to 0"),
    ("partition.seed=-1", "partition.seed is -1", "greater than or equal to 0"),
    ("popri.scoring=witnes_rff", "popri.scoring is 'witnes_rff'", "did you mean 'witness_rff'"),
    ("popri.scoring=mean_cosine", "popri.scoring mean_cosine", "need one of mean_embedding"),
    ("popri.responses=3,popri.rejected_rank=4", "popri.rejected_rank is 4", "a smaller rank"),
    ("popri.prompts=0", "popri.prompts is 0", "greater than or equal to 1"),
    (
        "popri.preference.learning_rate=1e9",
        "popri.preference.learning_rate is 1000000000.0",
        "less than or equal to 10",
    ),
    ("evaluation.training.learning_rates=1e9", "evaluation.training.learning_rates", "less than or equal to 10"),
    ("evaluation.training.learning_rates=0.002 0.002", "evaluation.training.learning_rates", "name each once"),
    (
        "evaluation.training.held_out_share=0,evaluation.training.learning_rates=0.002 0.004",
        "evaluation.training.learning_rates are 0.002 0.004",
        "name one rate",
    ),
    ("evaluation.training.held_out_share=0.5", "evaluation.training.held_out_share is 0.5", "less than 0.5"),
    ("popri.preference.loss=dop", "popri.preference.loss is 'dop'", "did you mean 'dpo'"),
    ("popri.sampler.temperature=0", "popri.sampler.temperature is 0", "greater than or equal to"),
    ("popri.sampler.top_p=2", "popri.sampler.top_p is 2", "less than or equal to 1"),
    ("pe.form=augpe", "pe.form is 'augpe'", "did you mean 'aug_pe'?"),
    ("pe.population=2", "pe.population is 2", "greater than or equal to 3"),
    ("pe_sft.shots=survivor", "pe_sft.shots is 'survivor'", "did you mean 'survivors'?"),
    ("dp_ftrl.noise=banden", "dp_ftrl.noise is 'banden'", "did you mean 'banded'?"),
    ("dp_fedavg.server.method=adm", "dp_fedavg.server.method is 'adm'", "did you mean 'adam'?"),
    ("evaluation.top=2", "evaluation.top is '2'", "begin with 1"),
    ("evaluation.priced=false", "evaluation.priced is no parameter", "it is called evaluation.dp now"),
    ("evaluation.dp=maybe", "evaluation.dp is 'maybe'", "boolean"),
    # comparisons
    ("compare.seeds=1 1", "compare.seeds is '1 1'", "name each once"),
    ("compare.seeds=1,2,2", "compare.seeds is '1 2 2'", "name each once"),
    ("compare.seeds=one", "compare.seeds.0 is 'one'", "integer"),
    ("compare.seeds=", "compare.seeds is ()", "name at least 1"),
    # corpora and partitions
    ("corpus.source=docstring", "corpus.source is 'docstring'", "did you mean 'docstrings'?"),
    ("corpus.source=bankin77", "corpus.source is 'bankin77'", "did you mean 'banking77'?"),
    ("contamination.cutoff=soon", "contamination.cutoff is 'soon'", "give a date, as 2024-06-30"),
    ("contamination.cutoff=20217600", "contamination.cutoff is 20217600", "give a date, as 2024-06-30"),
    ("contamination.cutoff='20217600'", "contamination.cutoff is '20217600'", "give a date, as 2024-06-30"),
    ("contamination.cutoff=30.06.2024", "contamination.cutoff is '30.06.2024'", "give a date, as 2024-06-30"),
    ("contamination.cutoff=2024-02-30", "contamination.cutoff is '2024-02-30'", "day value is outside"),
    ("contamination.model=generater", "contamination.model is 'generater'", "did you mean 'generator'?"),
    ("corpus.path=mine.csv", "corpus.path is given", "add corpus.source=table"),
    ("corpus.min_chars=-1", "corpus.min_chars is -1", "greater than or equal to 0"),
    ("corpus.description=.", "corpus.description is empty", "say what the texts are"),
    ("corpus.description=", "corpus.description is empty", "say what the texts are"),
    ("partition.method=idd", "partition.method is 'idd'", "did you mean 'iid'?"),
    ("partition.alpha=0", "partition.alpha is 0", "greater than or equal to"),
    ("partition.test_share=1", "partition.test_share is 1", "less than 1"),
    ("chunking.length=4,chunking.min_tokens=9", "chunking.min_tokens is 9", "lower it"),
]


GROUPS = {home: kind for kind, home in HOMES.items() if "." not in home}


@pytest.mark.parametrize(("given", "thing", "remedy"), VALUES, ids=[one[0] for one in VALUES])
def test_values(given: str, thing: str, remedy: str) -> None:
    faults = parameter_faults(merged(parameters(), as_given(given)), GROUPS)
    is_refused((1, f"Error: {parameters_refusal(faults).message}"), thing, remedy)


def as_given(value: str) -> dict[str, Any]:
    """`--params VALUE` as the command line reads it."""
    found: dict[str, Any] = run.make_context("run", ["--params", value]).params["params"]
    return found


def texts(count: int, each: str = LONG) -> str:
    return "text\n" + "".join(f'"{each} {number}"\n' for number in range(count))


FILES = [  # name, content, further parameters, thing, remedy, whether the private table had to be read
    ("mine.csv", "", "", "mine.csv is empty", "give a file with texts", False),
    ("mine.csv", "text\n", "", "mine.csv holds no rows", "give a file", True),
    ("mine.csv", texts(10), "privacy.population=4", "privacy.population is 4", "raise the share", False),
    ("mine.csv", texts(60), "corpus.public_path=/no.csv", "corpus.public_path /no.csv", "check the path", False),
    (
        "mine.csv",
        texts(60),
        "privacy.population=null",
        "privacy.population is not set",
        "Give privacy.population",
        False,
    ),
    ("mine.csv", texts(60), "privacy.epsilon=4,privacy.total_epsilon=1", "total_epsilon is 1, below", "raise", False),
    ("mine.csv", texts(60), "corpus.client_column=owner", "no column 'owner'", "corpus.client_column", False),
    ("mine.csv", "body,id\na,b\nc,d\n", "", "no column 'text' among its 2", "set corpus.text_column", False),
    ("mine.jsonl", '[{"text": "a"}, {"text": "b"}]', "", "line 1: not a JSON object", "one object", True),
]
TABLES = [
    ("mine.xlsx", "x", "", "unknown suffix '.xlsx'", "use one of .csv, .parquet, .jsonl"),
    ("mine.csv", f'text\n"{SECRET}"\n', "", "mine.csv holds one row only", "more texts"),
    ("mine.csv", f"{SECRET}\n{SECRET}\n", "", "no column 'text' among its 1", "add the header line"),
    ("mine.csv", "body,id\na,b\nc,d\n", "", "no column 'text' among its 2 (body, id)", "set corpus.text_column"),
    ("mine.csv", "txt,id\na,b\nc,d\n", "", "among its 2 (txt, id)", "did you mean 'txt'?"),
    ("mine.csv", "txt;id\na;b\nc;d\n", "", "among its 2 (txt, id)", "did you mean 'txt'?"),
    ("mine.csv", "内容,患者编号\na,b\nc,d\n", "", "among its 2 (内容, ...)", "set corpus.text_column"),
    ("mine.csv", "text\tid\na, b\tb\tc\n", "", "is not valid CSV", "quote texts that hold tabs"),
    ("mine.xlsx", "x", "", "unknown suffix '.xlsx'", "mine.xlsx"),
    ("mine.txt", "text\tid\na\tb\n", "", "unknown suffix '.txt'", "mine.tsv"),
    ("mine.json", "[]", "", "unknown suffix '.json'", "mine.jsonl"),
    ("mine.csv.zip", "x", "", "unknown suffix '.zip'", "unzip"),
    ("mine.csv", "text\n,\n", "", "is not valid CSV", "quote texts"),
    ("mine.csv", "text\n" + f'"{SECRET}"\n' * 60, "", "fewer than 10 different texts", "give a file of more"),
    ("mine.csv", "text\n" + "".join(f"{n}\n" for n in range(60)), "", "no text holds a letter", "text_column"),
    ("mine.csv", "text,client_id\na,x\nb,x\n", "", "names one client only", "corpus.client_column"),
    ("mine.csv", texts(60), "corpus.client_column=owner", "no column 'owner'", "corpus.client_column"),
    ("mine.csv", texts(60), "corpus.label_column=intent", "no column 'intent'", "corpus.label_column"),
    ("mine.csv", "text,Client_ID\na,b\nc,d\n", "", "a column 'Client_ID' and no 'client_id'", "rename it"),
    ("mine.csv", "text,text\na,b\n", "", "2 columns 'text'", "leave one"),
    ("mine.jsonl", '{"text": "a"}\n{', "", "line 2: not valid JSON", "column"),
    ("mine.jsonl", '{"body": "a"}\n', "", "among its 1 (body)", "set corpus.text_column"),
    ("mine.jsonl", '[\n {"text": "a"}\n]\n', "", "line 1: not valid JSON", "column"),
    ("mine.parquet", "no parquet", "", "not a readable Parquet file", "write it again"),
    ("mine.csv", "PK\x03\x04 of a spreadsheet", "", "an archive or a workbook", "save its sheet as CSV"),
    ("mine.csv", "<!DOCTYPE html><p>Sign in, please", "", "a web page", "download the file itself"),
    ("mine.jsonl", "SQLite format 3\x00", "", "a database", "write its rows as CSV"),
    ("mine.csv", "%PDF-1.7", "", "a PDF", "give a table of texts"),
    ("mine.csv", "sep=,\ntext,id\na,b\n", "", "a line before its header", "delete the line"),
]


@pytest.mark.parametrize(
    ("name", "content", "given", "thing", "remedy", "read"), FILES, ids=[f"{one[0]} {one[3]}" for one in FILES]
)
def test_files(
    said: Callable[..., Told], private_reads: list[str], tmp_path: Path, name: str, content: str, given: str, thing: str,
    remedy: str, read: bool,
) -> None:  # fmt: skip
    (tmp_path / name).write_text(content)
    values = f"data_root={tmp_path / 'data'},corpus.source=table,corpus.path={tmp_path / name},{given}"
    values += "" if "population" in given else ",privacy.population=100"
    is_refused(said("run", "--env", "tiny", "--params", values.replace(",,", ",")), thing, remedy)
    assert bool(private_reads) == read
    left = {path.name for path in (tmp_path / "data").rglob("private_*") if path.is_file()}
    assert not left - {"private_records.parquet", "private_noise_key.json"}


@pytest.mark.parametrize(
    ("name", "content", "given", "thing", "remedy"), TABLES, ids=[f"{one[0]} {one[3]}" for one in TABLES]
)
def test_tables(tmp_path: Path, name: str, content: str, given: str, thing: str, remedy: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    told = {"corpus": {"source": "table", "path": str(tmp_path / name)}, "privacy": {"population": 100}}
    groups = merged(parameters(), told, as_given(given) if given else {})
    with pytest.raises(FedtextError) as refusal:
        sources.read_private_table(Corpus.model_validate(groups["corpus"]), Privacy.model_validate(groups["privacy"]))
    is_refused((1, f"Error: {refusal.value}"), thing, remedy)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("popri.rounds=010", "010"),
        ("corpus.client_column=007", "007"),
        ("corpus.description=*a", "*a"),
        ("corpus.description=&a", "&a"),
        ("corpus.description=#a", "#a"),
        ("corpus.description=- a", "- a"),
        ("corpus.description=@a", "@a"),
        ("privacy.epsilon=-1", -1),
        ("privacy.epsilon=0.5", 0.5),
        ("privacy.delta=1e-05", 1e-05),
        ("corpus.client_column=null", None),
    ],
)
def test_a_value_is_read_as_it_is_written(value: str, read: object) -> None:
    """YAML itself takes 010 for 8, 1:30 for 90, and the beginnings of words for marks of its own."""
    (group,) = as_given(value).values()
    assert list(group.values()) == [read]
    assert type(next(iter(group.values()))) is type(read)


def test_ten_rounds_are_ten() -> None:
    assert conf_base(Popri, rounds="010").rounds == 10


@pytest.mark.parametrize("value", ["privacy..epsilon=8", ".privacy.epsilon=8", "privacy.epsilon.=8"])
def test_a_name_with_an_empty_part(value: str) -> None:
    with pytest.raises(UsageError, match="a part of this name is empty"):
        as_given(value)


def test_a_file_s_name_that_is_no_unicode() -> None:
    with pytest.raises(UsageError, match="rename the file"):
        as_given("corpus.source=table,corpus.path=caf\udce9.csv")


def test_items_that_are_wrong_are_no_list_that_is_too_short() -> None:
    faults = parameter_faults(merged(parameters(), as_given("compare.seeds=1-3")), GROUPS)
    assert [str(fault).partition(":")[0] for fault in faults] == ["compare.seeds.0 is '1-3'"]


@pytest.mark.parametrize("value", ["rounds", "3", "=3", ",popri.rounds=3"])
def test_what_is_no_parameter_at_all_is_told_how_to_give_one(said: Callable[..., Told], value: str) -> None:
    code, text = said("run", "--params", value)
    assert code == 2
    assert "give NAME=VALUE" in text


def test_a_value_that_is_given_twice(said: Callable[..., Told]) -> None:
    code, text = said("run", "--params", "popri.seed=1,popri.seed=2")
    assert code == 2
    assert "popri.seed 2 times: give it once" in text


@pytest.mark.parametrize("value", ["popri.labels=[json,email,popri.rounds=1", "popri.labels={json"])
def test_a_list_that_is_not_closed(said: Callable[..., Told], value: str) -> None:
    code, text = said("run", "--params", value)
    assert code == 2
    assert "close its brackets" in text


def test_a_list_may_have_commas_and_a_description_too() -> None:
    assert as_given("popri.labels=json,email,popri.rounds=2") == {"popri": {"labels": "json,email", "rounds": 2}}
    assert as_given("popri.labels=[json,email]") == {"popri": {"labels": ["json", "email"]}}
    assert as_given("corpus.description=questions, as asked") == {"corpus": {"description": "questions, as asked"}}
    assert as_given("corpus.description=notes: of nurses") == {"corpus": {"description": "notes: of nurses"}}
    assert as_given("corpus.description=") == {"corpus": {"description": ""}}
    assert as_given("corpus.description=null") == {"corpus": {"description": None}}
    assert as_given("popri={rounds: 2}") == {"popri": {"rounds": 2}}
    assert conf_base(Popri, labels="json,email").labels == ("json", "email")


@pytest.mark.parametrize(
    ("kind", "source", "thing", "remedy"),
    [
        ("encoder", "offlin", "encoder 'offlin' is not known", "did you mean 'offline'?"),
        ("language model", "smol2", "language model 'smol2' is not known", "did you mean 'smollm2'?"),
        ("language model", "bundled:on_devise", "'on_devise' is not shipped", "did you mean 'on_device'?"),
        ("language model", "/nowhere/model", "'/nowhere/model' is not a directory", "bundled:generator"),
    ],
)
def test_models(kind: str, source: str, thing: str, remedy: str) -> None:
    with pytest.raises(FedtextError) as refusal:
        check_model_files(place_of(source), kind, SHIPPED)
    is_refused((1, f"Error: {refusal.value}"), thing, remedy)


def test_a_model_that_was_cut_short(said: Callable[..., Told], private_reads: list[str], tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for path in (ROOT / "src" / "fedtext" / "bundled" / "on_device").glob("*.json"):
        (model / path.name).write_bytes(path.read_bytes())
    (model / "model.safetensors").write_bytes(save({})[:-1])
    given = f"data_root={tmp_path / 'data'},models.on_device={model}"
    is_refused(said("run", "--env", "tiny", "--params", given), "model.safetensors is cut short", "get it again")
    assert not private_reads


@pytest.mark.parametrize(
    ("arguments", "thing", "remedy"),
    [
        ("viz run --no-browser --pipeline popry", "no pipeline is named 'popry'", "did you mean 'popri'?"),
        ("viz --no-browser --env tinny", "environment 'tinny'", "did you mean 'tiny'?"),
        ("viz run --no-browser --params popri.rounds=100000", "popri.rounds is 100000", "from 1 to 200"),
    ],
)
def test_a_graph_that_cannot_be_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: str, thing: str, remedy: str
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as left:
        BEFORE.before_command_run(bootstrap_project(ROOT), arguments.split())
    is_refused((int(left.value.code or 0), capfd.readouterr().err), thing, remedy)


def test_a_graph_opens_with_its_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every data set it opens at a sixth of its size, and no name can be read."""
    from kedro_viz.launchers import utils

    opened = list[str]()
    monkeypatch.setattr("webbrowser.open_new", opened.append)
    monkeypatch.setattr(utils, "_start_browser", utils._start_browser)  # is put back
    open_at_the_steps()
    utils._start_browser("127.0.0.1", 4141)
    utils._start_browser("example.org", 4141)
    assert opened == ["http://127.0.0.1:4141/?types=nodes"]
