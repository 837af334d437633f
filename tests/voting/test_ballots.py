"""Top-Q ballots: their definition one record at a time, their norm by search, ties, classes, blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation.private_samples import PrivateSamples
from fedtext.voting.ballots import (
    ballot_norm,
    ballot_total,
    client_mean_blocks,
    client_means,
    nearest_histogram_blocks,
    ranked,
    score_blocks,
    top_q_blocks,
)
from fedtext.voting.tally import Ballot, Candidates, joint_ballots
from fedtext.voting.witness import random_features
from tests.refusals import refuses
from tests.voting.examples import Federation, cosine_ballots, federation, nearest_ballots, unit
from tests.voting.oracles import summed_scores

# What a type or a shape in a signature forbids; our own check says it where types are not checked.
OF_ANOTHER_TYPE = pytest.raises((ValueError, TypeError))

CENTRES = ("none", "all", "prompt")
seeds = st.integers(0, 2**32 - 1)


def means_of(data: Federation) -> np.ndarray:
    return client_means(data.embeddings, data.client_index, data.n_clients)


# --- the Gram form is the papers' definition


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("clip_norm", [0.05, 1.0, 1e6])
def test_summed_scores_equal_the_per_client_loop(centre, dtype, clip_norm):
    data = federation(1, dtype=dtype)
    summed = summed_scores(means_of(data), data.candidates, centre=centre, responses_per_prompt=8, clip_norm=clip_norm)
    ballots = cosine_ballots(data, centre, 8, clip_norm)
    np.testing.assert_allclose(summed, ballots.sum(axis=0), atol=1e-5 if dtype == "float32" else 1e-8)


@pytest.mark.parametrize("centre", CENTRES)
def test_the_clip_acts_in_some_of_these_cases_and_not_in_others(centre):
    data = federation(1)
    free, tight = (
        summed_scores(means_of(data), data.candidates, centre=centre, responses_per_prompt=8, clip_norm=clip)
        for clip in (1e6, 0.5)
    )
    assert np.abs(free - tight).max() > 0.1


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_are_the_ballots_that_the_gram_form_sums(centre, block):
    data = federation(2)
    blocks = list(score_blocks(means_of(data), data.candidates, centre=centre, responses_per_prompt=8, block=block))
    ballots = np.concatenate(blocks)
    assert max(map(len, blocks)) <= block
    np.testing.assert_allclose(ballots, cosine_ballots(data, centre, 8, 1.0), atol=1e-5)
    summed = summed_scores(means_of(data), data.candidates, centre=centre, responses_per_prompt=8)
    np.testing.assert_allclose(ballots.sum(axis=0), summed, atol=1e-8)


def test_many_clients_cross_the_gram_blocks_unchanged():
    random = np.random.default_rng(3)
    means = unit(random.standard_normal((9001, 6))).astype(np.float32)
    candidates = unit(random.standard_normal((12, 6))).astype(np.float32)
    ballots = np.concatenate(list(score_blocks(means, candidates)))
    assert ballots.shape == (9001, 12)
    np.testing.assert_allclose(summed_scores(means, candidates), ballots.sum(axis=0), rtol=1e-6, atol=1e-6)


def test_centring_then_clipping_ranks_as_standardising_then_clipping():
    """The released code divides by the standard deviation too: with the clip active that changes nothing."""
    data = federation(4, candidates=400)
    raw = cosine_ballots(data, "none", 8, 1e9)
    spread = raw.std(axis=1, keepdims=True)
    standard = np.divide(raw - raw.mean(axis=1, keepdims=True), spread, out=np.zeros_like(raw), where=spread > 0)
    standard /= np.maximum(1.0, np.linalg.norm(standard, axis=1, keepdims=True))
    assert (np.linalg.norm(cosine_ballots(data, "all", 8, 1e9), axis=1)[means_of(data).any(axis=1)] > 1).all()
    summed = summed_scores(means_of(data), data.candidates, centre="all")
    np.testing.assert_allclose(summed, standard.sum(axis=0), atol=1e-5)


# --- what could break it


@pytest.mark.parametrize("centre", ["all", "prompt"])
def test_constant_score_vectors_give_zero_not_nan(centre):
    same = np.tile(unit(np.ones((1, 5))), (6, 1))
    means = unit(np.random.default_rng(5).standard_normal((4, 5)))
    summed = summed_scores(means, same, centre=centre, responses_per_prompt=3)
    np.testing.assert_allclose(summed, np.zeros(6), atol=1e-12)


def test_no_clients_and_zero_means_contribute_nothing():
    candidates = unit(np.random.default_rng(6).standard_normal((6, 5)))
    np.testing.assert_array_equal(summed_scores(np.zeros((0, 5)), candidates), np.zeros(6))
    np.testing.assert_array_equal(summed_scores(np.zeros((3, 5)), candidates), np.zeros(6))
    assert list(score_blocks(np.zeros((0, 5)), candidates)) == []
    assert not np.concatenate(list(score_blocks(np.zeros((3, 5)), candidates))).any()


def test_equal_candidates_keep_an_index_each():
    data = federation(7)
    twice = np.concatenate([data.candidates, data.candidates[3:4]])
    summed = summed_scores(means_of(data), twice)
    assert summed.shape == (41,)
    np.testing.assert_allclose(summed[40], summed[3], rtol=1e-12)


def test_a_nearly_orthogonal_ballot_does_not_escape_the_clip_in_single_precision():
    """18,000 candidates in a narrow cone, a client across it: the Gram matrix cancels five digits of the norm."""
    random = np.random.default_rng(8)
    cone = unit(np.eye(1, 32) * 30 + 0.3 * random.standard_normal((18_000, 32))).astype(np.float32)
    across = random.standard_normal((5, 32))
    across[:, 0] = 0.0
    means = unit(across).astype(np.float32)
    for client in means:
        assert np.linalg.norm(summed_scores(client[None], cone)) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"centre": "prompt"}, refuses("responses-not-stated")),
        ({"centre": "prompt", "responses_per_prompt": 7}, refuses("incomplete-prompts")),
        ({"centre": "median"}, OF_ANOTHER_TYPE),
        ({"clip_norm": 0.0}, refuses("clip-norm-out-of-range")),
    ],
)
def test_impossible_demands_are_named(kwargs, expected):
    data = federation(9)
    with expected:
        summed_scores(means_of(data), data.candidates, **kwargs)
    with expected:
        list(score_blocks(means_of(data), data.candidates, **kwargs))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(value):
    data = federation(10)
    means = means_of(data).copy()
    broken_candidates, broken_samples = data.candidates.copy(), data.embeddings.copy()
    means[5, 2] = broken_candidates[7, 1] = broken_samples[3, 0] = value
    with refuses("embeddings-not-finite", parameter="client_means"):
        summed_scores(means, data.candidates)
    with refuses("embeddings-not-finite", parameter="candidates"):
        summed_scores(means_of(data), broken_candidates)
    with refuses("embeddings-not-finite", parameter="embeddings"):
        client_means(broken_samples, data.client_index, data.n_clients)
    with refuses("embeddings-not-finite", parameter="embeddings"):
        list(nearest_histogram_blocks(broken_samples, data.client_index, data.n_clients, data.candidates))


# --- means


def test_client_means_are_means_and_absent_clients_are_zero():
    data = federation(11)
    means = means_of(data)
    assert means.dtype == np.float32
    for client in range(data.n_clients):
        mine = data.embeddings[data.client_index == client]
        np.testing.assert_allclose(means[client], mine.mean(axis=0) if len(mine) else 0.0, atol=1e-6)
    assert not means[0].any()


def test_without_an_index_every_sample_is_its_own_client():
    data = federation(12)
    np.testing.assert_array_equal(client_means(data.embeddings), data.embeddings)
    np.testing.assert_allclose(np.concatenate(list(client_mean_blocks(data.embeddings, block=3))), data.embeddings)


def test_feature_means_come_in_blocks():
    data = federation(13)
    blocks = list(client_mean_blocks(data.embeddings, data.client_index, data.n_clients, features=np.square, block=4))
    assert [len(block) for block in blocks] == [4] * 7 + [2]
    expected = client_means(np.square(data.embeddings), data.client_index, data.n_clients)
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-6)


def test_a_class_has_its_share_of_a_client_s_mean():
    data = federation(14)
    label = np.random.default_rng(14).integers(-1, 3, len(data.embeddings))
    blocks = client_mean_blocks(data.embeddings, data.client_index, data.n_clients, label=label, classes=3, block=7)
    rows = np.concatenate(list(blocks)).reshape(data.n_clients, 3, -1)
    for client, kind in np.ndindex(data.n_clients, 3):
        of_client = data.client_index == client
        expected = data.embeddings[of_client & (label == kind)].sum(axis=0) / max(of_client.sum(), 1)
        np.testing.assert_allclose(rows[client, kind], expected, atol=1e-6)


def test_no_clients_at_all():
    assert client_means(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 0).shape == (0, 4)
    assert client_means(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 3).shape == (3, 4)


@pytest.mark.parametrize(
    ("index", "clients", "expected"),
    [
        (np.array([0, 1]), None, refuses("clients-not-counted")),
        (np.array([0]), 2, OF_ANOTHER_TYPE),
        (np.array([0, 2]), 2, refuses("client-index-out-of-range")),
        (np.array([-1, 0]), 2, refuses("client-index-out-of-range")),
    ],
)
def test_a_wrong_client_index_is_refused(index, clients, expected):
    with expected:
        client_means(np.eye(2), index, clients)


# --- nearest histogram


def summed_histogram(*arguments):
    """Sum over clients of their clipped nearest-candidate histograms, before noise."""
    return np.concatenate(list(nearest_histogram_blocks(*arguments))).sum(axis=0)


@pytest.mark.parametrize("clip_norm", [0.5, 1.0, 1e6])
def test_nearest_histograms_equal_the_loop(clip_norm):
    data = federation(14)
    expected = nearest_ballots(data, clip_norm)
    arguments = (data.embeddings, data.client_index, data.n_clients, data.candidates)
    for block in (1, 7, 1000):
        ballots = np.concatenate(list(nearest_histogram_blocks(*arguments, clip_norm=clip_norm, block=block)))
        np.testing.assert_allclose(ballots, expected, atol=1e-8)


def test_of_equal_candidates_the_first_gets_the_vote():
    """Whatever the position: matrix products may round equal columns differently."""
    random = np.random.default_rng(15)
    distinct = unit(random.standard_normal((37, 24))).astype(np.float32)
    candidates = np.concatenate([distinct, distinct[::-1], distinct])
    samples = unit(random.standard_normal((500, 24))).astype(np.float32)
    votes = summed_histogram(samples, None, None, candidates)
    assert votes[:37].sum() == pytest.approx(500, rel=1e-6)
    assert not votes[37:].any()


def test_unit_record_histograms_are_one_vote_each():
    data = federation(16)
    ballots = np.concatenate(list(nearest_histogram_blocks(data.embeddings, None, None, data.candidates)))
    assert ballots.shape == (len(data.embeddings), 40)
    np.testing.assert_allclose(ballots.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(ballots.max(axis=1), 1.0, rtol=1e-6)


def test_a_vote_needs_candidates():
    with refuses("no-candidates"):
        summed_histogram(np.eye(2), None, None, np.zeros((0, 2)))


# --- a client's row is its own


def of_client(data: Federation, client: int) -> Federation:
    """The federation with all but one client's samples taken away."""
    kept = data.client_index == client
    return data._replace(embeddings=data.embeddings[kept], client_index=np.zeros(kept.sum(), np.int64), n_clients=1)


