"""POPri over a real SuperLink and three real silos, encrypted and authenticated; one killed, one without budget, one mad.

See tests/silo/flower.py for the environment that it needs.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.release import MeanFeatures, release_private_mean
from fedtext.federation.inquiry import Card, Masked, read_reply
from fedtext.federation.mechanism import planned_sum
from fedtext.federation.query import Query
from fedtext.federation.silos_asked import Silos, Transport, cards_of, parties_of
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.history import release_history
from fedtext.privacy.ledger import Ledger
from fedtext.silo.audit_log import entries
from fedtext.silo.handler import MessageHandler
from fedtext.silo.settings import read_settings
from fedtext.silo.trainings import KEPT
from fedtext.voting.class_means import ClassMeans
from tests.end_to_end.conftest import kedro, params
from tests.golden.test_same_bytes import made_up
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.silo.examples import CODES, DIM, NAMES, InProcess, popri
from tests.silo.flower import ENVIRONMENT, LIAR, STRONG, Place, federation
from tests.silo.test_pairwise_masks import uniform_p_value

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
DECLARED = conf_base(Privacy, epsilon=2.0, delta=1e-5, aggregation="local")
SECURE = DECLARED.model_copy(update={"aggregation": "secure", "honest_fraction": 0.7})
MEANS = ClassMeans(labels=CODES)
FLEXIBLE: dict[str, object] = {"flexible__labels": " ".join(CODES)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with federation(tmp_path_factory.mktemp("flower")) as found:
        yield found


@dataclass
class Overhearing:
    """A transport that keeps what the server was sent."""

    transport: Transport
    replies: Sequence[bytes] = ()

    def ask(self, message: bytes, wanted: int) -> Sequence[bytes]:
        self.replies = self.transport.ask(message, wanted)
        return self.replies


def ledger(cards: tuple[Card, ...]) -> Ledger:
    parties = parties_of(cards, DECLARED.epsilon)
    return Ledger(declaration=DECLARED, population=30, parties=parties)


def query(name: str, noise: float = 6.0) -> Query:
    return Query(name, 1, DIM * len(CODES), 1.0, noise)


def outcomes(place: Place, name: str, asked: str, since: int = 0) -> list[str]:
    return [one.outcome for one in entries(own(place, name))[since:] if one.name == asked]


def own(place: Place, silo: str) -> Path:
    return place.folder / f"{silo}-own"


def desks_of_copies(place: Place, to: Path) -> InProcess:
    """The silos' own keys, tables and embeddings in one process, with ledgers that are empty again."""
    copied = shutil.copytree(place.folder, to, ignore=shutil.ignore_patterns(".fedtext", "state", "server", "flower"))
    return InProcess(*(MessageHandler(read_settings(Path(copied) / f"{name}.yml"), Path(copied)) for name in NAMES))


def run(place: Place, root: Path, algorithm: str, aggregation: str, **told: object) -> None:
    """Run an algorithm on the silos' text, at tiny size, with public texts that `made_up` writes."""
    root.mkdir(exist_ok=True)
    made_up(50, seed=2).to_csv(root / "public.csv", index=False)
    common = {
        "data_root": root / "data", "corpus__source": "silos", "corpus__public_path": root / "public.csv",
        "federation__engine": "flower", "federation__silos": 3, "federation__superlink": f"127.0.0.1:{place.port}",
        "federation__flwr": ENVIRONMENT / "bin" / "flwr", "federation__root_certificates": place.certificate,
        "privacy__aggregation": aggregation, "privacy__honest_fraction": 0.7 if aggregation == "secure" else 1.0,
        "privacy__epsilon": 1.0, "privacy__delta": 1e-5, "chunking__min_tokens": 4,
    }  # fmt: skip
    done = kedro("run", "--env", "tiny", "--pipelines", algorithm, "--params", params(**common, **told))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert len(pd.read_parquet(root / "data" / "07_model_output" / algorithm / "synthetic.parquet"))


def report(root: Path, algorithm: str) -> str:
    return (root / "data" / "08_reporting" / algorithm / "privacy_report.md").read_text()


