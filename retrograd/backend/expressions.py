"""What an elementwise kernel computes, as straight-line code of primitives.

A kernel is written for any `xp`. Called with a symbolic one, on symbols in place of arrays, it
writes down what it does:

    >>> from retrograd import dtypes
    >>> print(trace("addcmul", [Operand(dtypes.F32)] * 3, {"value": 0.5}))
    %3 = multiply(%1, %2) float32
    %4 = multiply(%3, 0.5) float32
    %5 = add(%0, %4) float32

A primitive is a ufunc of NumPy by its name, `where`, `astype`, `expit` or `erf`. A kernel that
looks at the elements themselves (`if`, indexing) is not traced: `Untraceable` says why.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from retrograd.backend.arrays import Array, DType
from retrograd.backend.cpu import CPU
from retrograd.backend.device import ELEMENTWISE, KERNELS, Kernel
from retrograd.backend.namespace import Namespace

xp = CPU.xp
_library: Any = xp._library
_OWN = ("expit", "erf")  # primitives that NumPy lacks
_TRUTH: DType = xp.dtype(bool)
_DOUBLE: DType = xp.dtype(float)


class Untraceable(AttributeError):
    """A kernel does something that straight-line code of primitives does not say."""


class GivesOperand(Untraceable):
    """A kernel gives one of its operands as it is."""


class Operand(NamedTuple):
    """What is known of an array; shapes do not matter to an elementwise op."""

    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """The result of one primitive; `operands` of an "input" is its number, of a "constant" it."""

    primitive: str
    operands: tuple[Any, ...]
    dtype: DType


class Expression(NamedTuple):
    """Straight-line code: the inputs come first, then each value after those that it reads.

    writes  the kernel writes into an operand
    """

    values: list[Value]
    results: list[Value]
    writes: bool = False

    def evaluate(self, inputs: Sequence[Array]) -> list[Array]:
        """The results for arrays as inputs, by NumPy."""
        found: dict[Value, Any] = {}
        for value in self.values:
            operands = [found[o] if isinstance(o, Value) else o for o in value.operands]
            if value.primitive == "input":
                found[value] = inputs[operands[0]]
            elif value.primitive == "constant":
                found[value] = xp.asarray(operands[0], value.dtype)
            elif value.primitive == "astype":
                found[value] = xp.asarray(operands[0]).astype(value.dtype)
            else:
                found[value] = getattr(xp, value.primitive)(*operands)
        shape = xp.broadcast_shapes(*[array.shape for array in inputs])
        return [xp.broadcast_to(found[value], shape) for value in self.results]

    def __str__(self) -> str:
        names = {value: f"%{number}" for number, value in enumerate(self.values)}
        return "\n".join(
            f"{names[value]} = {value.primitive}"
            f"({', '.join(names[o] if isinstance(o, Value) else repr(o) for o in value.operands)})"
            f" {value.dtype}"
            for value in self.values
            if value.primitive != "input"
        )


@cache
def _result_dtype(primitive: str, kinds: tuple[DType | type, ...]) -> DType:
    """What NumPy's function gives for arrays of these dtypes and numbers of these types."""
    function = getattr(xp if primitive in _OWN else _library, primitive)
    found: DType = function(*[k(1) if isinstance(k, type) else xp.empty(0, k) for k in kinds]).dtype
    return found


def _number(value: Any) -> Any:
    """A plain number as an operand: NumPy's own numbers have a dtype that counts."""
    if isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype"):
        return value
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return Value("constant", (value.item(),), value.dtype)
    raise Untraceable(f"an operand is of type {type(value).__name__}")


def _plain_type(number: Any) -> type:
    """The type of a plain number; those that refuse to be computed with are of others below it."""
    return next(kind for kind in (bool, int, float, complex) if isinstance(number, kind))


def _value(operand: Any) -> Any:
    return operand.value if isinstance(operand, Symbol) else _number(operand)


def _apply(primitive: str, *operands: Any) -> Symbol:
    values = [_value(operand) for operand in operands]
    kinds = [v.dtype if isinstance(v, Value) else _plain_type(v) for v in values]
    return Symbol(Value(primitive, tuple(values), _result_dtype(primitive, tuple(kinds))))


class _Flags(NamedTuple):
    c_contiguous: bool = True
    writeable: bool = True


class _Unusual(float):
    """An extreme of an array that nobody has seen."""

    def __int__(self) -> int:
        raise Untraceable("how often something is done depends on the elements")


