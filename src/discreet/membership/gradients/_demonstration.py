"""A small audit of training on the shipped images, for the demonstration: about a second."""

from __future__ import annotations


def training_audit(seed: int = 1) -> str:
    """DP-SGD on 32 images, audited; and the same with a quarter of the noise that it claims."""
    import numpy as np

    from ._audits import audit_dpsgd
    from ._dpsgd import DPSGD
    from .data import fashion_mnist_sample
    from .models import SoftmaxRegression

    images = fashion_mnist_sample()[:32]
    features = images.features(4)
    model = SoftmaxRegression(features.shape[1])
    start = model.start(np.random.default_rng(seed))
    honest = DPSGD(model, features, images.labels, start, noise=4.0, steps=16)
    kept = audit_dpsgd(honest, runs=100, methods=("send-or-nothing", "curve"), seed=seed)
    broken = audit_dpsgd(
        honest.with_noise(1.0), claimed=honest, runs=100, methods=("curve",), seed=seed
    )
    found = "found" if broken.is_violation else "not found"
    return (
        f"DP-SGD on {len(images)} images of Fashion-MNIST, audited:\n{kept}\n"
        f"With a quarter of the noise it claims: {found}, ε >= {broken.lines[0].proved:.2f}."
    )
