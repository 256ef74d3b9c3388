"""Pooling layers: maximum, average and power means over windows, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from retrograd.nn import functional
from retrograd.nn.conv import per_dimension
from retrograd.nn.module import Module
from retrograd.ops.kinds import Ints
from retrograd.tensor import Tensor


class _Pool(Module):
    """A layer without parameters around one function of `nn.functional`."""

    _function: ClassVar[Callable[..., Tensor]]
    _printed: ClassVar[tuple[str, ...]]

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._printed)


class _MaxPoolNd(_Pool):
    _printed = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """The largest value in each window along one dimension.

    stride           the step between windows; the window's size when not given
    return_indices   also give where the values were, as `MaxUnpool1d` needs it
    ceil_mode        keep a last window that is only partly inside

    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _function: ClassVar = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest value in each window of an image.

    >>> torch.nn.MaxPool2d(2)(torch.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    _function: ClassVar = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest value in each window of a volume.

    >>> torch.nn.MaxPool3d(3, stride=2)(torch.zeros(1, 7, 7, 7)).shape
    torch.Size([1, 3, 3, 3])
    """

    _function: ClassVar = staticmethod(functional.max_pool3d)


class _MaxUnpoolNd(_Pool):
    _rank: ClassVar[int]
    _printed = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        rank = self._rank
        self.kernel_size = per_dimension(kernel_size, rank)
        self.stride = per_dimension(kernel_size if stride is None else stride, rank)
        self.padding = per_dimension(padding, rank)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        result: Tensor = self._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )
        return result


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the values `MaxPool1d` kept back where they were, among zeros.

    >>> values, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0]]))
    >>> torch.nn.MaxUnpool1d(2)(values, places)
    tensor([[0., 3.]])
    """

    _rank = 1
    _function: ClassVar = staticmethod(functional.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the values `MaxPool2d` kept back where they were, among zeros.

    >>> pool = torch.nn.MaxPool2d(2, return_indices=True)
    >>> torch.nn.MaxUnpool2d(2)(*pool(torch.arange(4.0).reshape(1, 2, 2)))
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _rank = 2
    _function: ClassVar = staticmethod(functional.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the values `MaxPool3d` kept back where they were, among zeros.

    >>> pool = torch.nn.MaxPool3d(2, return_indices=True)
    >>> torch.nn.MaxUnpool3d(2)(*pool(torch.ones(1, 4, 4, 4))).sum()
    tensor(8.)
    """

    _rank = 3
    _function: ClassVar = staticmethod(functional.max_unpool3d)


class AvgPool1d(_Pool):
    """The mean of each window along one dimension.

    count_include_pad   whether the padding's zeros count as values

    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    _printed = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_dimension(kernel_size, 1)
        self.stride = per_dimension(kernel_size if stride is None else stride, 1)
        self.padding = per_dimension(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = functional.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )
        return result


class _AvgPoolNd(_Pool):
    _printed = ("kernel_size", "stride", "padding")

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
        return result


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of an image.

    divisor_override   divide the sums by this instead of by the number of values

    >>> torch.nn.AvgPool2d(2)(torch.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _function: ClassVar = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of a volume.

    >>> torch.nn.AvgPool3d(2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function: ClassVar = staticmethod(functional.avg_pool3d)


class _LPPoolNd(_Pool):
    _printed = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )
        return result


class LPPool1d(_LPPoolNd):
    """The `norm_type`-norm of each window along one dimension.

    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _function: ClassVar = staticmethod(functional.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The `norm_type`-norm of each window of an image.

    >>> torch.nn.LPPool2d(1, 2)(torch.ones(1, 2, 2))
    tensor([[[4.]]])
    """

    _function: ClassVar = staticmethod(functional.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The `norm_type`-norm of each window of a volume.

    >>> torch.nn.LPPool3d(1, 2)(torch.ones(1, 2, 2, 2))
    tensor([[[[8.]]]])
    """

    _function: ClassVar = staticmethod(functional.lp_pool3d)


class _AdaptiveMaxPoolNd(_Pool):
    _printed = ("output_size",)

    def __init__(
        self, output_size: int | Sequence[int | None], return_indices: bool = False
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest values of `output_size` windows that cover one dimension evenly.

    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0]]))
    tensor([[3., 3.]])
    """

    _function: ClassVar = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest values of windows that cover an image evenly; None keeps a dimension's size.

    >>> torch.nn.AdaptiveMaxPool2d((None, 2))(torch.zeros(1, 5, 7)).shape
    torch.Size([1, 5, 2])
    """

    _function: ClassVar = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest values of windows that cover a volume evenly; None keeps a dimension's size.

    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.zeros(1, 5, 6, 7)).shape
    torch.Size([1, 2, 2, 2])
    """

    _function: ClassVar = staticmethod(functional.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(_Pool):
    _printed = ("output_size",)

    def __init__(self, output_size: int | Sequence[int | None]) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self._function(input, self.output_size)
        return result


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover one dimension evenly.

    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0]]))
    tensor([[2.0000, 2.5000]])
    """

    _function: ClassVar = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of windows that cover an image evenly; None keeps a dimension's size.

    >>> torch.nn.AdaptiveAvgPool2d(1)(torch.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _function: ClassVar = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of windows that cover a volume evenly; None keeps a dimension's size.

    >>> torch.nn.AdaptiveAvgPool3d((1, None, 2))(torch.zeros(1, 5, 6, 7)).shape
    torch.Size([1, 1, 6, 2])
    """

    _function: ClassVar = staticmethod(functional.adaptive_avg_pool3d)
