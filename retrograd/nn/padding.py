"""Padding layers, for sequences (1d), images (2d) and volumes (3d).

Amounts are given as one number for all sides or as a tuple, the last dimension's pair first.
"""

from __future__ import annotations

from collections.abc import Iterable

from retrograd.nn import functional
from retrograd.nn.module import Module
from retrograd.ops.kinds import Ints
from retrograd.tensor import Tensor


def _amounts(padding: Ints, count: int) -> tuple[int, ...]:
    """One amount for each side."""
    return tuple(padding) if isinstance(padding, Iterable) else (padding,) * count


class _PadNd(Module):
    """Pads as `_mode` says; the subclass says how many dimensions it pads."""

    _mode: str
    _spatial: int

    def __init__(self, padding: Ints) -> None:
        super().__init__()
        self.padding = _amounts(padding, 2 * self._spatial)

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    _mode = "constant"

    def __init__(self, padding: Ints, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        least = self._spatial + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")


class ConstantPad1d(_ConstantPadNd):
    """Pad a sequence with one value.

    >>> layer = torch.nn.ConstantPad1d((2, 1), 9.0)
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 3)).flatten()
    tensor([9., 9., 1., 2., 3., 9.])
    """

    _spatial = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad an image with one value.

    >>> layer = torch.nn.ConstantPad2d((2, 1, 0, 0), 9.0)
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 3)).flatten()
    tensor([9., 9., 1., 2., 3., 9.])
    """

    _spatial = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad a volume with one value.

    >>> layer = torch.nn.ConstantPad3d((2, 1, 0, 0, 0, 0), 9.0)
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 1, 3)).flatten()
    tensor([9., 9., 1., 2., 3., 9.])
    """

    _spatial = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pad a sequence with its mirror image, the edge not repeated.

    >>> layer = torch.nn.ReflectionPad1d((2, 1))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 3)).flatten()
    tensor([3., 2., 1., 2., 3., 2.])
    """

    _spatial = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad an image with its mirror image, the edge not repeated.

    >>> layer = torch.nn.ReflectionPad2d((2, 1, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 3)).flatten()
    tensor([3., 2., 1., 2., 3., 2.])
    """

    _spatial = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad a volume with its mirror image, the edge not repeated.

    >>> layer = torch.nn.ReflectionPad3d((2, 1, 0, 0, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 1, 3)).flatten()
    tensor([3., 2., 1., 2., 3., 2.])
    """

    _spatial = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pad a sequence by repeating its edge.

    >>> layer = torch.nn.ReplicationPad1d((2, 1))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 3)).flatten()
    tensor([1., 1., 1., 2., 3., 3.])
    """

    _spatial = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad an image by repeating its edge.

    >>> layer = torch.nn.ReplicationPad2d((2, 1, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 3)).flatten()
    tensor([1., 1., 1., 2., 3., 3.])
    """

    _spatial = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad a volume by repeating its edge.

    >>> layer = torch.nn.ReplicationPad3d((2, 1, 0, 0, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 1, 3)).flatten()
    tensor([1., 1., 1., 2., 3., 3.])
    """

    _spatial = 3


class ZeroPad1d(ConstantPad1d):
    """Pad a sequence with zeros.

    >>> layer = torch.nn.ZeroPad1d((2, 1))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 3)).flatten()
    tensor([0., 0., 1., 2., 3., 0.])
    """

    def __init__(self, padding: Ints) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Pad an image with zeros.

    >>> layer = torch.nn.ZeroPad2d((2, 1, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 3)).flatten()
    tensor([0., 0., 1., 2., 3., 0.])
    """

    def __init__(self, padding: Ints) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Pad a volume with zeros.

    >>> layer = torch.nn.ZeroPad3d((2, 1, 0, 0, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 1, 3)).flatten()
    tensor([0., 0., 1., 2., 3., 0.])
    """

    def __init__(self, padding: Ints) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class CircularPad1d(_CircularPadNd):
    """Pad a sequence with its own other end.

    >>> layer = torch.nn.CircularPad1d((2, 1))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 3)).flatten()
    tensor([2., 3., 1., 2., 3., 1.])
    """

    _spatial = 1


class CircularPad2d(_CircularPadNd):
    """Pad an image with its own other end.

    >>> layer = torch.nn.CircularPad2d((2, 1, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 3)).flatten()
    tensor([2., 3., 1., 2., 3., 1.])
    """

    _spatial = 2


class CircularPad3d(_CircularPadNd):
    """Pad a volume with its own other end.

    >>> layer = torch.nn.CircularPad3d((2, 1, 0, 0, 0, 0))
    >>> layer(torch.arange(1.0, 4.0).reshape(1, 1, 1, 3)).flatten()
    tensor([2., 3., 1., 2., 3., 1.])
    """

    _spatial = 3
