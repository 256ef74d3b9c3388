"""What changes all parameters and buffers of a module: dtype, device, mode, gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from retrograd.dtypes import as_dtype, dtype
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.nn.module_walk import WalkMethods
from retrograd.notices import explained
from retrograd.ops.making.conversion import to_options
from retrograd.ops.making.creation import empty_like
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device
from retrograd.tensor.size import memory_format as MemoryFormat

_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some "
    "modules might not work as expected when using complex tensors as parameters or buffers. "
    "Please file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
    "if a complex module does not work as expected."
)


class ConversionMethods(WalkMethods):
    """The methods of a Module that change its tensors and its mode."""

    training: bool

    # ------------------------------------------------------------------ tensors

    def apply(self, fn: Callable[[Any], object]) -> Self:
        """Call ``fn(module)`` on every submodule, then on this one.

        >>> _ = torch.nn.Sequential(torch.nn.ReLU()).apply(lambda m: print(type(m).__name__))
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            with no_grad():
                parameter.data = fn(parameter)
                gradient = parameter.grad
                if gradient is not None:
                    gradient.data = fn(gradient)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: object) -> Self:
        """Move or convert parameters and buffers; a dtype converts only floating point ones.

        The arguments are those of `Tensor.to`, without `copy`.

        >>> torch.nn.Linear(2, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        options = to_options(args, kwargs)
        if "copy" in options:
            raise RuntimeError(".to() does not accept copy argument")
        where = options.get("device")
        order: MemoryFormat | None = options.get("memory_format")
        wanted = as_dtype(options.get("dtype"), "to")
        if "tensor" in options:
            wanted = options["tensor"].dtype
        if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={wanted!r}"
            )
        if wanted is not None and wanted.is_complex:
            warnings.warn(_COMPLEX, stacklevel=user_level())

        def convert(tensor: Tensor) -> Tensor:
            inexact = tensor.is_floating_point() or tensor.is_complex()
            reordered = order if tensor.ndim in (4, 5) else None
            try:
                return tensor.to(
                    device=where, dtype=wanted if inexact else None, memory_format=reordered
                )
            except NotImplementedError as error:
                if not tensor.is_meta:
                    raise
                raise explained(
                    NotImplementedError(
                        f"{error} Please use torch.nn.Module.to_empty() instead of "
                        "torch.nn.Module.to() when moving module from meta to a different device."
                    ),
                    code="RG302",
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """New memory for all parameters and buffers, its values not set."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: dtype | str) -> Self:
        """Convert all parameters and buffers, integers too."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Move to the CPU, where everything is."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Device = None) -> Self:
        """Refused as by tensors: there is no such device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Let parameters and buffers lie where processes share them: `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # ------------------------------------------------------------------ mode

    def train(self, mode: bool = True) -> Self:
        """Set training mode on this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` on all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if gradient.grad_fn is not None:
                    gradient.detach_()
                else:
                    gradient.requires_grad_(False)
                gradient.zero_()
