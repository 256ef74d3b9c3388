"""Lazy layers: they take the size of their input from the first input they see.

Until then their parameters have no shape; at the first call they get one and their initial values,
and the layer becomes an ordinary one (a `LazyLinear` a `Linear`).
"""

from __future__ import annotations

from typing import Any

from retrograd.dtypes import dtype, int64
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.hooks import RemovableHandle
from retrograd.nn.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _NormBase
from retrograd.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _ConvNd,
)
from retrograd.nn.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from retrograd.notices import runtime_error
from retrograd.ops.kinds import Ints
from retrograd.ops.making.construction import tensor
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class LazyModuleMixin(Module):
    """What lazy modules share; a class of one's own names it first, before the ordinary layer.

    Such a class makes `UninitializedParameter` attributes, and gives them shapes in
    ``initialize_parameters(*inputs)``. `cls_to_become` is the class after that.

    >>> class LazyScale(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torch.nn.UninitializedParameter()
    ...     def initialize_parameters(self, x):
    ...         self.scale.materialize(x.shape[-1:])
    ...         torch.nn.init.ones_(self.scale)
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> LazyScale()(torch.ones(1, 3)).detach()
    tensor([[1., 1., 1.]])
    """

    cls_to_become: type[Module] | None = None
    _load_hook: RemovableHandle
    _initialize_hook: RemovableHandle

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes that fit the inputs of the first call, and values."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or a buffer has no shape yet."""
        own: list[Any] = [*self._parameters.values(), *self._buffers.values()]
        return any(is_lazy(each) for each in own)

    def _infer_parameters(
        self, module: Module, args: tuple[object, ...], kwargs: dict[str, object] | None = None
    ) -> None:
        """Before the first `forward`: initialize, and be lazy no longer."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(
        self, destination: dict[str, object], prefix: str, keep_vars: bool
    ) -> None:
        for name, value in self._own_state().items():
            whole = keep_vars or is_lazy(value)
            destination[prefix + name] = value if whole else value.detach()

    def _lazy_load_hook(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, object],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take the shapes of what is about to be loaded."""
        own: dict[str, Any] = {**self._parameters, **self._buffers}
        for name, value in own.items():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(value) and not is_lazy(loaded):
                with no_grad():
                    value.materialize(loaded.shape)

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
            "forward pass to correctly initialize the modules"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input.

    >>> layer = torch.nn.LazyLinear(2)
    >>> layer
    LazyLinear(in_features=0, out_features=2, bias=True)
    >>> _ = layer(torch.zeros(4, 3))
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new values, once there is something to draw them for."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from the last dimension."""
        found = input.shape[-1]
        if self.has_uninitialized_params():
            self.in_features = found
            _give_shape(self.weight, (self.out_features, found))
            _give_shape(self.bias, (self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # loaded before the first call
            if found != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {found} is not equal to in_features "
                    f"from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = found


def _give_shape(value: Any, shape: tuple[int, ...]) -> None:
    if is_lazy(value):
        value.materialize(shape)


# ------------------------------------------------------------------------------- convolutions


class _LazyConvXdMixin(LazyModuleMixin, _ConvNd):
    """What lazy convolutions share."""

    def reset_parameters(self) -> None:
        """Draw new values, once there is something to draw them for."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def _make_lazy(
        self, out_channels: int, bias: bool, device: Device, dtype: dtype | None
    ) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take `in_channels` from the input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        channels = (
            (self.in_channels, self.out_channels // self.groups)
            if self.transposed
            else (self.out_channels, self.in_channels // self.groups)
        )
        _give_shape(self.weight, (*channels, *self.kernel_size))
        _give_shape(self.bias, (self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        alone = self._get_num_spatial_dims() + 1
        if input.dim() not in (alone, alone + 1):
            raise runtime_error(
                f"Expected {alone}D (unbatched) or {alone + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}",
                code="RG210",
            )
        return input.shape[0 if input.dim() == alone else 1]

    def _get_num_spatial_dims(self) -> int:
        return self._rank


class _LazyConvolution(_LazyConvXdMixin):
    """The constructor of the lazy convolutions."""

    def __init__(
        self,
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
        options = (stride, padding, dilation, groups, False, padding_mode)
        super().__init__(0, 0, kernel_size, *options, device=device, dtype=dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConv1d(4, 3)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConv2d(4, kernel_size=3)
    LazyConv2d(0, 4, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConv3d(1, 2)(torch.zeros(3, 4, 4, 4)).shape
    torch.Size([1, 3, 3, 3])
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvXdMixin):
    """The constructor of the lazy transposed convolutions."""

    def __init__(
        self,
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
        options = (stride, padding, output_padding, groups, False, dilation, padding_mode)
        super().__init__(0, 0, kernel_size, *options, device=device, dtype=dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConvTranspose1d(4, 3)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConvTranspose2d(1, 2)(torch.zeros(2, 3, 3)).shape
    torch.Size([1, 4, 4])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input.

    >>> torch.nn.LazyConvTranspose3d(1, 2)(torch.zeros(2, 3, 3, 3)).shape
    torch.Size([1, 4, 4, 4])
    """

    cls_to_become = ConvTranspose3d


# ----------------------------------------------------------------------------- normalizations


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What lazy batch and instance normalizations share."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            0, eps, momentum, False, False, device=device, dtype=dtype, bias=False
        )  # the tensors are made below
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, device=device, dtype=int64)

    def reset_parameters(self) -> None:
        """Set the initial values, once there is something to set."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `num_features` from the second dimension."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                _give_shape(value, (self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A `BatchNorm1d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyBatchNorm1d()
    >>> layer.state_dict()["running_mean"]
    <UninitializedBuffer>
    >>> _ = layer(torch.ones(2, 3))
    >>> layer.running_mean
    tensor([0.1000, 0.1000, 0.1000])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A `BatchNorm2d` that takes `num_features` from its first input.

    >>> torch.nn.LazyBatchNorm2d()(torch.zeros(1, 3, 2, 2)).shape
    torch.Size([1, 3, 2, 2])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A `BatchNorm3d` that takes `num_features` from its first input.

    >>> torch.nn.LazyBatchNorm3d()(torch.zeros(1, 3, 2, 2, 2)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """An `InstanceNorm1d` that takes `num_features` from its first input.

    >>> torch.nn.LazyInstanceNorm1d()(torch.zeros(1, 3, 2)).shape
    torch.Size([1, 3, 2])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """An `InstanceNorm2d` that takes `num_features` from its first input.

    >>> torch.nn.LazyInstanceNorm2d()(torch.zeros(1, 3, 2, 2)).shape
    torch.Size([1, 3, 2, 2])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """An `InstanceNorm3d` that takes `num_features` from its first input.

    >>> torch.nn.LazyInstanceNorm3d()(torch.zeros(1, 3, 2, 2, 2)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    cls_to_become = InstanceNorm3d
