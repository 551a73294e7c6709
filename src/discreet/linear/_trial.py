"""A real trial with covariates: which treatment for which patient of ACTG175.

A round is a patient, drawn from the trial's 2139 with replacement; the four treatments are the
actions. With x = (1, CD4 count, age, earlier therapy)/2, counts and ages clipped to 200-500 and
20-60 and scaled to [-1, 1], the features of treatment k are x in block k of 16, so ||a|| <= 1. θ is
the least squares fit, treatment by treatment, of "the CD4 count rose by week 20", and a reward is 1
with probability <θ, a>, which lies between 0.14 and 1 for every patient and treatment. The patients
are real, their answers to treatments they were not given are those of the fit.

>>> actg175().theta.shape
(16,)
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from ..arms._embedded import ARM_NAMES, CITATION, LICENCE, NAME, SOURCE
from ..arms._embedded import actg175 as finite_trial
from ._contexts import IIDContexts
from ._problem import BitRewards, LinearProblem

if TYPE_CHECKING:
    from .._types import Floats

RANGES = {"cd40": (200.0, 500.0), "age": (20.0, 60.0), "str2": (0.0, 1.0)}
"""Baseline columns, and the ranges that they are clipped to and scaled from."""


@cache
def actg175() -> LinearProblem:
    """Treatments for ACTG175's patients: K = 4, d = 16, rewards 0 or 1, ||θ|| = 2.42."""
    patients = covariates()
    trial = finite_trial("cd4")
    assigned, outcomes = np.array(trial.assigned), np.array(trial.outcomes)
    arms, features = len(ARM_NAMES), patients.shape[1]
    sets = np.zeros((len(patients), arms, arms * features))
    theta = np.zeros(arms * features)
    for arm in range(arms):
        block = slice(arm * features, (arm + 1) * features)
        sets[:, arm, block] = patients
        given = assigned == arm
        theta[block] = np.linalg.lstsq(patients[given], outcomes[given])[0]
    label = {
        "contexts": NAME, "outcome": trial.outcome, "citation": CITATION, "licence": LICENCE,
        "source": SOURCE,
    }  # fmt: skip
    return LinearProblem(IIDContexts(sets), theta, BitRewards(), label)


def covariates() -> Floats:
    """One row (1, CD4 count, age, earlier therapy)/2 a patient."""
    columns: list[Floats] = []
    for name, (low, high) in RANGES.items():
        values = np.clip(_column(name), low, high)
        columns.append(2.0 * (values - low) / (high - low) - 1.0)
    ones = np.ones(len(columns[0]))
    return np.asarray(np.column_stack([ones, *columns]) / np.sqrt(1.0 + len(columns)))


def _column(name: str) -> list[float]:
    file = "actg175.csv" if name == "cd40" else "actg175_baseline.csv"
    with files("discreet.arms").joinpath(f"data/{file}").open(encoding="utf-8") as rows:
        return [float(row[name]) for row in csv.DictReader(rows)]
