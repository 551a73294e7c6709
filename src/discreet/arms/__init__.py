"""Reward laws and environments."""

from discreet.arms.base import Kernel, Law, Parametric, Part
from discreet.arms.bernoulli import Bernoulli
from discreet.arms.beta import Beta
from discreet.arms.capped import Capped, clipping_bias, pareto
from discreet.arms.catalogue import LAWS, law, law_from_dict
from discreet.arms.clipped import Clipped
from discreet.arms.delayed import Delayed
from discreet.arms.embedded import actg175
from discreet.arms.function import FunctionLaw
from discreet.arms.gaussian import Gaussian
from discreet.arms.mixed import Mixed
from discreet.arms.moving import Drifting, Switching
from discreet.arms.sampler import Sampler
from discreet.arms.tables import RewardList, RewardTable
from discreet.arms.trial import Replay, TrialData, replay, resample
from discreet.arms.two_point import TwoPoint
from discreet.arms.uniform import Uniform

__all__ = [
    "LAWS",
    "Bernoulli",
    "Beta",
    "Capped",
    "Clipped",
    "Delayed",
    "Drifting",
    "FunctionLaw",
    "Gaussian",
    "Kernel",
    "Law",
    "Mixed",
    "Parametric",
    "Part",
    "Replay",
    "RewardList",
    "RewardTable",
    "Sampler",
    "Switching",
    "TrialData",
    "TwoPoint",
    "Uniform",
    "actg175",
    "clipping_bias",
    "law",
    "law_from_dict",
    "pareto",
    "replay",
    "resample",
]
