"""Kernels of the devices' own, in the place of the neutral ones; by topic.

Each is right for what it takes, and hands everything else to the neutral kernel.
"""

from __future__ import annotations

import warnings

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides import (
    attention,
    classes,
    convolution,
    draws,
    elementwise,
    norms,
    optimizers,
    pooling,
    products,
    recurrent,
    reductions,
    softmax,
)
from retrograd.backend.device import Backend

_TOPICS = (
    *(launch, classes, convolution, norms, optimizers, reductions, softmax, elementwise),
    *(draws, products, recurrent, attention, pooling),
)


def install(backend: Backend) -> None:
    """Register them with the backend; what cannot be used here is told, and the rest goes on."""
    for topic in _TOPICS:
        try:
            topic.install(backend)
        except Exception as error:  # of another version of a library of NVIDIA's
            name = topic.__name__.rpartition(".")[2]
            warnings.warn(
                f"retrograd's own kernels for {name} on CUDA devices are not in use, the neutral "
                f"ones are: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
