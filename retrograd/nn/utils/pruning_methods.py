"""Pruning methods: hooks that hold chosen elements of a parameter, or whole rows, at zero."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from retrograd.nn.module import Module
from retrograd.notices import explained
from retrograd.ops.making.creation import ones_like, zeros_like
from retrograd.ops.random.sampling import rand, rand_like
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor


class BasePruningMethod(ABC):
    """The base of pruning methods, which are hooks of the pruned module.

    A subclass says in `compute_mask` what to keep, and in `PRUNING_TYPE` what it sees when it
    prunes again: the elements that are left ("unstructured"), the rows along `dim` that are left
    ("structured"), or all ("global").
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where elements of `t` stay, zeros where they are pruned, also by the mask so far."""

    def apply_mask(self, module: Module) -> Any:
        """The original parameter times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: object,
    ) -> BasePruningMethod:
        """Prune a parameter, once more if it is pruned already.

        importance_scores  what to choose by, instead of the parameter itself
        """
        earlier = _take_hook(module, name)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier is not None:
            container = (
                earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            )
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                setattr(module, name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A tensor with this method's choice of elements set to zero.

        >>> from retrograd.nn.utils import prune
        >>> prune.L1Unstructured(amount=1).prune(torch.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
        """
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        if default_mask is None:
            default_mask = ones_like(t)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Keep the pruned values as the parameter."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _take_hook(module: Module, name: str) -> Any:
    """The module's hook that prunes `name`, no longer its hook."""
    hooks = module._forward_pre_hooks
    found = [
        number
        for number, hook in hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    return hooks.pop(found[0]) if found else None


class PruningContainer(BasePruningMethod):
    """Pruning methods of one parameter, in the order in which they pruned it."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: object) -> None:
        """Add a method of the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far and, in what it left, the choice of the newest method."""
        method = self._pruning_methods[-1]
        left = self._left(method, t, default_mask)
        combined = default_mask.to(dtype=t.dtype)
        chosen = method.compute_mask(t[left], default_mask=default_mask[left])
        combined[left] = chosen.to(dtype=combined.dtype)
        return combined

    def _left(self, method: BasePruningMethod, t: Tensor, mask: Tensor) -> object:
        """An index of what a method may prune."""
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            return mask == 1
        everything: list[object] = [slice(None)] * t.dim()
        if kind == "global":
            return tuple(everything)
        if kind != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise explained(
                IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}"),
                code="RG204",
            )
        everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
        return tuple(everything)


# ---------------------------------------------------------------------- the methods


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name)


class _ByAmount(BasePruningMethod):
    """Methods that prune a number of things, or a share of them."""

    amount: int | float

    def _number(self, size: int) -> int:
        """How many of `size` things to prune."""
        count = self.amount
        if not isinstance(count, numbers.Integral):
            count = round(count * size)
        if count > size:
            raise ValueError(
                f"amount={count} should be smaller than the number of parameters to prune={size}"
            )
        return int(count)


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._number(t.nelement())
        mask = default_mask.clone()
        if count:
            lots = rand_like(t)
            mask.view(-1)[lots.view(-1).topk(count).indices] = 0
        return mask

    @classmethod
    def apply(cls, module: Module, name: str, amount: int | float) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, amount=amount)


class L1Unstructured(_ByAmount):
    """Prunes the elements nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._number(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[t.abs().view(-1).topk(count, largest=False).indices] = 0
        return mask

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(_ByAmount):
    """Prunes rows along a dimension at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = self._number(size)
        if not count:
            return default_mask
        lots = rand(size)
        return _rows(t, self.dim, lots > lots.kthvalue(count).values, default_mask)

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: int | float, dim: int = -1
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_ByAmount):
    """Prunes the rows along a dimension that have the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, n: object, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = self._number(size)
        others = list(range(t.dim()))
        del others[self.dim]
        norms = PUBLIC["torch"]["norm"](t, p=self.n, dim=others)
        kept = norms.topk(size - count, largest=True).indices
        return _rows(t, self.dim, kept, default_mask) if count else default_mask

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Module,
        name: str,
        amount: int | float,
        n: object,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        return super().apply(module, name, mask=mask)


def _rows(t: Tensor, dim: int, kept: object, default_mask: Tensor) -> Tensor:
    """The mask of the rows that are kept, within the mask so far."""
    mask = zeros_like(t)
    index: list[object] = [slice(None)] * t.dim()
    index[dim] = kept
    mask[tuple(index)] = 1
    mask *= default_mask.to(dtype=mask.dtype)
    return mask


def _check_amount(amount: int | float) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (not whole and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _check_structured(t: Tensor, dim: int) -> None:
    shape = t.shape
    if len(shape) <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {shape} with {len(shape)} dims"
        )
    if dim >= len(shape):
        raise IndexError(f"Invalid index {dim} for tensor of size {shape}")
