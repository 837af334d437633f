"""The questions that a silo answers: all others it refuses."""

from __future__ import annotations

from fedtext.algorithms.flexible.profile import Profile
from fedtext.algorithms.flexible.selection import NearestVotes
from fedtext.algorithms.pe.histogram import NearestHistogram
from fedtext.algorithms.popri.release import CandidateScores, MeanFeatures
from fedtext.algorithms.wasp.judging import ModelSums, TopQVotes
from fedtext.federation.question import Question
from fedtext.voting.class_means import ClassMeans

QUESTIONS: tuple[type[Question], ...] = (
    CandidateScores,
    ClassMeans,
    MeanFeatures,
    ModelSums,
    NearestHistogram,
    NearestVotes,
    Profile,
    TopQVotes,
)
