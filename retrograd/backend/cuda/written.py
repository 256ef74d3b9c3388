"""CUDA C of elementwise kernels, written from what `backend.expressions` finds that they do.

A kernel goes over the result in groups of elements that lie side by side, in the order in which the
result lies in memory. `Layout` says how many dimensions are left when neighbours are joined, how
wide a group is, and for each operand how it moves along the innermost one: whole groups at a time,
not at all, or by steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.cuda.launch import text_of
from retrograd.backend.expressions import Expression, Untraceable, Value

C_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
}
HALVES = ("float16", "bfloat16")
# primitives whose operands have another type than the result
_TO_TRUTH = {
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
    *("isnan", "isinf", "isfinite", "signbit"),
}
_REAL_ONLY = {
    *("divide", "reciprocal", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
    *("arcsinh", "arccosh", "arctanh", "erf", "expit"),
    *("copysign", "arctan2", "hypot", "nextafter", "power"),
}
_ANY = {
    *("add", "subtract", "multiply", "negative", "positive", "conjugate", "square", "absolute"),
    *("sign", "maximum", "minimum", "fmax", "fmin", "where", "invert"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
    *("floor", "ceil", "trunc", "rint", "fmod", "remainder", "floor_divide"),
}


class Layout(NamedTuple):
    """How a kernel goes over memory.

    dims    dimensions that are left; the innermost is the last
    width   elements in a group
    moves   of each operand along the innermost: v(ector), b(roadcast) or s(teps)
    small   places fit into 32 bits
    """

    dims: int
    width: int
    moves: str
    small: bool


class Parameter(NamedTuple):
    """A number that is given at each launch, in place of a constant of the expression."""

    number: int
    dtype: str


def c_type(dtype: DType, *, computed: bool = False) -> str:
    """The type of an element in memory, or of what is computed with."""
    name = dtype.name
    if computed and name in HALVES:
        return "float"
    try:
        return C_TYPES[name]
    except KeyError:
        raise Untraceable(f"{name} has no type in CUDA C here") from None


def _literal(number: Any, kind: str) -> str:
    if isinstance(number, complex):
        raise Untraceable("a complex number")
    if isinstance(number, bool):
        return f"({kind}){int(number)}"
    if isinstance(number, int):
        if not -(2**63) <= number < 2**64:
            raise Untraceable(f"{number} has more than 64 bits")
        if number >= 2**63:
            return f"({kind}){number}ULL"
        return f"({kind})({number + 1}LL - 1)" if number == -(2**63) else f"({kind}){number}LL"
    if math.isnan(number):
        return f"({kind})NOT_A_NUMBER"
    if math.isinf(number):
        return f"({kind})({'-' if number < 0 else ''}INFINITE)"
    return f"({kind}){float(number)!r}"


def _common(operands: Sequence[Any]) -> DType:
    """The type in which NumPy's function takes its operands."""

    def kind(operand: Any) -> Any:
        if isinstance(operand, Parameter):
            return 1.0 if operand.dtype == "double" else 1
        return operand.dtype if isinstance(operand, Value) else operand

    found: DType = np.result_type(*[kind(operand) for operand in operands])
    return found


class Body:
    """The function that computes one element."""

    def __init__(self, name: str, expression: Expression, numbers: Sequence[str]) -> None:
        self.name = name
        self.names: dict[Value, str] = {}
        self.lines: list[str] = []
        self.inputs = [v for v in expression.values if v.primitive == "input"]
        self.results = expression.results
        self.numbers = numbers
        for value in expression.values:
            self._put(value)

    def _put(self, value: Value) -> None:
        if value.primitive == "constant":
            return
        kind = c_type(value.dtype, computed=True)
        self.names[value] = name = f"v{len(self.names)}"
        if value.primitive == "input":
            return
        text = self._computed(value, kind)
        if value.dtype.name in HALVES:  # and rounded, after each step
            text = f"widened(Stored<{value.dtype.name}>::from({text}))"
        self.lines.append(f"const {kind} {name} = {text};")

    def _computed(self, value: Value, kind: str) -> str:
        primitive, operands = value.primitive, value.operands
        if primitive == "astype":
            given = self._operand(operands[0], self._kind_of(operands[0]))
            return f"Stored<{kind}>::from({given})"
        if primitive == "where":
            mask, *choices = operands
            return f"do_where({self._operand(mask, 'bool')}, " + (
                ", ".join([self._operand(o, kind) for o in choices]) + ")"
            )
        if primitive in _TO_TRUTH:
            kind = c_type(_common(operands), computed=True)
        elif primitive in _REAL_ONLY:
            if value.dtype.kind != "f" and value.dtype.name not in HALVES:
                raise Untraceable(f"{primitive} of {value.dtype}")
        elif primitive not in _ANY:
            raise Untraceable(f"{primitive} is not written in CUDA C")
        if primitive in ("fmod", "remainder", "floor_divide", "negative") and kind == "bool":
            raise Untraceable(f"{primitive} of truth values")
        return f"do_{primitive}({', '.join([self._operand(o, kind) for o in operands])})"

    def _kind_of(self, operand: Any) -> str:
        return c_type(_common([operand]), computed=True)

    def _operand(self, operand: Any, kind: str) -> str:
        if isinstance(operand, Value) and operand.primitive != "constant":
            own = c_type(operand.dtype, computed=True)
            name = self.names[operand]
            return name if own == kind else f"Stored<{kind}>::from({name})"
        number = operand.operands[0] if isinstance(operand, Value) else operand
        text = (
            f"({kind})number_{number.number}"
            if isinstance(number, Parameter)
            else _literal(number, kind)
        )
        if isinstance(operand, Value) and operand.dtype.name in HALVES:
            text = f"widened(Stored<{operand.dtype.name}>::from({text}))"
        elif isinstance(operand, Value) and c_type(operand.dtype) != kind:
            text = f"({kind})({c_type(operand.dtype)}){text}"
        return text

    def __str__(self) -> str:
        given = [f"const {c_type(v.dtype, computed=True)} {self.names[v]}" for v in self.inputs]
        given += [f"const {kind} number_{n}" for n, kind in enumerate(self.numbers)]
        kinds = [c_type(v.dtype, computed=True) for v in self.results]
        given += [f"{kind} &r{n}" for n, kind in enumerate(kinds)]
        lines = [*self.lines]
        for n, (value, kind) in enumerate(zip(self.results, kinds, strict=True)):
            lines.append(f"r{n} = {self._operand(value, kind)};")
        body = "\n".join(f"    {line}" for line in lines)
        return f"__device__ __forceinline__ void {self.name}({', '.join(given)}) {{\n{body}\n}}\n"


