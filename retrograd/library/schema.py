"""The signature of an operator that a program registers: read from its text or its annotations.

>>> schema = Schema("mylib::crop", "(Tensor x, int low, int high=3) -> Tensor")
>>> schema.bind((1,), {"low": 2}, check=False)
[1, 2, 3]
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from retrograd.dtypes import dtype
from retrograd.tensor import Tensor
from retrograd.tensor.size import device

_MISSING: Any = inspect.Parameter.empty

_KINDS: dict[object, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    int | float | bool: "Scalar",
    dtype: "ScalarType",
    device: "Device",
}
_ACCEPTED: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": (int, Tensor),
    "SymInt": (int, Tensor),
    "float": (float, int, Tensor),
    "bool": (bool, int, Tensor),
    "str": (str,),
}


@dataclass(frozen=True)
class Argument:
    """One argument of an operator."""

    name: str
    kind: str
    default: object
    keyword_only: bool
    written: bool

    def __str__(self) -> str:
        if self.default is _MISSING:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.name}={_default_text(self.default)}"


class Schema:
    """The name of an operator, its arguments, and the kinds of its results."""

    def __init__(self, name: str, text: str) -> None:
        given, arrow, returned = text.partition("->")
        given = given.strip()
        if not arrow or not (given.startswith("(") and given.endswith(")")):
            raise ValueError(
                f"schema of {name!r} must read '(Tensor x, int n) -> Tensor': {text!r}"
            )
        self.name = name
        self.arguments = tuple(_arguments(given[1:-1]))
        self.returned = returned.strip()
        self.writes = any(argument.written for argument in self.arguments)

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        return f"{self.name}({', '.join(parts)}) -> {self.returned}"

    __repr__ = __str__

    def bind(
        self, args: tuple[object, ...], kwargs: dict[str, object], check: bool = True
    ) -> list[object]:
        """The value of every argument of a call, in order, with defaults filled in."""
        positional = [argument for argument in self.arguments if not argument.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received "
                f"{len(args)} argument(s). Declaration: {self}"
            )
        given = {argument.name: value for argument, value in zip(positional, args, strict=False)}
        known = {argument.name for argument in self.arguments}
        for name, value in kwargs.items():
            if name not in known or name in given:
                raise RuntimeError(
                    f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}"
                )
            given[name] = value
        values = []
        for position, argument in enumerate(self.arguments):
            value = given.get(argument.name, argument.default)
            if value is _MISSING:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. "
                    f"Declaration: {self}"
                )
            if check:
                self._check(argument, position, value)
            values.append(value)
        return values

    def _check(self, argument: Argument, position: int, value: object) -> None:
        kind = argument.kind.partition("(")[0]
        if isinstance(value, _ACCEPTED.get(kind, object)):
            return
        wanted = "int" if kind == "SymInt" else kind
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{wanted}' for argument '{argument.name}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value}\n"
            f"Declaration: {self}"
        )

    def without_defaults(self, values: list[object]) -> list[object]:
        """The values up to the last that is not its argument's default."""
        kept = list(values)
        while kept:
            default = self.arguments[len(kept) - 1].default
            if default is _MISSING or kept[-1] is not default:
                break
            kept.pop()
        return kept


def _arguments(text: str) -> Iterable[Argument]:
    keyword_only = False
    for part in _split(text):
        if part == "*":
            keyword_only = True
            continue
        declared, equals, default = part.partition("=")
        kind, _, name = declared.strip().rpartition(" ")
        if not kind:
            raise ValueError(f"an argument needs a type and a name: {part!r}")
        value = _default_value(default.strip()) if equals else _MISSING
        yield Argument(name, kind.strip(), value, keyword_only, "!" in kind)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets and no quotes."""
    parts = re.findall(r"""(?:[^,\[\]()"']|\[[^\]]*\]|\([^)]*\)|"[^"]*"|'[^']*')+""", text)
    return [part.strip() for part in parts if part.strip()]


def _default_value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a name of PyTorch's, such as contiguous_format


def _default_text(value: object) -> str:
    if isinstance(value, float):
        digits = f"{value:.17g}"
        return f"{digits}." if digits.lstrip("-").isdigit() else digits
    return f'"{value}"' if isinstance(value, str) else str(value)


# ------------------------------------------------------------------------------- annotations


def infer_schema(
    prototype_function: Callable[..., object],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema of a function, from the types it is annotated with.

    >>> def crop(x: torch.Tensor, low: int, high: int = 3) -> torch.Tensor: ...
    >>> torch.library.infer_schema(crop, mutates_args=())
    '(Tensor x, SymInt low, SymInt high=3) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    hints = typing.get_type_hints(prototype_function)
    written = _written(signature, mutates_args, fail)
    parts: list[str] = []
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is _MISSING:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _kind(hints[name])
        if kind is None:
            fail(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if name in written:
            if not kind.startswith("Tensor"):
                fail(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of "
                    "Tensors can be mutated"
                )
            kind = f"Tensor(a{position}!){kind.removeprefix('Tensor')}"
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = parameter.default
        if default is _MISSING:
            parts.append(f"{kind} {name}")
        elif default is None or isinstance(default, (int, float, bool)):
            parts.append(f"{kind} {name}={default}")
        elif isinstance(default, str):
            parts.append(f'{kind} {name}="{default}"')
        else:
            fail(f"Parameter {name} has an unsupported default value type {type(default)}.")
    if signature.return_annotation is _MISSING:
        fail("No return type annotation was provided. Please add one.")
    returned = _returned(hints["return"])
    if returned is None:
        fail(f"Return has unsupported type {signature.return_annotation}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _written(
    signature: inspect.Signature,
    mutates_args: str | Iterable[str],
    fail: Callable[[str], typing.NoReturn],
) -> set[str]:
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are "
                f"mutated or the string 'unknown'. Got: {mutates_args!r}"
            )
        return {
            name
            for name, parameter in signature.parameters.items()
            if "Tensor" in str(parameter.annotation)
        }
    written = set(mutates_args)
    unknown = written - set(signature.parameters)
    if unknown:
        fail(f"{unknown} in mutates_args were not found in the custom op's signature.")
    return written


def _kind(hint: object) -> str | None:
    if hint in _KINDS:
        return _KINDS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and type(None) in inner:
        rest = tuple(part for part in inner if part is not type(None))
        kind = _kind(typing.Union[rest])  # noqa: UP007 (made from a tuple)
        return None if kind is None else f"{kind}?"
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        kind = _kind(inner[0])
        return None if kind is None else f"{kind}[]"
    return None


def _returned(hint: object) -> str | None:
    if hint is None or hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        kinds = [_kind(part) for part in typing.get_args(hint)]
        return None if None in kinds else f"({', '.join(str(kind) for kind in kinds)})"
    return _kind(hint)