def rows_of(data: Federation, kind: str) -> np.ndarray:
    arguments = (data.embeddings, data.client_index, data.n_clients)
    if kind == "nearest":
        return np.concatenate(list(nearest_histogram_blocks(*arguments, data.candidates, block=7)))
    if kind == "features":
        mapped = partial(random_features, features=64, bandwidth=1.0, seed=0)
        return np.concatenate(list(client_mean_blocks(*arguments, features=mapped, block=7)))
    centre = {"cosine": "none", "centred": "prompt"}[kind]
    means = client_means(*arguments)
    return np.concatenate(list(score_blocks(means, data.candidates, centre=centre, responses_per_prompt=4, block=7)))


@pytest.mark.parametrize("kind", ["cosine", "centred", "nearest", "features"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_client_s_row_alone_is_its_row_in_company_bit_by_bit(kind, dtype):
    data = federation(18, clients=60, dim=96, dtype=dtype)
    together = rows_of(data, kind)
    for client in np.unique(data.client_index):
        assert rows_of(of_client(data, client), kind)[0].tobytes() == together[client].tobytes()


# --- properties


@settings(max_examples=40)
@given(seed=seeds, centre=st.sampled_from(CENTRES))
def test_the_order_of_clients_and_samples_does_not_matter(seed, centre):
    data = federation(seed % 1000)
    random = np.random.default_rng(seed)
    names, order = random.permutation(data.n_clients), random.permutation(len(data.embeddings))
    shuffled = client_means(data.embeddings[order], names[data.client_index[order]], data.n_clients)
    np.testing.assert_allclose(
        summed_scores(shuffled, data.candidates, centre=centre, responses_per_prompt=4),
        summed_scores(means_of(data), data.candidates, centre=centre, responses_per_prompt=4),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        summed_histogram(data.embeddings[order], names[data.client_index[order]], data.n_clients, data.candidates),
        summed_histogram(data.embeddings, data.client_index, data.n_clients, data.candidates),
        atol=1e-8,
    )


@settings(max_examples=40)
@given(seed=seeds, scale=st.floats(0.01, 100.0), clip_norm=st.floats(0.01, 10.0))
def test_scaling_contributions_and_clip_together_scales_the_sum(seed, scale, clip_norm):
    data = federation(seed % 1000, dtype="float64")
    plain = summed_scores(means_of(data), data.candidates, clip_norm=clip_norm)
    scaled = summed_scores(scale * means_of(data), data.candidates, clip_norm=scale * clip_norm)
    np.testing.assert_allclose(scaled, scale * plain, rtol=1e-6, atol=1e-9 * scale)


@settings(max_examples=40)
@given(seed=seeds, centre=st.sampled_from(CENTRES), clip_norm=st.floats(0.01, 10.0), scale=st.floats(0.1, 1e4))
def test_no_ballot_exceeds_the_clip_norm(seed, centre, clip_norm, scale):
    data = federation(seed % 1000)
    cosine = score_blocks(
        scale * means_of(data), data.candidates, centre=centre, responses_per_prompt=4, clip_norm=clip_norm
    )
    votes = nearest_histogram_blocks(
        data.embeddings, data.client_index, data.n_clients, data.candidates, clip_norm=clip_norm
    )
    for rows in itertools.chain(cosine, votes):
        assert (np.linalg.norm(rows, axis=1) <= clip_norm * (1 + 1e-12)).all()


@settings(max_examples=60)
@given(seed=seeds, centre=st.sampled_from(CENTRES), clip_norm=st.floats(0.05, 2.0), scale=st.floats(0.1, 1e4))
def test_one_client_moves_the_sum_by_at_most_the_clip_norm(seed, centre, clip_norm, scale):
    """Zero out, remove and add; a replacement moves it by at most twice as much. Clients may send anything."""
    random = np.random.default_rng(seed)
    data = federation(seed % 1000)
    means = means_of(data)
    client = int(random.integers(data.n_clients))

    def summed(rows: np.ndarray) -> np.ndarray:
        return summed_scores(rows, data.candidates, centre=centre, responses_per_prompt=4, clip_norm=clip_norm)

    zeroed, replaced = means.copy(), means.copy()
    zeroed[client], replaced[client] = 0.0, scale * random.standard_normal(means.shape[1])
    bound = clip_norm * (1 + 1e-9) + 1e-12
    assert np.linalg.norm(summed(means) - summed(zeroed)) <= bound
    assert np.linalg.norm(summed(means) - summed(np.delete(means, client, axis=0))) <= bound
    assert np.linalg.norm(summed(replaced) - summed(zeroed)) <= bound
    assert np.linalg.norm(summed(means) - summed(replaced)) <= 2 * bound


def test_the_sensitivity_bound_is_reached():
    """A bound that is never met would hide a clip that is too small; here one client fills it."""
    data = federation(17)
    strong = np.zeros((1, 16), np.float32)
    strong[0, 0] = 100.0
    moved = summed_scores(np.concatenate([means_of(data), strong]), data.candidates) - summed_scores(
        means_of(data), data.candidates
    )
    assert np.linalg.norm(moved) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("score", [summed_scores, lambda *rows: list(score_blocks(*rows))])
def test_embeddings_of_two_encoders_are_refused(score: Callable[..., object]) -> None:
    with OF_ANOTHER_TYPE:
        score(np.ones((2, 3)), np.ones((5, 4)))


seeds_top_q, some_votes = st.integers(0, 2**32 - 1), st.integers(1, 12)


def records(seed: int, *, count: int = 9, texts: int = 17, classes: int = 1) -> tuple[PrivateSamples, Candidates]:
    """Records and texts, some of which are one and the same; the last class may have few texts."""
    random = np.random.default_rng(seed)
    rows = unit(random.standard_normal((texts, 5)) + 0.3).astype(np.float32)
    rows[random.integers(0, texts, 3)] = rows[0]
    held = unit(random.standard_normal((count, 5)) + 0.3).astype(np.float32)
    label = random.integers(0, classes, count)
    unit_of = np.arange(count)
    samples = PrivateSamples(held, unit_of, label, unit_of)
    return samples, Candidates(rows, random.integers(0, classes, texts), np.ones(texts, dtype=bool))


def ballots(samples: PrivateSamples, texts: Candidates, votes: int, block: int = 256) -> np.ndarray:
    """Near votes beside far ones, a row a unit that holds samples."""
    cast = partial(top_q_blocks, votes=votes, block=block)
    ballot = Ballot({"near": cast, "far": partial(cast, furthest=True)}, settings="", rule="")
    width = 2 * len(texts.label)
    return np.concatenate([np.zeros((0, width)), *(b.rows for b in joint_ballots(samples, texts, ballot))])


def by_hand(samples: PrivateSamples, texts: Candidates, votes: int) -> np.ndarray:
    """Algorithm 3, DP_PrivateVoting, one record after the other."""
    found = np.zeros((len(samples.unit), 2, len(texts.label)))
    for j, (record, label) in enumerate(zip(samples.features, samples.label, strict=True)):
        own = np.flatnonzero(texts.label == label)
        alike = [float(np.dot(record.astype(np.float64), texts.embeddings[i].astype(np.float64))) for i in own]
        nearest = sorted(range(len(own)), key=lambda i: (-round(alike[i], 6), own[i]))
        furthest = sorted(range(len(own)), key=lambda i: (round(alike[i], 6), own[i]))
        for q, (n, f) in enumerate(zip(nearest[:votes], furthest[:votes], strict=True)):
            found[j, 0, own[n]] += 1 / 2**q
            found[j, 1, own[f]] += 1 / 2**q
    return found.reshape(len(found), -1)


@given(seed=seeds_top_q, votes=some_votes, classes=st.integers(1, 3), block=st.integers(1, 20))
@settings(max_examples=60)
def test_ballots_are_the_paper_s_whatever_the_block(seed: int, votes: int, classes: int, block: int) -> None:
    samples, texts = records(seed, classes=classes)
    assert np.array_equal(ballots(samples, texts, votes, block), by_hand(samples, texts, votes))


@given(seed=seeds_top_q, votes=some_votes, classes=st.integers(1, 4))
@settings(max_examples=80)
def test_a_record_s_ballot_is_no_longer_than_its_norm_and_two_differ_by_sqrt_2_of_it(
    seed: int, votes: int, classes: int
) -> None:
    """zero_out and replace_one by search, over classes that are small, empty, or full of duplicates."""
    found = ballots(*records(seed, classes=classes), votes)
    assert np.linalg.norm(found, axis=1).max(initial=0.0) <= ballot_norm(votes) * (1 + 1e-12)
    apart = np.linalg.norm(found[:, None] - found[None], axis=2).max(initial=0.0)
    assert apart <= math.sqrt(2) * ballot_norm(votes) * (1 + 1e-12)


def test_both_bounds_are_attained() -> None:
    texts = np.eye(8, dtype=np.float32)
    first = PrivateSamples(texts[[0, 4]], np.arange(2), np.array([0, 1]), np.arange(2))
    found = ballots(first, Candidates(texts, np.repeat([0, 1], 4), np.ones(8, dtype=bool)), 4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(ballot_norm(4))
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(math.sqrt(2) * ballot_norm(4))


def test_the_norm_is_the_joint_one_and_no_l1_bound() -> None:
    assert ballot_norm(8) == pytest.approx(1.63298, abs=5e-6)
    assert ballot_norm(1) == pytest.approx(math.sqrt(2))
    assert all(ballot_norm(q) <= math.sqrt(8 / 3) for q in range(1, 33))
    assert ballot_norm(8, parts=1) == pytest.approx(1.63298 / math.sqrt(2), abs=5e-6)
    assert ballot_total(8) == 1.9921875


@given(seed=seeds_top_q, votes=some_votes)
@settings(max_examples=30)
def test_near_and_far_votes_add_up_to_the_same_where_there_are_texts_enough(seed: int, votes: int) -> None:
    near, far = np.split(ballots(*records(seed), votes), 2, axis=1)
    assert (near.sum(axis=1) == ballot_total(votes)).all()
    assert (far.sum(axis=1) == ballot_total(votes)).all()


@given(seed=seeds_top_q)
@settings(max_examples=20)
def test_no_vote_leaves_its_class_and_a_record_of_none_casts_none(seed: int) -> None:
    samples, texts = records(seed, classes=3)
    samples.label[0] = -1
    joint = ballots(samples, texts, 4).reshape(len(samples.unit), 2, -1).sum(axis=1)
    assert not joint[samples.label[:, None] != texts.label[None]].any()


def test_equal_texts_are_ranked_by_index() -> None:
    found = ranked(np.array([[0.5, 0.5, 0.5, 0.5], [0.1, 0.9, 0.9, 0.2]], dtype=np.float32), 3)
    assert found.column.tolist() == [0, 1, 2, 1, 2, 3]
    assert found.rank.tolist() == [0, 1, 2, 0, 1, 2]


@given(seed=seeds_top_q)
@settings(max_examples=20)
def test_a_record_s_ballot_is_its_own_in_any_company_and_order(seed: int) -> None:
    samples, texts = records(seed, count=300 if seed % 7 == 0 else 9)
    alone = PrivateSamples(samples.features[4:5], samples.unit[4:5], samples.label[4:5], samples.enrolled)
    assert np.array_equal(ballots(samples, texts, 5)[4], ballots(alone, texts, 5)[0])
    turned = np.random.default_rng(seed).permutation(len(samples.unit))
    other = PrivateSamples(samples.features[turned], samples.unit[turned], samples.label[turned], samples.enrolled)
    assert np.array_equal(ballots(other, texts, 5), ballots(samples, texts, 5))


def test_a_client_s_ballot_is_the_sum_of_its_records() -> None:
    samples, texts = records(3)
    client = np.array([0, 0, 0, 1, 1, 1, 1, 5, 5])
    own = ballots(PrivateSamples(samples.features, client, samples.label, np.unique(client)), texts, 6)
    single = ballots(samples, texts, 6)
    assert np.array_equal(own, np.stack([single[client == c].sum(axis=0) for c in (0, 1, 5)]))


def test_what_nobody_can_vote_on_and_what_is_broken_is_refused() -> None:
    samples, texts = records(1)
    who = samples.unit
    with refuses("no-common-dimensions"):
        next(top_q_blocks(samples.features, who, 9, texts.embeddings[:0], votes=3))
    with refuses("no-common-dimensions"):
        next(top_q_blocks(samples.features, who, 9, texts.embeddings[:, :3], votes=3))
    broken = samples.features.copy()
    broken[0, 0] = np.nan
    with refuses("embeddings-not-finite"):
        next(top_q_blocks(broken, who, 9, texts.embeddings, votes=3))
    assert next(top_q_blocks(samples.features[:0], who[:0], 2, texts.embeddings, votes=3)).tolist() == [[0.0] * 17] * 2
