"""Models whose gradients are computed without a framework."""

from .base import Factors, Model
from .convolution import ConvNet
from .softmax import SoftmaxRegression

__all__ = ["ConvNet", "Factors", "Model", "SoftmaxRegression"]
