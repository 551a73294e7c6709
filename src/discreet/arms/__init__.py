"""Environments: what draws rewards."""

from discreet.arms._base import Environment, Kernel, Parametric, Part
from discreet.arms._bernoulli import Bernoulli
from discreet.arms._beta import Beta
from discreet.arms._capped import Capped, clipping_bias, clipping_level, pareto
from discreet.arms._catalogue import ENVIRONMENTS, environment, environment_from_dict
from discreet.arms._clipped import Clipped
from discreet.arms._delayed import Delayed
from discreet.arms._embedded import actg175
from discreet.arms._function import FunctionEnvironment
from discreet.arms._gaussian import Gaussian
from discreet.arms._mixed import Mixed
from discreet.arms._moving import Drifting, Switching
from discreet.arms._sampler import Sampler
from discreet.arms._tables import RewardList, RewardTable
from discreet.arms._trial import Replay, TrialData, replay, resample
from discreet.arms._two_point import TwoPoint
from discreet.arms._uniform import Uniform

__all__ = [
    "ENVIRONMENTS",
    "Bernoulli",
    "Beta",
    "Capped",
    "Clipped",
    "Delayed",
    "Drifting",
    "Environment",
    "FunctionEnvironment",
    "Gaussian",
    "Kernel",
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
    "clipping_level",
    "environment",
    "environment_from_dict",
    "pareto",
    "replay",
    "resample",
]
