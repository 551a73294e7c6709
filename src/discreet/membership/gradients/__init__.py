"""White-box audits of gradient descent: what do the gradients of a run tell about one point?

Attacks take arrays of gradients from any framework; models, trainers and data of our own make the
whole audit run without one. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy import lazily

if TYPE_CHECKING:
    from ._accounting import claim, last_iterate_delta, last_iterate_epsilon, shuffled_claim
    from ._attacks import SoftmaxTarget, Steps, covariance_steps, glir_steps, scalar_steps
    from ._audits import AuditTable, Line, audit_dpsgd, curve_audit
    from ._canaries import (
        Ranking,
        best_gradient,
        blank,
        canife,
        dirac,
        mislabelled,
        random_direction,
        rank,
    )
    from ._dpsgd import DPSGD, GradientCanaries, PointCanary
    from ._epochs import Epoch, play_epochs
    from ._experiments import cifar_experiment, fashion_experiment, sample_experiment
    from ._prediction import Prediction, predicted_sum
    from ._references import References, references_at
    from ._trainers import FullBatch, Poisson, Shuffled, Single, Trace, Trainer
    from .data import Images, cifar10, fashion_mnist, fashion_mnist_sample
    from .models import ConvNet, Factors, SoftmaxRegression
    from .models._jax_model import per_sample_gradients

_HOMES = {
    "_accounting": ("claim", "last_iterate_delta", "last_iterate_epsilon", "shuffled_claim"),
    "_attacks": ("SoftmaxTarget", "Steps", "covariance_steps", "glir_steps", "scalar_steps"),
    "_audits": ("AuditTable", "Line", "audit_dpsgd", "curve_audit"),
    "_canaries": (
        "Ranking", "best_gradient", "blank", "canife", "dirac", "mislabelled", "random_direction",
        "rank",
    ),
    "data": ("Images", "cifar10", "fashion_mnist", "fashion_mnist_sample"),
    "_dpsgd": ("DPSGD", "GradientCanaries", "PointCanary"),
    "_epochs": ("Epoch", "play_epochs"),
    "_experiments": ("cifar_experiment", "fashion_experiment", "sample_experiment"),
    "models": ("ConvNet", "Factors", "SoftmaxRegression"),
    "models._jax_model": ("per_sample_gradients",),
    "_prediction": ("Prediction", "predicted_sum"),
    "_references": ("References", "references_at"),
    "_trainers": ("FullBatch", "Poisson", "Shuffled", "Single", "Trace", "Trainer"),
}  # fmt: skip

__all__ = [
    "DPSGD",
    "AuditTable",
    "ConvNet",
    "Epoch",
    "Factors",
    "FullBatch",
    "GradientCanaries",
    "Images",
    "Line",
    "PointCanary",
    "Poisson",
    "Prediction",
    "Ranking",
    "References",
    "Shuffled",
    "Single",
    "SoftmaxRegression",
    "SoftmaxTarget",
    "Steps",
    "Trace",
    "Trainer",
    "audit_dpsgd",
    "best_gradient",
    "blank",
    "canife",
    "cifar10",
    "cifar_experiment",
    "claim",
    "covariance_steps",
    "curve_audit",
    "dirac",
    "fashion_experiment",
    "fashion_mnist",
    "fashion_mnist_sample",
    "glir_steps",
    "last_iterate_delta",
    "last_iterate_epsilon",
    "mislabelled",
    "per_sample_gradients",
    "play_epochs",
    "predicted_sum",
    "random_direction",
    "rank",
    "references_at",
    "sample_experiment",
    "scalar_steps",
    "shuffled_claim",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
