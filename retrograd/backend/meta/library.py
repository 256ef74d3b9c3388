"""The functions of NumPy that kernels call, on arrays without elements."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from retrograd.backend.cpu import CPU
from retrograd.backend.meta import products, reducing, shapes
from retrograd.backend.meta.arrays import MANY, MetaArray, folded, known_arguments
from retrograd.backend.meta.elementwise import Elementwise, applied
from retrograd.backend.meta.layout import INSIDE, NoNumbers, no_item
from retrograd.backend.meta.table import FUNCTIONS, Function
from retrograd.backend.namespace import NEUTRAL


class Library:
    """NumPy's functions on arrays without elements; one that is not here needs numbers."""

    __name__ = "meta"
    linalg = products.Matrices()
    fft = products.Fourier()

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name, None)
        if name in FUNCTIONS:
            function = FUNCTIONS[name]
            return function if name in _WRITING or name in _OF_TYPES else folding(found, function)
        if found is None:
            raise AttributeError(f"NumPy has no {name}")
        if isinstance(found, np.ufunc):
            return Elementwise(found, found.nin)
        if isinstance(found, ModuleType):
            raise no_item()
        if isinstance(found, type) or not callable(found) or name in _OF_TYPES:
            return found

        def needs_numbers(*_: object, **__: object) -> Any:
            raise no_item()

        return folding(found, needs_numbers)


_MAKERS: frozenset[Any] = frozenset(
    (np.zeros, np.ones, np.full, np.asarray, np.array, np.arange, np.linspace, np.eye, np.tri)
)
_OF_DATA = (np.asarray, np.array)
_WRITING = ("copyto", "put", "put_along_axis", "place", "putmask", "fill_diagonal")


def folding(real: Any, function: Function) -> Function:
    """A function that does the same with tables that are known, and makes such in kernels."""
    makes = real in _MAKERS

    def call(*args: Any, **options: Any) -> Any:
        operands = (*args, *options.values())
        given = [x for x in operands if _has_array(x)]
        if options.get("out") is not None or not (given or makes):
            return function(*args, **options)
        alone = makes and not given
        if alone and not (INSIDE.kernels or (real in _OF_DATA and _is_number(args[0]))):
            return function(*args, **options)
        if not alone and known_arguments(given) is None:
            return function(*args, **options)
        try:
            found = function(*args, **options)
        except NoNumbers:
            pass
        else:
            if not all(getattr(part, "size", 0) <= MANY for part in _parts(found)):
                return found
        return folded(real, args, options)

    return call


def _has_array(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_has_array, value))
    return type(value) is MetaArray


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _parts(found: Any) -> Any:
    return found if isinstance(found, (tuple, list)) else (found,)


_OF_TYPES = (
    *("result_type", "can_cast", "ndim", "shape", "size", "iscomplexobj", "may_share_memory"),
    *("broadcast_shapes", "promote_types", "issubdtype", "isdtype", "finfo", "iinfo"),
)


def _taken_rows(table: MetaArray, rows: MetaArray) -> MetaArray:
    return shapes.take(table, rows, 0)


def own_functions() -> dict[str, Any]:
    """What stands in the place of the neutral functions that would look at elements."""
    special = {
        name: Elementwise(getattr(CPU.xp, name))
        for name, home in NEUTRAL.items()
        if home.startswith("special_")
    }
    return special | {
        "add_at": shapes.nothing,
        "reduce_at": shapes.reduced_at,
        "add_rows": shapes.nothing,
        "strided": shapes.strided,
        "shares_memory": shapes.shares_memory,
        "take_rows": _taken_rows,
        "pairs": shapes.pairs,
        "maximum_accumulate": reducing.accumulated,
        "minimum_accumulate": reducing.accumulated,
        "logaddexp_accumulate": reducing.accumulated,
    }


LIBRARY = Library()
_UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_SINGLE = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def _operator(function: np.ufunc, kind: str) -> Function:
    apply = Elementwise(function)

    def operate(self: MetaArray, other: Any) -> Any:
        if not isinstance(other, (MetaArray, np.ndarray, np.generic, int, float, complex)):
            return NotImplemented
        if kind == "i":
            return apply(self, other, out=self)
        return apply(other, self) if kind == "r" else apply(self, other)

    return operate


def _single(function: np.ufunc) -> Function:
    apply = Elementwise(function)
    return lambda self: apply(self)


def _add_operators() -> None:
    for name, function in _UFUNCS.items():
        setattr(MetaArray, f"__{name}__", _operator(function, ""))
        if function.nin == 2 and name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(MetaArray, f"__r{name}__", _operator(function, "r"))
            setattr(MetaArray, f"__i{name}__", _operator(function, "i"))
    for name, single in _SINGLE.items():
        setattr(MetaArray, f"__{name}__", _single(single))
    product = LIBRARY.matmul
    products_of: dict[str, Function] = {
        "__matmul__": lambda self, other: product(self, other),
        "__rmatmul__": lambda self, other: product(other, self),
        "__imatmul__": lambda self, other: product(self, other, self),
    }
    for name, method in products_of.items():
        setattr(MetaArray, name, method)


_METHODS = """
    all any argmax argmin argpartition argsort clip cumprod cumsum dot max mean min nonzero prod
    ptp repeat round searchsorted std sum take trace var
"""


def _add_methods() -> None:
    for name in _METHODS.split():
        setattr(MetaArray, name, _method(getattr(LIBRARY, name)))
    for name in ("conj", "conjugate"):
        setattr(MetaArray, name, lambda self: applied(np.conjugate, [self]))
    for name in ("sort", "partition"):
        setattr(MetaArray, name, shapes.nothing)


def _method(function: Function) -> Function:
    """A function as a method: its first argument is the array."""

    def method(self: MetaArray, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    return method


_add_operators()
_add_methods()
