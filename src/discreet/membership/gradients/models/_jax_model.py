"""Other nets, by JAX: gradients of each point from any loss, as arrays for the attacks.

An extra, `pip install "discreet[jax]"`; everything else runs without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import DiscreetError

if TYPE_CHECKING:
    from ...._types import Array
    from ._convolution import ConvNet

Loss = Callable[[Any, Any, Any], Any]


def per_sample_gradients(loss: Loss, batch: int = 512) -> Callable[[Any, Array, Array], Array]:
    """Gradients of every point, for any loss that JAX can differentiate. Needs the extra `jax`.

    Parameters are any tree of arrays; a line of the result is its leaves, flattened in the tree's
    own order.

    Args:
        loss: The loss(parameters, x_i, y_i) of one point.
        batch: Points that are differentiated at a time, compiled once.

    Returns:
        A function (parameters, x, y) -> (n, d).
    """
    jax = _jax()
    from jax.flatten_util import ravel_pytree

    def one(parameters: Any, x: Any, y: Any) -> Any:
        return ravel_pytree(jax.grad(loss)(parameters, x, y))[0]

    compiled = jax.jit(jax.vmap(one, (None, 0, 0)))

    def gradients(parameters: Any, x: Array, y: Array) -> Array:
        if not len(x):
            return np.empty((0, ravel_pytree(parameters)[0].size), np.float32)
        found = []
        for at in range(0, len(x), batch):
            some, labels = x[at : at + batch], y[at : at + batch]
            short = batch - len(some) if len(x) > batch else 0
            if short:  # one shape for all, compiled once
                some = np.concatenate([some, np.repeat(some[:1], short, axis=0)])
                labels = np.concatenate([labels, np.repeat(labels[:1], short, axis=0)])
            rows = np.asarray(compiled(parameters, some, labels))
            found.append(rows[: len(rows) - short])
        return np.concatenate(found)

    return gradients


def conv_loss(net: ConvNet) -> Loss:
    """The cross-entropy of a `ConvNet` of ours in JAX: the same function of the same vector."""
    jax = _jax()

    def loss(theta: Any, x: Any, y: Any) -> Any:
        layers, rows = net.split(theta)
        h = x[None]
        for weights, bias in layers:
            kernel = weights.reshape(3, 3, -1, weights.shape[1])
            h = jax.lax.conv_general_dilated(
                h, kernel, (2, 2), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            h = jax.nn.relu(h + bias)
        logits = rows[:, :-1] @ h.reshape(-1) + rows[:, -1]
        return jax.nn.logsumexp(logits) - logits[y]

    return loss


def _jax() -> Any:
    try:
        import jax
    except ImportError:
        raise DiscreetError('jax must be installed; run pip install "discreet[jax]"') from None
    return jax