class Symbol:
    """Stands for an array in a kernel; writing into it gives it another value.

    Kernels ask for extremes to leave out what only unusual values need: so these are unusual.
    """

    flags = _Flags()
    size = 4096  # neither small nor in need of being cut into pieces
    shape, strides, ndim = (size,), (8,), 1

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    def astype(self, dtype: DType, copy: bool = True) -> Symbol:
        if dtype == self.dtype:
            return Symbol(self.value) if copy else self
        return Symbol(Value("astype", (self.value,), xp.dtype(dtype)))

    def copy(self) -> Symbol:
        return Symbol(self.value)

    def reshape(self, *_: object) -> Symbol:
        return self

    def max(self) -> float:
        return _Unusual("inf")

    def min(self) -> float:
        return _Unusual("nan")

    @property
    def real(self) -> Symbol:
        if self.dtype.kind == "c":
            raise Untraceable("parts of complex numbers are views")
        return self

    @real.setter
    def real(self, part: object) -> None:
        raise Untraceable("parts of complex numbers are written")

    def _write(self, other: Any) -> Symbol:
        """What ``out=`` and operators in place do."""
        self.value = _symbol(other, self.dtype).astype(self.dtype).value
        return self

    def __getitem__(self, index: object) -> Symbol:
        """Of some elements what is computed is kept for these only: so compute it for all."""
        if index is Ellipsis or isinstance(index, (slice, Symbol)):
            return Symbol(self.value)
        raise Untraceable(f"elements are taken by {type(index).__name__}")

    def __setitem__(self, index: object, value: Any) -> None:
        if index is Ellipsis:
            self._write(value)
        elif isinstance(index, Symbol) and index.dtype == _TRUTH:
            self._write(_apply("where", index, _symbol(value, self.dtype), self))
        else:
            raise Untraceable(f"elements are set by {type(index).__name__}")

    def __bool__(self) -> bool:
        raise Untraceable("a branch depends on the elements")

    __complex__ = __bool__
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f"an array's `{name}` is used")


class _Region(Symbol):
    """Where something holds, as the places of these elements: some, not all."""

    size = 1


def _symbol(value: Any, dtype: DType | None = None) -> Symbol:
    """An operand as a symbol: numbers become constants, of NumPy's dtype or of another."""
    if isinstance(value, Symbol):
        return value
    found = xp.asarray(value, dtype)
    if found.ndim or found.dtype.kind == "O":
        raise Untraceable("an array of constants is used")
    return Symbol(Value("constant", (found.item(),), found.dtype))


def _operators() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The special methods of `Symbol`, of the ufuncs that NumPy's arrays use for them."""
    binary = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}
    binary |= {"mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or"}
    compared = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    compared |= {"eq": "equal", "ne": "not_equal"}
    single = {"neg": "negative", "invert": "invert", "abs": "absolute"}
    for short, name in {**binary, **compared, **single}.items():
        yield f"__{short}__", lambda *operands, name=name: _apply(name, *operands)
    for short, name in binary.items():
        yield f"__r{short}__", lambda a, b, name=name: _apply(name, b, a)
        yield f"__i{short}__", lambda a, b, name=name: a._write(_apply(name, a, b))


for _name, _method in _operators():
    setattr(Symbol, _name, _method)


