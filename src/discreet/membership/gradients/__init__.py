"""White-box audits of gradient descent: what do the gradients of a run tell about one point?

Attacks take arrays of gradients from any framework; models, trainers and data of our own make the
whole audit run without one. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazily

if TYPE_CHECKING:
    from .accounting import claim, last_iterate_delta, last_iterate_epsilon, shuffled_claim
    from .attacks import SoftmaxTarget, Steps, covariance_steps, glir_steps, scalar_steps
    from .audits import AuditTable, Line, audit_dpsgd, curve_audit
    from .canaries import (
        Ranking,
        best_gradient,
        blank,
        canife,
        dirac,
        mislabelled,
        random_direction,
        rank,
    )
    from .data import Images, cifar10, fashion_mnist, fashion_mnist_sample
    from .dpsgd import DPSGD, GradientCanaries, PointCanary
    from .epochs import Epoch, play_epochs
    from .experiments import cifar_experiment, fashion_experiment, sample_experiment
    from .models import ConvNet, Factors, SoftmaxRegression
    from .models.jax_model import per_sample_gradients
    from .prediction import Prediction, predicted_sum
    from .references import References, references_at
    from .trainers import FullBatch, Poisson, Shuffled, Single, Trace, Trainer

_HOMES = {
    "accounting": ("claim", "last_iterate_delta", "last_iterate_epsilon", "shuffled_claim"),
    "attacks": ("SoftmaxTarget", "Steps", "covariance_steps", "glir_steps", "scalar_steps"),
    "audits": ("AuditTable", "Line", "audit_dpsgd", "curve_audit"),
    "canaries": (
        "Ranking", "best_gradient", "blank", "canife", "dirac", "mislabelled", "random_direction",
        "rank",
    ),
    "data": ("Images", "cifar10", "fashion_mnist", "fashion_mnist_sample"),
    "dpsgd": ("DPSGD", "GradientCanaries", "PointCanary"),
    "epochs": ("Epoch", "play_epochs"),
    "experiments": ("cifar_experiment", "fashion_experiment", "sample_experiment"),
    "models": ("ConvNet", "Factors", "SoftmaxRegression"),
    "models.jax_model": ("per_sample_gradients",),
    "prediction": ("Prediction", "predicted_sum"),
    "references": ("References", "references_at"),
    "trainers": ("FullBatch", "Poisson", "Shuffled", "Single", "Trace", "Trainer"),
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