def test_popri_end_to_end_releases_the_sum_of_one_process_and_a_resumed_run_asks_nobody(
    place: Place, tmp_path: Path
) -> None:
    for _ in range(2):
        run(place, tmp_path, "popri", "local")
    log = (tmp_path / "data" / ".fedtext" / "run.log").read_text()
    again = ["repeated"] if "libraries changed" in log else []  # by somebody else, between the two runs
    for name in NAMES:
        assert outcomes(place, name, "popri.mean_features") == ["answered", *again]
        made = [one.name for one in release_history(own(place, name)) if one.name.startswith("popri.")]
        assert made == ["popri.mean_features"]
    assert "saw each silo's noised sums and no text" in report(tmp_path, "popri")

    released = np.asarray(next(iter(load_file(next((tmp_path / "data").rglob("*released_mean.safetensors"))).values())))
    tiny = {"rounds": 2, "prompts": 6, "responses": 4, "rejected_rank": 4, "pool_minimum": 60, "random_features": 128}
    parameters = conf_base(Popri, {**tiny, "synthetic_texts": 60, "oversample": 1.5})
    transport = desks_of_copies(place, tmp_path / "copies")
    one = conf_base(Privacy, epsilon=1.0, delta=1e-5, aggregation="local")
    opened = Ledger(declaration=one, population=30, parties=parties_of(cards_of(transport, 3), 1.0))
    asked = planned_query(parameters, one, 30, embedding_dim=DIM, round_number=0)
    again, _ = release_private_mean(asked, Silos(transport), parameters, opened)
    assert released.tobytes() == again.tobytes()


@pytest.mark.parametrize(
    ("algorithm", "aggregation", "told", "asked"),
    [
        ("pe", "secure", {}, {"pe.histogram": 2}),
        ("wasp", "local", {"wasp__votes": "single_release"}, {"wasp.class_means": 1}),
        ("wasp", "secure", {"wasp__model_sums": True}, {"wasp.votes": 1, "wasp.model_sums": 1}),
        ("flexible", "secure", FLEXIBLE | {"silos__strong": 0}, {"flexible.profile": 1, "flexible.votes": 1}),
    ],
)
def test_every_algorithm_runs_to_its_end_and_each_silo_pays_for_what_was_asked(
    place: Place, tmp_path: Path, algorithm: str, aggregation: str, told: dict[str, object], asked: dict[str, int]
) -> None:
    before = {name: (len(release_history(own(place, name))), len(entries(own(place, name)))) for name in NAMES}
    run(place, tmp_path, algorithm, aggregation, **told)
    for name, (released, noted) in before.items():
        for question, times in asked.items():
            assert outcomes(place, name, question, noted) == ["answered"] * times
        assert len(release_history(own(place, name))) - released == sum(asked.values())
    seen = {"local": "each silo's noised sums", "secure": "the noised sums of all silos together"}[aggregation]
    assert f"stayed with 3 silos, each in a process of its own. This run saw {seen}" in report(tmp_path, algorithm)


def test_a_strong_silo_trains_beside_its_text_and_its_weights_alone_leave(place: Place, tmp_path: Path) -> None:
    run(place, tmp_path, "flexible", "local", **FLEXIBLE, silos__strong=STRONG)
    for name in NAMES:
        others = ["refused"] * 2  # each round is asked of the strong silo alone
        assert outcomes(place, name, "flexible.dp_sgd") == (["answered"] * 2 if name == STRONG else others)
    made = [one.release for one in release_history(own(place, STRONG)) if one.name == "flexible.dp_sgd"]
    assert [(one.round, one.steps, one.rate) for one in made if one] == [(1, 2, 0.6), (2, 2, 0.6)]
    assert len(list((own(place, STRONG) / KEPT).iterdir())) == 2
    assert "one party answers alone" in report(tmp_path, "flexible")


def test_the_sum_over_flower_is_that_of_one_process(place: Place, tmp_path: Path) -> None:
    wide = MeanFeatures(popri=popri("witness_rff"))
    asked = replace(query("test.wide"), dim=66)
    transport = place.transport()
    cards = cards_of(transport, 3)
    over_flower = Silos(transport).summed(asked, wide, ledger(cards))
    in_process = Silos(desks_of_copies(place, tmp_path / "copies")).summed(asked, wide, ledger(cards))
    assert over_flower.sum.tobytes() == in_process.sum.tobytes()
    assert over_flower.ledger == in_process.ledger


def test_a_killed_silo_is_named_and_when_it_is_back_nobody_pays_again(place: Place) -> None:
    cards, asked = cards_of(place.transport(), 3), query("test.killed")
    place.end("west", signal.SIGKILL)
    with refuses("silo-missing", value="west"):
        Silos(place.transport(patience=60.0)).summed(asked, MEANS, ledger(cards))
    place.start_silo("west")
    assert Silos(place.transport()).summed(asked, MEANS, ledger(cards)).ledger.releases
    assert outcomes(place, "north", "test.killed") == ["answered", "repeated"]
    assert outcomes(place, "west", "test.killed") == ["answered"]
    for name in NAMES:
        assert len([one for one in release_history(own(place, name)) if one.name == "test.killed"]) == 1


