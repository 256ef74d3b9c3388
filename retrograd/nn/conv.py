"""Convolution layers and their transposes, in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import ClassVar, TypeVar

from retrograd.dtypes import dtype
from retrograd.nn import functional, init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.kinds import Ints
from retrograd.ops.making.creation import empty
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

_C = TypeVar("_C", bound=Module)

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def per_dimension(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    """One number for every dimension; a sequence is taken as it is, whatever its length.

    >>> per_dimension(3, 2), per_dimension([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


class _ConvNd(Module):
    """What all convolutions hold: their sizes, a weight and perhaps a bias."""

    weight: Parameter
    bias: Parameter | None
    _rank: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _explicit_padding(padding, kernel_size, dilation)
        channels = (
            (in_channels, out_channels // groups)
            if transposed
            else (out_channels, in_channels // groups)
        )
        self.weight = Parameter(empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values: uniform within one over the square root of the inputs per output."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(
    padding: str | tuple[int, ...], stride: tuple[int, ...], padding_mode: str
) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        modes = ", ".join(repr(mode) for mode in _PADDING_MODES)
        raise ValueError(
            f"padding_mode must be one of {{{modes}}}, but got padding_mode='{padding_mode}'"
        )


def _explicit_padding(
    padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[int, ...]:
    """The padding as `functional.pad` takes it: before and after, the last dimension first."""
    if not isinstance(padding, str):
        return tuple(amount for amount in reversed(padding) for _ in ("before", "after"))
    if padding == "valid":
        return (0, 0) * len(kernel_size)
    amounts: list[int] = []
    for size, spacing in zip(reversed(kernel_size), reversed(dilation), strict=False):
        total = spacing * (size - 1)
        amounts += [total // 2, total - total // 2]
    return tuple(amounts)


class _Convolution(_ConvNd):
    """The constructor and the computation that `Conv1d`, `Conv2d` and `Conv3d` share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            per_dimension(kernel_size, rank),
            per_dimension(stride, rank),
            padding if isinstance(padding, str) else per_dimension(padding, rank),
            per_dimension(dilation, rank),
            False,
            (0,) * rank,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(
                input, self._reversed_padding_repeated_twice, mode=self.padding_mode
            )
            padding = (0,) * self._rank
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


def _under_own_name(kind: type[_C]) -> type[_C]:
    """Give a class the constructor and `forward` of its base as its own, so that errors name it."""
    for name in ("__init__", "forward"):
        shared = getattr(kind, name)
        own = FunctionType(
            shared.__code__, shared.__globals__, name, shared.__defaults__, shared.__closure__
        )
        own.__kwdefaults__, own.__annotations__ = shared.__kwdefaults__, shared.__annotations__
        own.__doc__, own.__module__ = shared.__doc__, shared.__module__
        own.__qualname__ = f"{kind.__name__}.{name}"
        setattr(kind, name, own)
    return kind


@_under_own_name
class Conv1d(_Convolution):
    """Slide kernels along one dimension.

    kernel_size, stride, padding, dilation   a number, or a tuple of one; padding may be 'same'
                                             or 'valid'
    groups                                   how many parts the channels fall into, each convolved
                                             by itself
    padding_mode                             'zeros', 'reflect', 'replicate' or 'circular'

    >>> torch.nn.Conv1d(2, 4, 3, padding=1)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 5])
    """

    _rank = 1
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv1d)


@_under_own_name
class Conv2d(_Convolution):
    """Slide kernels over an image; the arguments are those of `Conv1d`, per dimension.

    >>> torch.nn.Conv2d(3, 8, kernel_size=3, stride=2)
    Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2))
    """

    _rank = 2
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv2d)


@_under_own_name
class Conv3d(_Convolution):
    """Slide kernels through a volume; the arguments are those of `Conv1d`, per dimension.

    >>> torch.nn.Conv3d(1, 2, 3, padding="same")(torch.zeros(1, 1, 4, 4, 4)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    _rank = 3
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv3d)


class _ConvTransposeNd(_ConvNd):
    """The constructor and the computation that the transposed convolutions share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        rank = self._rank
        super().__init__(
            in_channels,
            out_channels,
            per_dimension(kernel_size, rank),
            per_dimension(stride, rank),
            per_dimension(padding, rank),
            per_dimension(dilation, rank),
            True,
            per_dimension(output_padding, rank),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding_for(input, output_size),
            self.groups,
            self.dilation,
        )

    def _output_padding_for(
        self, input: Tensor, output_size: Sequence[int] | None
    ) -> tuple[int, ...]:
        """How much to add at one side of each dimension, so that the output has `output_size`."""
        if output_size is None:
            return self.output_padding
        rank = self._rank
        others = 2 if input.dim() == rank + 2 else 1
        if len(output_size) == others + rank:
            output_size = output_size[others:]
        if len(output_size) != rank:
            raise ValueError(
                f"ConvTranspose{rank}D: for {input.dim()}D input, output_size must have {rank} "
                f"or {others + rank} elements (got {len(output_size)})"
            )
        smallest = []
        for axis in range(rank):
            reach = self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            steps = (input.size(axis + others) - 1) * self.stride[axis]
            smallest.append(steps - 2 * int(self.padding[axis]) + reach)
        largest = [size + step - 1 for size, step in zip(smallest, self.stride, strict=True)]
        for size, low, high in zip(output_size, smallest, largest, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {input.size()[2:]})"
                )
        return tuple(size - low for size, low in zip(output_size, smallest, strict=True))


@_under_own_name
class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` with respect to its input, as a layer of its own.

    output_padding   added at one side of the output, whose size a stride leaves open;
                     or name the size when calling: ``layer(input, output_size=...)``

    >>> torch.nn.ConvTranspose1d(2, 4, 3, stride=2)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 11])
    """

    _rank = 1
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv_transpose1d)


@_under_own_name
class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` with respect to its input, as a layer of its own.

    >>> layer = torch.nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1)
    >>> layer(torch.zeros(1, 2, 4, 4), output_size=(8, 8)).shape
    torch.Size([1, 1, 8, 8])
    """

    _rank = 2
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv_transpose2d)


@_under_own_name
class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` with respect to its input, as a layer of its own.

    >>> torch.nn.ConvTranspose3d(1, 2, 2)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    _rank = 3
    _function: ClassVar[Callable[..., Tensor]] = staticmethod(functional.conv_transpose3d)