class _Primitives:
    """The array library of symbols; what is not here is not traced."""

    __name__ = "symbols"

    def __getattr__(self, name: str) -> Any:
        found = getattr(_library, name)
        if isinstance(found, _library.ufunc) and found.nout == 1:
            return partial(self._call, found.__name__, found.nin)
        if isinstance(found, (float, type, _library.dtype)):  # pi, float64
            return found
        raise Untraceable(f"xp.{name} is used")

    @staticmethod
    def _call(name: str, count: int, *operands: Any, out: Any = None, dtype: Any = None) -> Any:
        given = operands[:count]
        if not any([isinstance(operand, Symbol) for operand in given]):
            return getattr(_library, name)(*given)  # of an extreme
        if dtype is not None:
            given = tuple([_symbol(operand, dtype).astype(dtype) for operand in given])
        result = _apply(name, *given)
        out = operands[count] if len(operands) > count else out
        return result if out is None else out._write(result)

    @staticmethod
    def where(mask: Any, yes: Any, no: Any) -> Symbol:
        return _apply("where", mask, yes, no)

    @staticmethod
    def asarray(value: Any, dtype: Any = None) -> Symbol:
        found = _symbol(value, dtype)
        return found if dtype is None else found.astype(dtype, copy=False)

    def array(self, value: Any, dtype: Any = None) -> Symbol:
        return Symbol(self.asarray(value, dtype).value)

    @staticmethod
    def full_like(like: Symbol, value: Any, dtype: Any = None) -> Symbol:
        return _symbol(value, like.dtype if dtype is None else dtype)

    def zeros_like(self, like: Symbol, dtype: Any = None) -> Symbol:
        return self.full_like(like, 0, dtype)

    empty_like = zeros_like

    def ones_like(self, like: Symbol, dtype: Any = None) -> Symbol:
        return self.full_like(like, 1, dtype)

    @staticmethod
    def full(shape: Any, value: Any, dtype: Any = None) -> Symbol:
        return _symbol(value, dtype)

    @staticmethod
    def zeros(shape: Any, dtype: Any = None) -> Symbol:
        return _symbol(0, dtype or _DOUBLE)

    empty = zeros

    @staticmethod
    def flatnonzero(region: Symbol) -> Symbol:
        return _Region(region.value)

    @staticmethod
    def broadcast_arrays(*symbols: Symbol) -> tuple[Symbol, ...]:
        return symbols

    @staticmethod
    def result_type(*values: Any) -> Any:
        return _library.result_type(*[v.dtype if isinstance(v, Symbol) else v for v in values])

    @staticmethod
    def copyto(target: Symbol, source: Any, casting: str = "same_kind") -> None:
        target._write(source)

    @staticmethod
    def ndim(value: Any) -> int:
        return getattr(value, "ndim", 0)


SYMBOLIC = Namespace(
    _Primitives(),
    {name: partial(_apply, name) for name in _OWN} | {"real": operator.attrgetter("real")},
)


# Entries of the table that are elementwise, and no declared ops.
_OTHER_ENTRIES = ("conj", "pow", "real", "square", "zeros_like", "_silu_gradient")


class _SymbolicTable:
    """The elementwise ops on symbols: what derivative rules run on, in place of a `RawTable`."""

    xp = SYMBOLIC
    where = staticmethod(SYMBOLIC.where)  # the entry looks at arrays of devices

    def __getattr__(self, name: str) -> Kernel:
        if name not in ELEMENTWISE and name not in _OTHER_ENTRIES:
            raise Untraceable(f"m.{name} is used")
        found: Kernel = partial(KERNELS[name][0], SYMBOLIC)
        self.__dict__[name] = found
        return found


TABLE = SYMBOLIC.raw = _SymbolicTable()


def _kernel_of(name: str) -> Any:
    place, _, function = name.partition(".")
    home = SYMBOLIC if place == "xp" else Symbol
    return getattr(home, function, None) if function else partial(KERNELS[name][0], SYMBOLIC)


def trace(
    name: str,
    operands: Sequence[Any],
    keywords: Mapping[str, Any],
    rule: Kernel | None = None,
) -> Expression:
    """What an elementwise op computes; `operands` are `Operand`s, numbers and options.

    name  of an op or of another entry of the table that rules run on; of a function, ``xp.exp``; of
          an array's method, ``array.__add__``. What writes its first operand gives that.
    rule  a derivative rule: then `name` is only what it is called
    """
    kernel: Any = _kernel_of(name) if rule is None else partial(rule, TABLE)
    if not callable(kernel):
        raise Untraceable(f"{name} is used")
    inputs: list[Value] = []
    symbols: list[Symbol] = []

    def symbol(operand: Any) -> Any:
        if not isinstance(operand, Operand):
            return operand
        inputs.append(Value("input", (len(inputs),), *operand))
        symbols.append(Symbol(inputs[-1]))
        return symbols[-1]

    given = [symbol(operand) for operand in operands]
    try:
        found = kernel(*given, **{key: symbol(value) for key, value in keywords.items()})
    except Exception as error:  # a kernel that looks at elements finds none
        raise Untraceable(f"{name}: {error}") from None
    found = given[0] if found is None or found is True else found
    several = found if isinstance(found, tuple) else (found,)
    writes = any([each.value is not value for each, value in zip(symbols, inputs, strict=True)])
    return _linear(inputs, [_symbol(each).value for each in several], writes)


def _linear(inputs: list[Value], results: list[Value], writes: bool) -> Expression:
    """The values in an order in which each comes after those it reads."""
    seen = dict.fromkeys(inputs)
    waiting = list(reversed(results))
    while waiting:
        value = waiting[-1]
        missing = [o for o in value.operands if isinstance(o, Value) and o not in seen]
        if not missing:
            seen[waiting.pop()] = None
        else:
            waiting += reversed(missing)
    return Expression(list(seen), results, writes)
