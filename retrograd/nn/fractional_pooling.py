"""Layers of fractional maximum pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.nn.tuples import _ntuple
from retrograd.ops.kinds import Ints
from retrograd.tensor import Tensor


class _FractionalMaxPoolNd(Module):
    """What the layers for images and for volumes share."""

    _rank: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Ints,
        output_size: object = None,
        output_ratio: object = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._rank)
        self.kernel_size = each(kernel_size)
        if self._rank == 3 and any(size <= 0 for size in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < part < 1 for part in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest value of windows at random places of an image.

    output_size     how many windows there are in each dimension,
    output_ratio    or what part of the image's size that is
    return_indices  give also where the values are, for `MaxUnpool2d`

    >>> torch.nn.FractionalMaxPool2d(3, output_ratio=0.5)(torch.zeros(1, 2, 12, 10)).shape
    torch.Size([1, 2, 6, 5])
    """

    _rank = 2
    _function: ClassVar = staticmethod(functional.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest value of windows at random places of a volume.

    >>> torch.nn.FractionalMaxPool3d(2, output_size=4)(torch.zeros(1, 2, 8, 8, 8)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    _rank = 3
    _function: ClassVar = staticmethod(functional.fractional_max_pool3d)
