"""Parametrizations: a parameter of a module computed from other tensors at each access.

``register_parametrization(layer, "weight", Symmetric())`` moves the weight to
``layer.parametrizations.weight.original``; from then on `layer.weight` is
``Symmetric()(original)``. The layer gets a class of its own for that, since what makes an attribute
a computation is a property, and properties belong to classes.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from retrograd.engine.grad_mode import no_grad
from retrograd.nn.container import ModuleDict, ModuleList
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.tensor import Tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0  # how many `cached()` blocks are open
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once within the block.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    >>> layer.weight is layer.weight
    False
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they start from.

    That is `original`, or `original0`, `original1`, ... where the first parametrization's
    `right_inverse` gives several tensors.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([2, 1])
    """

    original: Tensor
    unsafe: bool

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            start = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:
                        pass  # such a module starts from the value itself
        if not isinstance(start, Tensor | Sequence):
            raise ValueError(_wants_tensors(type(start).__name__))
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if isinstance(start, Tensor) else len(start)
        if isinstance(start, Tensor):
            self._keep_one(original, start)
        else:
            self._keep_many(original, start)
        if unsafe:
            return
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        for fact, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {fact} of the tensor, "
                    "unless `unsafe` flag is enabled.\n"
                    f"unparametrized {fact}: {before}\nparametrized {fact}: {after}"
                )

    def _keep_one(self, original: Tensor, start: Tensor) -> None:
        for fact in ("dtype", "device"):
            before, after = getattr(original, fact), getattr(start, fact)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {fact}.\n"
                    f"original.{fact}: {before}\nright_inverse(original).{fact}: {after}"
                )
        with no_grad():
            original.set_(start)
        _register(self, "original", original)

    def _keep_many(self, original: Tensor, starts: Sequence[object]) -> None:
        for number, start in enumerate(starts):
            if not isinstance(start, Tensor):
                kind = type(start).__name__
                raise ValueError(
                    _wants_tensors(f"element {number} of the sequence with type {kind}")
                )
            if isinstance(original, Parameter):
                start = Parameter(start, original.requires_grad)
            start.requires_grad_(original.requires_grad)
            _register(self, f"original{number}", start)

    def right_inverse(self, value: object) -> None:
        """Change the originals so that the parametrized tensor becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._replace_one(value)
            else:
                self._replace_many(value)

    def _replace_one(self, value: object) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` "
                f"has dtype {self.original.dtype}"
            )
        self.original.set_(value)

    def _replace_many(self, values: object) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}."
            )
        if len(values) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(values)}."
            )
        for number, value in enumerate(values):
            original = getattr(self, f"original{number}")
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {number} of type {type(value).__name__}."
                )
            if original.dtype != value.dtype:
                raise ValueError(
                    f"Tensor {number} returned by `right_inverse` has dtype {value.dtype} while "
                    f"`original{number}` has dtype {original.dtype}"
                )
            original.set_(value)

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *rest = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in rest:
            value = module(value)
        return value


def _wants_tensors(got: str) -> str:
    return (
        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
        f"Got {got}" + ("." if got.startswith("element") else "")
    )


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# ---------------------------------------------------------------------- the class of its own


def _copy_parametrized(self: object, memo: dict[int, object]) -> Any:
    """A deep copy that shares the class: the usual way would ask for the refused state."""
    if id(self) in memo:
        return memo[id(self)]
    made = self.__new__(type(self))
    memo[id(self)] = made
    made.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(made, slot, deepcopy(getattr(self, slot), memo))
    return made


def _refuse_state(self: object) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _give_own_class(module: Module) -> None:
    kind = type(module)
    members: dict[str, object] = {"__getstate__": _refuse_state, "__module__": __name__}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _copy_parametrized
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _add_property(module: Module, name: str) -> None:
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def compute(self: Module) -> Any:
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        # The module by its number: copies share this property, not the values.
        key = (id(self), name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = parametrization()
        return value

    def assign(self: Module, value: object) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(compute, assign))


# ---------------------------------------------------------------------- registering


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.tensor_name` be computed by `parametrization`, after those it has already.

    unsafe  skip the checks that the shape and the dtype stay what they were

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        known = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # made first: what it refuses leaves the module as it was
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_next(module: Module, name: str, parametrization: Module) -> None:
    """Refuse a further parametrization that changes what the tensor is."""
    value = getattr(module, name)
    result = parametrization(value)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for fact in ("dtype", "shape"):
        before, after = getattr(value, fact), getattr(result, fact)
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {fact} of the tensor, unless "
                "the `unsafe` flag is enabled.\n"
                f"module.{name}.{fact}: {before}\n"
                f"parametrization(module.{name}).{fact}: {after}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for fact in ("dtype", "shape"):
        before, after = getattr(value, fact), getattr(back, fact)
        if before != after:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {fact} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{fact}: {before}\nreturned {fact}: {after}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or has one of a certain tensor.

    >>> torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(2, 2))
    False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor an ordinary parameter or buffer again.

    leave_parametrized  with the value that was computed; else with the value of `original`

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> layer = torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> layer
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class a module had before its parametrizations gave it another.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer) is torch.nn.Linear
    True
    """
    kind = type(module)
    return kind.__bases__[0] if is_parametrized(module) else kind


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module` and the tensors they start from.

    tensor_name  only those of this tensor

    >>> one = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> two = torch.nn.Linear(2, 2)
    >>> two = torch.nn.utils.parametrize.transfer_parametrizations_and_params(one, two)
    >>> torch.equal(one.weight, two.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if hasattr(source, "original"):
            target.original = source.original
            continue
        number = 0
        while hasattr(source, f"original{number}"):
            setattr(target, f"original{number}", getattr(source, f"original{number}"))
            number += 1
    return to_module
