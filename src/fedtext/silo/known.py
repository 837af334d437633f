"""What a silo answers and trains: all else it refuses."""

from __future__ import annotations

from fedtext.algorithms.flexible.at_silos import CodedTraining
from fedtext.algorithms.flexible.profile import Profile
from fedtext.algorithms.flexible.selection import NearestVotes
from fedtext.algorithms.pe.histogram import NearestHistogram
from fedtext.algorithms.popri.release import CandidateScores, MeanFeatures
from fedtext.algorithms.wasp.judging import ModelSums, TopQVotes
from fedtext.federation.question import Asked
from fedtext.voting.class_means import ClassMeans

QUESTIONS: tuple[type[Asked], ...] = (
    CandidateScores,
    ClassMeans,
    CodedTraining,
    MeanFeatures,
    ModelSums,
    NearestHistogram,
    NearestVotes,
    Profile,
    TopQVotes,
)
