"""A real run of DPPrefSyn on a table of pairs, with the bundled models: pairs that TRL reads, a policy, a report."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedtext.evaluation.membership import gaussian_ceiling
from fedtext.evaluation.win_rate import RuleJudge, wins
from fedtext.models.language_model import LanguageModel
from tests.end_to_end.conftest import kedro, params
from tests.words import WORDS

HARBOUR = [*WORDS, "ferry", "harbour", "tide", "anchor", "pilot"]
SECRET, PUBLIC = "heliotrope", "03_primary/public_prompts.parquet"


def table(path: Path, clients: int = 60) -> Path:
    """Pairs of clients who like long answers; every private text has a word that no public one has.

    The only pair of each of the last ten clients has no prompt: it is no preference, and must not stop the run.
    """
    rng, rows = np.random.default_rng(0), []
    for number in range(clients):
        for _ in range(rng.integers(1, 4)):
            prompt, short = " ".join(rng.choice(HARBOUR, 6)), f"{SECRET} {' '.join(rng.choice(HARBOUR, 8))}"
            rows.append((prompt, f"{short} {' '.join(rng.choice(HARBOUR, 10))}", short, f"person {number:02d}"))
    rows += [("", f"{SECRET} tide", f"{SECRET} gull", f"nobody asked {number}") for number in range(10)]
    pd.DataFrame(rows, columns=["prompt", "chosen", "rejected", "client_id"]).to_csv(path, index=False)
    return path


def job(root: Path, **more: object) -> list[str]:
    given = {"data_root": root, "privacy__noise_seed": 7, "corpus__source": "table", **more}
    return ["run", "--env", "tiny", "--pipelines", "dpprefsyn", "--params", params(**given)]


@pytest.mark.slow  # at every commit the next test runs the same job on made-up annotators
def test_a_tiny_run_ends_in_pairs_that_trl_reads_and_a_policy(tmp_path: Path) -> None:
    root, path = tmp_path / "dpprefsyn", table(tmp_path / "pairs.csv")
    given = {"corpus__path": path, "corpus__declared_public": "true", "policies__controls": "longest_policy"}
    done = kedro(*job(root, dpprefsyn__alignment="sft_dpo", **given))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    made, reported = root / "07_model_output" / "dpprefsyn", root / "08_reporting" / "dpprefsyn"
    pairs = pd.read_parquet(made / "preference.parquet")
    assert len(pairs) >= 6
    assert SECRET not in pairs.to_csv()
    assert trl_reads(made / "preference.parquet", tmp_path) == len(pairs)
    report = json.loads((reported / "privacy_report.json").read_text())
    assert [(release["name"], release["round"]) for release in report["releases"]] == [("dpprefsyn.heads", 1)]
    assert report["epsilon"] <= 8.0 + 1e-9
    card = json.loads((reported / "scorecard.json").read_text())
    assert card["accuracy"]["measures"] == ["pairwise_accuracy", "pairwise_drawn"]
    assert card["accuracy"]["conditions"]["longer"]["pairwise_accuracy"] == 1.0
    assert set(card["win_rates"]["conditions"]) == {"policy", "longest_policy", "untuned"}
    assert "a reward model by words, right on" in card["win_rates"]["judge"]
    page = (reported / "report.html").read_text()
    assert "Preference pairs" in page
    assert SECRET not in page
    policy = LanguageModel("bundled:generator").with_adapter(made / "policy")
    assert policy.load()[0] is not None


@pytest.mark.slow
def test_another_model_than_the_writer_of_candidates_is_aligned_with_all_of_its_weights(tmp_path: Path) -> None:
    root, path = tmp_path / "downstream", table(tmp_path / "pairs.csv")
    given = {"corpus__path": path, "corpus__declared_public": "true", "policies__controls": "''"}
    whole = {"models__downstream": "bundled:on_device", "dpprefsyn__preference__lora": "null"}
    given["policies__against_people"] = "true"
    done = kedro(*job(root, dpprefsyn__alignment="sft_dpo", **given, **whole))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    made, reported = root / "07_model_output" / "dpprefsyn", root / "08_reporting" / "dpprefsyn"
    assert (made / "policy" / "all_weights.safetensors").is_file()
    aligned, _ = LanguageModel("bundled:on_device").with_adapter(made / "policy").load()
    as_it_was, _ = LanguageModel("bundled:on_device").load()
    moved = dict(as_it_was.named_parameters())
    assert all(not one.equal(moved[name]) for name, one in aligned.named_parameters())
    page = unescape((reported / "report.html").read_text())
    assert "bundled:on_device" in page
    assert "Against the answers that people chose the policy's win" in page
    people = json.loads((reported / "people.json").read_text())
    assert set(people["conditions"]) == {"policy", "untuned"}
    asked = pd.read_parquet(made / "test_prompts.parquet")
    assert SECRET in asked["chosen"].iloc[0]  # they are public here, as declared
    assert people["prompts"] == len(asked) == 6


@pytest.mark.slow
def test_made_up_annotators_end_in_win_rates_by_their_rule(tmp_path: Path) -> None:
    root = tmp_path / "annotators"
    measured = {
        "corpus__source": "docstrings",
        "policies__membership__measured": "true",
        "policies__against_people": "true",
        "policies__controls": "sft_only random_policy",
    }
    done = kedro(*job(root, **measured))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    made, reported = root / "07_model_output" / "dpprefsyn", root / "08_reporting" / "dpprefsyn"
    pairs, trained = pd.read_parquet(made / "preference.parquet"), pd.read_parquet(root / PUBLIC)
    assert list(pairs.columns) == ["prompt", "chosen", "rejected", "gap"]
    assert set(pairs["prompt"]) <= set(trained["prompt"])
    asked = pd.read_parquet(made / "held_out_prompts.parquet")["prompt"]
    assert len(asked) == 6
    assert not set(asked) & set(trained["prompt"])
    rates = json.loads((reported / "win_rates.json").read_text())
    sharpness = json.loads((root / "03_primary" / "pairs" / "sharpness.json").read_text())["sharpness"]
    ours, theirs = (pd.read_parquet(made / f"answers_{name}.parquet")["text"] for name in ("policy", "untuned"))
    exact = wins(RuleJudge(sharpness), asked.tolist(), ours.tolist(), theirs.tolist()).mean()
    assert rates["conditions"]["policy"]["win_rate"] == pytest.approx(exact)
    assert set(rates["against"]) == {"sft_only", "random_policy", "untuned"}
    people = json.loads((reported / "people.json").read_text())
    tested = pd.read_parquet(made / "test_prompts.parquet")
    own = pd.read_parquet(made / "test_answers_policy.parquet")["text"]
    exact = wins(RuleJudge(sharpness), tested["prompt"].tolist(), own.tolist(), tested["chosen"].tolist()).mean()
    assert people["conditions"]["policy"]["people_win_rate"] == pytest.approx(exact)
    membership = json.loads((reported / "membership.json").read_text())
    assert membership["ceiling"] == pytest.approx(gaussian_ceiling(8.0, 1e-3), abs=1e-3)
    page = unescape((reported / "report.html").read_text())
    assert "made-up annotators" in page
    assert "The policy's answers" in page
    assert "with an AUC of" in page
    assert "6 of 6 held-out prompts, evenly spaced" in page
    assert all(prompt in page for prompt in asked)


@pytest.mark.slow
def test_clusters_of_made_up_annotators_are_counted_beside_a_neural_reward_model(tmp_path: Path) -> None:
    root = tmp_path / "clusters"
    clustered = {
        "form": "clustered",
        "heads": 2,
        "heads_by": "difference",
        "projection": "private",
        "alignment": "none",
    }
    asked = {f"dpprefsyn__{name}": value for name, value in clustered.items()}
    asked |= {"corpus__source": "docstrings", "policies__neural_reward__measured": "true"}
    done = kedro(*job(root, **asked))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    reported = root / "08_reporting" / "dpprefsyn"
    found = json.loads((reported / "purity.json").read_text())
    assert len(found["clusters"]) == 2
    assert sum(own["pairs"] for own in found["clusters"]) == found["pairs"] > 0
    assert found["largest"] <= found["purity"] <= 1.0
    accuracy = json.loads((reported / "scorecard.json").read_text())["accuracy"]["conditions"]
    assert {"preferences", "neural_reward", "longer", "shorter"} <= set(accuracy)
    assert 0.0 <= accuracy["neural_reward"]["pairwise_accuracy"] <= 1.0
    page = unescape((reported / "report.html").read_text())
    assert "a neural reward model of the pairs themselves" in page
    assert "of practical annotators" in page


def trl_reads(file: Path, scratch: Path) -> int:
    """How many pairs TRL's DPOTrainer takes of the file, read as it is."""
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    model, tokenizer = LanguageModel("bundled:generator").load()
    trainer = DPOTrainer(
        model=model,
        args=DPOConfig(output_dir=str(scratch), report_to="none", use_cpu=True, bf16=False),
        train_dataset=Dataset.from_parquet(str(file), cache_dir=str(scratch)),
        processing_class=tokenizer,
    )
    return len(trainer.train_dataset)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "corpus.path is not set"),
        ({"corpus__path": "/nowhere/pairs.csv"}, "is not a file"),
        ({"corpus__source": "banking77", "corpus__path": "pairs.csv"}, "has no preference pairs"),
        ({"dpprefsyn__answers": 1}, "dpprefsyn.answers"),
        ({"dpprefsyn__form": "clustered"}, "dpprefsyn.form is clustered"),
        ({"dpprefsyn__form": "public"}, "name a file of public pairs"),
        ({"policies__judge": "rule"}, "only made-up annotators"),
        ({"policies__against_people": "true"}, "corpus.declared_public=true if this corpus is public"),
        (
            {"corpus__source": "docstrings", "policies__sampler__prompt": "chat"},
            "asks the downstream model in messages",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(tmp_path: Path, cli, wrong: dict[str, object], said: str) -> None:
    done = cli(*job(tmp_path / "none", **wrong))
    assert done.code != 0
    assert said in done.text
    assert "Traceback" not in done.text
