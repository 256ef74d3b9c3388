"""PyTorch's signatures: how its argument parser reads the calls of a function.

`compat/signatures.txt` has one line for each overload. It is read when a call has failed,
or has options of types that its function has not met: other calls never come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Number
from pkgutil import get_data
from typing import Any, NamedTuple

import numpy as np

from retrograd import dtypes
from retrograd.random import Generator
from retrograd.tensor import Tensor
from retrograd.tensor.size import device, layout, memory_format

UNKNOWN = object()  # an argument of which nothing is known: it fits everywhere


class Parameter(NamedTuple):
    """One parameter of an overload; `size` is that of a list for which one number may stand."""

    name: str
    kind: str
    size: int
    default: str | None
    takes_none: bool
    by_name: bool

    @property
    def type_name(self) -> str:
        """What messages call the type."""
        return _TYPE_NAMES.get(self.kind, self.kind)

    def takes(self, value: object, function: str) -> bool:
        """Whether a value may be given for it."""
        if value is UNKNOWN or (value is None and self.takes_none):
            return True
        if self.kind == "Tensor" and is_number(value) and _stem(function) in _NUMBERS_AS_TENSORS:
            return True
        return _CHECKS.get(self.kind, _anything)(value, self.size)

    def wrong_item(self, value: object) -> int | None:
        """The place of the element that is at fault, where messages name one."""
        listed = isinstance(value, (list, tuple)) and len(value)
        return 0 if listed and self.kind in ("IntArrayRef", "SymIntArrayRef") else None

    def __str__(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.type_name} {self.name}{default}"


class Signature(NamedTuple):
    """One overload. Hidden ones are older forms, which messages do not show."""

    name: str
    parameters: tuple[Parameter, ...]
    hidden: bool

    @property
    def least(self) -> int:
        """How many arguments must be given."""
        return sum(p.default is None for p in self.parameters)

    @property
    def positional(self) -> int:
        """How many may be given without their name."""
        return sum(not p.by_name for p in self.parameters)

    @property
    def takes_numbers(self) -> bool:
        """Whether ``f(2, 3)`` may stand for ``f((2, 3))``."""
        lists = ("IntArrayRef", "SymIntArrayRef")
        return self.positional == 1 and self.parameters[0].kind in lists

    def __str__(self) -> str:
        parts = [str(p) for p in self.parameters]
        first = next((n for n, p in enumerate(self.parameters) if p.by_name), None)
        if first is not None:
            parts.insert(first, "*")
        return f"({', '.join(parts)})"


class Step(NamedTuple):
    """What a function in Python does with its arguments: it reads an attribute, or passes them on.

    A call has the arguments in the words of the caller: a parameter's name, a number, or "?" for
    anything else ("x|?": what is given for x, unless that is None). One that is not certain says
    what was meant, not what every call does. One with conditions is taken where these parameters
    are true; "x is" stands for one that is not None, "x int" for one of that type, and an
    exclamation mark before it for the opposite. A comparison is a step, too.
    """

    parameter: str
    attribute: str
    place: str
    args: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    certain: bool
    conditions: tuple[str, ...]
    comparison: tuple[str, ...] = ()  # as in ``p < 0.0``


class Entry(NamedTuple):
    """How a public function reads its arguments: by overloads, or as a function in Python does."""

    overloads: tuple[Signature, ...] = ()
    python: str = ""
    steps: tuple[Step, ...] = ()
    flag: str = ""  # the parameter by which the function chooses between two others
    number: int = 0  # and its place
    takes_nothing: str = ""


@cache
def entry(place: str) -> Entry | None:
    """What is known of a function, by its place: ``torch.add``, ``Tensor.add``."""
    texts = _lines().get(place)
    if texts is None:  # "C" has those of `torch` that are hidden behind functions in Python
        return entry(f"torch.{place[2:]}") if place.startswith("C.") else None
    if texts[0].startswith("by "):
        _, flag, number = texts[0].split()
        return Entry(flag=flag, number=int(number))
    if texts[0].startswith("def "):
        signature, *steps = texts[0].removeprefix("def ").split("; ")
        return Entry(python=signature, steps=tuple(map(_step, steps)))
    if texts[0].endswith("|nothing"):
        return Entry(takes_nothing=texts[0].partition("(")[0])
    return Entry(tuple(map(_signature, texts)))


@cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    # through the package's loader, which opens files also where a program has replaced `open`
    written = get_data("retrograd", "compat/signatures.txt")
    assert written is not None
    for line in written.decode("utf-8").splitlines():
        if not line.startswith("#"):
            place, _, text = line.partition(" ")
            found.setdefault(place, []).append(text)
    return found


def _step(text: str) -> Step:
    *conditions, text = text.replace("{", "").split("}")
    certain, text = not text.startswith("~"), text.removeprefix("~")
    place, call, inside = text.partition("(")
    if " " in place:
        return Step("", "", "", (), (), certain, tuple(conditions), tuple(text.split()))
    if not call:  # of the value of a parameter
        parameter, _, attribute = text.partition(".")
        return Step(parameter, attribute, "", (), (), certain, tuple(conditions))
    given = [part.partition("=") for part in inside.removesuffix(")").split(", ") if part]
    args = tuple(name for name, equals, _ in given if not equals)
    options = tuple((name, word) for name, equals, word in given if equals)
    return Step("", "", place, args, options, certain, tuple(conditions))


def _signature(text: str) -> Signature:
    text, _, mark = text.partition("|")
    name, _, inside = text.partition("(")
    parameters: list[Parameter] = []
    by_name = False
    for part in filter(None, inside.removesuffix(")").split(", ")):
        if part == "*":
            by_name = True
            continue
        kind, _, rest = part.partition(" ")
        own, _, default = rest.partition("=")
        optional = kind.endswith("?")
        kind, _, size = kind.removesuffix("?").removesuffix("]").partition("[")
        if kind.startswith("c10::List"):
            kind = "TensorList"  # for the parser
        takes_none = optional or default == "None"
        parameters.append(
            Parameter(own, kind, int(size or 0), default or None, takes_none, by_name)
        )
    return Signature(name, tuple(parameters), bool(mark))


# --------------------------------------------------------------------------------- what is taken


def is_number(value: object) -> bool:
    """Whether a value is a number of Python or of NumPy."""
    return isinstance(value, (Number, np.bool_, np.number))


def is_tensor(value: object) -> bool:
    """Whether a value passes for a tensor."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _is_integer(value: object, size: int = 0) -> bool:
    if isinstance(value, Tensor):
        return _is_single(value) and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_single(value: object) -> bool:
    """A tensor that may stand for its number."""
    # not by `ndim`: a mode that sees the program's calls would be asked for it
    return isinstance(value, Tensor) and not value._requires_grad and value._array.ndim == 0


