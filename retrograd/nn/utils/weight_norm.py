"""Weight normalization with a hook: the older form of `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import TypeVar

from retrograd.lifecycle.site import user_level
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter, UninitializedParameter
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm:
    """The hook that computes a weight from its lengths and directions before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight that the current lengths and directions give."""
        lengths = getattr(module, self.name + "_g")
        directions = getattr(module, self.name + "_v")
        weight: Tensor = PUBLIC["torch"]["_weight_norm"](directions, lengths, self.dim)
        return weight

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Give the module the hook and the two parameters."""
        return _apply(module, name, dim)

    def remove(self, module: Module) -> None:
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _apply(module: Module, name: str, dim: int | None) -> WeightNorm:
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=user_level(),
    )
    for known in module._forward_pre_hooks.values():
        if isinstance(known, WeightNorm) and known.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    hook = WeightNorm(name, dim)
    weight: Tensor = getattr(module, name)
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to "
            "run the dummy forward before applying weight normalization"
        )
    del module._parameters[name]
    lengths = PUBLIC["torch"]["norm_except_dim"](weight, 2, hook.dim)
    module.register_parameter(name + "_g", Parameter(lengths.data))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return hook


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train lengths (`weight_g`) and directions (`weight_v`) of a weight's rows separately.

    Deprecated; `torch.nn.utils.parametrizations.weight_norm` is the newer form.

    dim  what the rows are; None for one length of all
    """
    _apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make a weight that `weight_norm` divided one parameter again.

    >>> torch.nn.utils.remove_weight_norm(torch.nn.Identity())
    Traceback (most recent call last):
    ValueError: weight_norm of 'weight' not found in Identity()
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