def kernel_text(
    name: str,
    expression: Expression,
    numbers: Sequence[str],
    stored: Sequence[str],
    kept: Sequence[str],
    layout: Layout,
) -> str:
    """A kernel and the function that it calls.

    numbers  the C types of the numbers given at a launch: double or long long
    stored   the C types of the operands in memory
    kept     those of the results
    """
    body = Body(f"{name}_of_one", expression, numbers)
    computed = [c_type(v.dtype, computed=True) for v in body.inputs]
    made = [c_type(v.dtype, computed=True) for v in body.results]
    dims, width, moves, small = layout
    place = "unsigned" if small else "index_t"
    given = [f"const {kind} *__restrict__ in{k}" for k, kind in enumerate(stored)]
    given += [f"{kind} *__restrict__ out{k}" for k, kind in enumerate(kept)]
    given += [f"const {kind} number_{n}" for n, kind in enumerate(numbers)]
    given += ["const index_t all"]
    given += [f"const index_t size_{d}" for d in range(dims - 1)]  # from the innermost outwards
    for k, move in enumerate(moves):
        given += [f"const index_t step_{k}_{d}" for d in range(0 if move == "s" else 1, dims)]
    lines = [f"const {place} count = ({place})((all + {width - 1}) / {width});"]
    put = lines.append
    put(f"const {place} turn = ({place})gridDim.x * blockDim.x;")
    put(
        f"for ({place} i = ({place})blockIdx.x * blockDim.x + threadIdx.x; i < count; i += turn) {{"
    )
    if dims > 1:
        put(f"    {place} rest = i;")
        for d in range(dims - 1):
            put(f"    const {place} at_{d} = rest % ({place})size_{d};")
            put(f"    rest /= ({place})size_{d};")
        put(f"    const {place} at_{dims - 1} = rest;")
    else:
        put(f"    const {place} at_0 = i;")
    for k, move in enumerate(moves):
        terms = {"v": [f"(index_t)at_0 * {width}"], "b": [], "s": [f"at_0 * step_{k}_0"]}[move]
        terms += [f"at_{d} * step_{k}_{d}" for d in range(1, dims)]
        put(f"    const index_t from_{k} = {' + '.join(terms) or '0'};")
    for n, kind in enumerate(kept):
        put(f"    Pack<{kind}, {width}> to_{n};")
    ragged = dims == 1 and width > 1
    if ragged:
        put(f"    if ((index_t)(i + 1) * {width} <= all) {{")
    for k, (kind, move) in enumerate(zip(stored, moves, strict=True)):
        if move == "v" and width > 1:
            put(f"    const Pack<{kind}, {width}> p{k} = "
                f"*reinterpret_cast<const Pack<{kind}, {width}> *>(in{k} + from_{k});")  # fmt: skip
        else:
            put(f"    const {kind} p{k} = in{k}[from_{k}];")

    def call(reads: list[str], writes: list[str]) -> str:
        results = [f"{kind} r{n};" for n, kind in enumerate(made)]
        operands = [f"({kind})widened({text})" for kind, text in zip(computed, reads, strict=True)]
        passed = [*operands, *[f"number_{n}" for n in range(len(numbers))]]
        passed += [f"r{n}" for n in range(len(made))]
        keeps = [f"{text} = Stored<{kind}>::from(r{n});"
                 for n, (text, kind) in enumerate(zip(writes, kept, strict=True))]  # fmt: skip
        return f"{' '.join(results)} {name}_of_one({', '.join(passed)}); {' '.join(keeps)}"

    reads = [f"p{k}.at[w]" if m == "v" and width > 1 else f"p{k}" for k, m in enumerate(moves)]
    put("#pragma unroll")
    put(f"    for (int w = 0; w < {width}; w++) {{ "
        f"{call(reads, [f'to_{n}.at[w]' for n in range(len(kept))])} }}")  # fmt: skip
    for n, kind in enumerate(kept):
        place_of = f"out{n} + (index_t)i * {width}"
        put(f"    *reinterpret_cast<Pack<{kind}, {width}> *>({place_of}) = to_{n};")
    if ragged:
        put("    } else")
        reads = [f"in{k}[from_{k}{' + w' if m == 'v' else ''}]" for k, m in enumerate(moves)]
        writes = [f"out{n}[(index_t)i * {width} + w]" for n in range(len(kept))]
        put(f"    for (int w = 0; (index_t)i * {width} + w < all; w++) {{ {call(reads, writes)} }}")
    put("}")
    text = "\n".join(f"    {line}" for line in lines)
    return (
        f'{body}\nextern "C" __global__ void __launch_bounds__(256)\n'
        f"{name}({', '.join(given)}) {{\n{text}\n}}\n"
    )


@cache
def beginning() -> str:
    """What stands before written kernels."""
    return text_of("primitives")