def test_a_secure_sum_is_that_of_one_process_and_outlives_a_lost_silo(place: Place, tmp_path: Path) -> None:
    """Dropped before it answers, a silo ends the round; the others' words are chance, and repeated at no cost."""
    cards, asked, overheard = cards_of(place.transport(), 3), query("test.secure"), Overhearing(place.transport())
    opened = ledger(cards).model_copy(update={"declaration": SECURE})
    place.end("west", signal.SIGKILL)
    with refuses("silo-missing", value="west"):
        Silos(place.transport(patience=60.0)).summed(asked, MEANS, opened)
    place.start_silo("west")
    over_flower = Silos(overheard).summed(asked, MEANS, opened)
    copies = desks_of_copies(place, tmp_path / "copies")
    assert over_flower.sum.tobytes() == Silos(copies).summed(asked, MEANS, opened).sum.tobytes()
    for name in NAMES:
        assert outcomes(place, name, "test.secure") == ["answered"] + ["repeated"] * (name != "west")
        assert len([one for one in release_history(own(place, name)) if one.name == "test.secure"]) == 1
    words = [reply.words for one in overheard.replies if isinstance(reply := read_reply(one), Masked)]
    bits = planned_sum(asked, SECURE, 30, 3).in_shares(3).message_bits
    assert min(uniform_p_value(one, bits) for one in words) > 1e-4


def test_what_a_silo_s_budget_does_not_pay_is_refused_in_its_own_words(place: Place) -> None:
    cards = cards_of(place.transport(), 3)
    loose = conf_base(Privacy, epsilon=100.0, delta=1e-5, aggregation="local")
    opened = Ledger(declaration=loose, population=30, parties=tuple(
        party.model_copy(update={"epsilon": 100.0}) for party in parties_of(cards, 100.0)
    ))  # fmt: skip
    before = {name: len(release_history(own(place, name))) for name in NAMES}
    with refuses("silo-refuses", value="silo-budget"):
        Silos(place.transport()).summed(query("test.loud", noise=0.1), MEANS, opened)
    assert {name: len(release_history(own(place, name))) for name in NAMES} == before


@pytest.mark.parametrize("lie", ["width", "range", "nan"])
def test_garbage_is_named_and_the_honest_silo_repeats_without_paying(place: Place, lie: str) -> None:
    cards, asked = cards_of(place.transport(), 3), query(f"test.{lie}")
    place.end("south")
    place.start_silo("south", LIAR, LIE=lie)
    with refuses("silo-sent-garbage", value="south"):
        Silos(place.transport()).summed(asked, MEANS, ledger(cards))
    place.end("south")
    place.start_silo("south")
    assert Silos(place.transport()).summed(asked, MEANS, ledger(cards)).ledger.releases
    for name in NAMES:
        assert outcomes(place, name, f"test.{lie}") == ["answered", "repeated"]
        assert len([one for one in release_history(own(place, name)) if one.name == f"test.{lie}"]) == 1


def test_a_silo_without_a_key_that_the_server_knows_is_turned_away(place: Place) -> None:
    place.do("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", "stranger.key")
    declared = (place.folder / "north.yml").read_text()
    (place.folder / "stranger.yml").write_text(
        declared.replace("north.key", "stranger.key")
        .replace("north-own", "stranger-own")
        .replace("name: north", "name: stranger")
    )
    serve = [str(ENVIRONMENT / "bin" / "python"), "-m", "fedtext.silo.cli", "serve", "--settings", "stranger.yml"]
    place.start("stranger", serve, FEDTEXT_STATE=str(place.folder / "state-of-a-stranger"))
    end = time.monotonic() + 90
    while place.running["stranger"].poll() is None and time.monotonic() < end:
        time.sleep(0.3)
    assert place.running.pop("stranger").returncode not in (None, 0)
    assert "connected to" not in place.log("stranger")


def test_no_process_of_a_silo_outlives_it(place: Place) -> None:
    group = place.running["north"].pid
    place.end("north")
    found = [path for path in Path("/proc").glob("[0-9]*/stat") if _group_of(path) == group]
    assert not found
    assert os.path.exists(own(place, "north") / "asked.jsonl")
    place.start_silo("north")


def _group_of(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[2])
    except OSError:
        return None
