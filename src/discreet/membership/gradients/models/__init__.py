"""Models whose gradients are computed without a framework."""

from ._base import Factors, Model
from ._convolution import ConvNet
from ._softmax import SoftmaxRegression

__all__ = ["ConvNet", "Factors", "Model", "SoftmaxRegression"]