def is_index(value: object) -> bool:
    """Whether a value may be one of a list of sizes."""
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iub"
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    return not isinstance(value, bool) and hasattr(type(value), "__index__")


def _is_integers(value: object, size: int) -> bool:
    if isinstance(value, (list, tuple)):
        return not value or value[0] is UNKNOWN or is_index(value[0])
    return size > 0 and is_index(value)


def _is_floats(value: object, size: int) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return not value or isinstance(value[0], (int, float, complex, np.number))


def _is_tensors(value: object, size: int) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return all(is_tensor(item) or (item is None and place > 0) for place, item in enumerate(value))


def _is_real(value: object, size: int) -> bool:
    return isinstance(value, (int, float, np.number)) or _is_single(value)


def _is_scalar(value: object, size: int) -> bool:
    return is_number(value) or _is_single(value)


def _is(*kinds: type) -> Callable[[object, int], bool]:
    return lambda value, size: isinstance(value, kinds)


def _anything(value: object, size: int) -> bool:
    return True


def _is_dtype(value: object, size: int) -> bool:
    return isinstance(value, dtypes.dtype) or value in (bool, int, float, complex)


_CHECKS: dict[str, Callable[[Any, int], bool]] = {
    "ArrayRef<double>": _is_floats,
    "Device": lambda value, size: _is_integer(value) or isinstance(value, (str, device)),
    "Generator": _is(Generator),
    "IntArrayRef": _is_integers,
    "Layout": _is(layout),
    "MemoryFormat": _is(memory_format),
    "PyObject*": _anything,
    "Scalar": _is_scalar,
    "ScalarList": _is_floats,
    "ScalarType": _is_dtype,
    "SymInt": _is_integer,
    "SymIntArrayRef": _is_integers,
    "Tensor": lambda value, size: is_tensor(value),
    "TensorList": _is_tensors,
    "bool": _is(bool),
    "c10::string_view": _is(str),
    "complex": _is_scalar,
    "double": _is_real,
    "int64_t": _is_integer,
    "std::string": _is(str),
    "std::string_view": _is(str),
}

_TYPE_NAMES = {
    "ArrayRef<double>": "tuple of floats",
    "Device": "torch.device",
    "Dimname": "name",
    "DimnameList": "tuple of names",
    "Generator": "torch.Generator",
    "IntArrayRef": "tuple of ints",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "PyObject*": "object",
    "Scalar": "Number",
    "ScalarList": "tuple of Scalars",
    "ScalarType": "torch.dtype",
    "Storage": "torch.Storage",
    "SymInt": "int",
    "SymIntArrayRef": "tuple of ints",
    "TensorList": "tuple of Tensors",
    "c10::string_view": "str",
    "double": "float",
    "int64_t": "int",
    "std::string": "str",
    "std::string_view": "str",
}

# the other names that NumPy has for some parameters
OTHER_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}

# functions that take a number for a tensor
_NUMBERS_AS_TENSORS = frozenset(
    """
    add div divide mul multiply sub subtract true_divide floor_divide __and__ __or__ __xor__
    """.split()
)


def _stem(function: str) -> str:
    return re.sub("(?<=[a-z])_$", "", function)


# ------------------------------------------------------------------------------ names in messages


def type_name(value: object) -> str:
    """What PyTorch's messages call the type of a value."""
    return _name_of(type(value))


def type_names(args: Sequence[object], options: dict[str, object]) -> str:
    """The types of a call's arguments, as messages list them."""
    given = [type_name(value) for value in args]
    given += [f"{name}={type_name(value)}" for name, value in options.items()]
    return f"({', '.join(given)}{'' if args or not options else ', '})"


def _name_of(kind: type) -> str:
    own = kind.__module__.partition(".")[0]
    if own == "numpy":
        return f"numpy.{kind.__name__}"
    if kind is Generator:
        return "torch._C.Generator"
    if own == "retrograd" and issubclass(kind, (dtypes.dtype, device, layout, memory_format)):
        return f"torch.{kind.__name__}"
    return "torch.Size" if own == "retrograd" and kind.__name__ == "Size" else kind.__name__
