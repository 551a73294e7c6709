"""Real images to train on: Fashion-MNIST, CIFAR-10, and a sample that needs no download."""

from ._cifar10 import cifar10
from ._fashion_mnist import fashion_mnist, fashion_mnist_sample
from ._images import Images

__all__ = ["Images", "cifar10", "fashion_mnist", "fashion_mnist_sample"]
