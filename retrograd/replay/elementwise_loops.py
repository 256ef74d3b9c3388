"""`python -m retrograd.replay.elementwise_loops` writes the C loops of elementwise kernels anew.

A kernel that takes NumPy several passes over memory is one loop in C, and is not written a second
time for it: the loop is what `expressions.trace` finds that the kernel does, in the primitives that
replay's chains are made of. So results have NumPy's bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from retrograd import dtypes
from retrograd.backend.expressions import Expression, Operand, Value, trace

REAL, TRUTH = Operand(dtypes.F32), Operand(dtypes.B8)
# Stand for numbers that a call gives. They are no other constant of a kernel, and unusual: where a
# kernel has a shorter way for some numbers, these take the way that is right for all.
NUMBERS = (-0.375, 0.8125)
FIRST, SECOND = NUMBERS


class Loop(NamedTuple):
    """A function of `_rows`: what is traced, and the operands in the order of the function's.

    kinds  of these operands: r(eal array), t(ruth array), n(umber)
    """

    traced: str
    operands: tuple[Any, ...]
    kinds: str


LOOPS = {
    "relu": Loop("relu", (REAL,), "r"),
    "leaky_relu": Loop("leaky_relu", (REAL, FIRST), "rn"),
    "limited": Loop("clamp", (REAL, FIRST, SECOND), "rnn"),
    "not_below": Loop("xp.maximum", (FIRST, REAL), "nr"),
    "not_above": Loop("xp.minimum", (FIRST, REAL), "nr"),
    "limited_gradient": Loop("_hardtanh_gradient", (REAL, REAL, FIRST, SECOND), "rrnn"),
    "hardswish": Loop("hardswish", (REAL,), "r"),
    "hardsigmoid": Loop("hardsigmoid", (REAL,), "r"),
    "chosen": Loop("xp.where", (TRUTH, REAL, REAL), "trr"),
    "chosen_or_number": Loop("xp.where", (TRUTH, REAL, FIRST), "trn"),
    "number_or_chosen": Loop("xp.where", (TRUTH, FIRST, REAL), "tnr"),
    "squared_error": Loop("mse_loss", (REAL, REAL, 0), "rr"),
}

FOLDER = Path(__file__).parents[1] / "backend/kernels/rows"
_WRITTEN = "Written by `python -m retrograd.replay.elementwise_loops` from the kernels of the ops."


def _operand(operand: Any, names: dict[Value, str]) -> str:
    if isinstance(operand, Value) and operand.primitive != "constant":
        return names[operand]
    number = operand.operands[0] if isinstance(operand, Value) else operand
    if number in NUMBERS:
        return f"number_{NUMBERS.index(number)}"
    return f"NAMED(all)((REAL){float(number)!r})"


def _steps(expression: Expression) -> list[str]:
    """One line for each value, and one that keeps the result."""
    names: dict[Value, str] = {}
    lines = []
    for value in expression.values:
        if value.primitive == "constant":
            continue
        names[value] = f"v{len(names)}"
        if value.primitive == "input":
            read = "READ_TRUTH" if value.dtype == dtypes.B8 else "READ"
            text = f"{read}({value.operands[0]})"
        else:
            given = ", ".join(_operand(operand, names) for operand in value.operands)
            text = f"NAMED(do_{value.primitive})({given})"
        lines.append(f"const V {names[value]} = {text};")
    return [*lines, f"KEEP({names[expression.results[0]]});"]


def _function(name: str, loop: Loop) -> str:
    used = [f"number_{n}" for n in range(loop.kinds.count("n"))]
    numbers = [f"    const V {n} = NAMED(all)((REAL)work->numbers[{n[-1]}]);\n" for n in used]
    steps = _steps(trace(loop.traced, loop.operands, {}))
    body = "\n".join(f"        {step}" for step in steps)
    return (
        f"/* {loop.traced} */\nstatic void\n"
        f"NAMED({name})(const ElementWork *work, ptrdiff_t start, ptrdiff_t stop)\n{{\n"
        f"{''.join(numbers)}    FOR_ELEMENTS(\n{body}\n    );\n}}\n"
    )


def header() -> str:
    """The loops, for one type."""
    return f"/* {_WRITTEN} */\n\n" + "\n".join(_function(*each) for each in LOOPS.items())


def names() -> str:
    """Their names, and the kinds of their operands."""
    rows = [f'    X({name}, "{loop.kinds}")' for name, loop in LOOPS.items()]
    lines = " \\\n".join(f"{row:<32}" for row in ["#define ELEMENTWISE_LOOPS(X)", *rows])
    return f"/* {_WRITTEN} */\n{lines.rstrip()}\n"


def written() -> dict[str, str]:
    """The text of each file that is written."""
    return {"rows_elementwise.h": header(), "rows_elementwise_names.h": names()}


if __name__ == "__main__":
    for file, text in written().items():
        (FOLDER / file).write_text(text)
