"""What is public where releases are of batches: the last one, and weighted sums of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .._compiled import Floats, Integers


class BatchView(NamedTuple):
    """What is public: flat arrays, blocks concurrently; numbers have one entry."""

    matrix: Floats
    """Σ x x' of the last batch, every block: released, or where contexts are public itself, of the
    batch under way"""
    noisy: Floats
    """released Σ x r of the last batch"""
    gram: Floats
    """weighted sum of `matrix` over batches"""
    moment: Floats
    """weighted sum of `noisy` over batches"""
    error: Floats
    """variance of the noise in each entry of `moment`, block by block"""
    blur: Floats
    """variance of the noise on the diagonal of `gram`, block by block"""
    mass: Floats
    """Σ g tr(matrix) over batches with weights g, block by block"""
    square: Floats
    """Σ g² tr(matrix)"""
    estimate: Floats
    """θ~"""
    root: Floats
    """R of every block, R R' the covariance of the sample"""
    inverse: Floats
    """that covariance, d × d"""
    along: Floats
    """scratch, d: the sample"""
    work: Floats
    """scratch, m²"""
    vectors: Floats
    """scratch, m²"""
    variance: Floats
    """variance of the noise in each entry of `noisy`"""
    spread: Floats
    """variance of the noise on the diagonal of `matrix`"""
    width: Floats
    """standard deviations that `inverse` is to be multiplied with"""
    releases: Integers
    """releases so far"""
    taken: Integers
    """releases that are in the weighted sums"""
    rounds: Integers
    """rounds so far"""
    until: Integers
    """the round that ends the batch under way"""
