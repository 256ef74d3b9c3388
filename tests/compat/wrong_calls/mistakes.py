"""The mistakes: every way in which a right call is made wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.compat.wrong_calls.functions import Call

# in the place of an argument
VALUES = (
    "[1.0, 2.0]", "'text'", "None", "True", "2", "-1", "-7", "9", "1.5", "2j", "()", "(1, 2)",
    "(-3,)", "{}", "object", "torch.float32", "torch.ones(7, 5)", "i(2, 3)", "b(2, 3)", "c(2, 3)",
    "torch.ones(0)", "torch.tensor(2)", "torch.ones(2, 1, 3, 1, 2, 1)", "np.ones(3)", "[f(2), 'x']",
    "[f(2), f(3)]", "torch.ones(3, dtype=torch.float64)", "leaf(2, 3)", "(1.5, 2)", "inf",
)  # fmt: skip
# in the place of the tensor whose method is called
RECEIVERS = (
    "i(2, 3)", "b(2, 3)", "c(2, 3)", "torch.ones(0)", "torch.tensor(2)", "torch.ones(7, 5)",
    "torch.ones(2, 1, 3, 1, 2, 1)", "leaf(2, 3)", "f(3)", "f(2, 3, 4)",
    "torch.ones(2, 3, dtype=torch.float16)", "torch.ones(2, 3, dtype=torch.float64)",
)  # fmt: skip
# one more, by name
OPTIONS = (
    ("unknown", "1"), ("dim", "0"), ("dim", "9"), ("dim", "-9"), ("dim", "'x'"), ("dim", "None"),
    ("dim", "True"), ("dim", "1.0"), ("dim", "(0, 0)"), ("axis", "5"), ("keepdim", "True"),
    ("keepdim", "1"), ("keepdim", "'x'"), ("dtype", "torch.int64"), ("dtype", "torch.bool"),
    ("dtype", "'float32'"), ("dtype", "torch.complex64"), ("out", "3"), ("out", "[1.0]"),
    ("out", "torch.ones(2, dtype=torch.int8)"), ("out", "leaf(2, 3)"), ("input", "f(2, 3)"),
    ("other", "f(2, 3)"), ("size", "(2, 3)"), ("alpha", "2"), ("alpha", "'x'"),
    ("device", "'nowhere'"), ("requires_grad", "1"), ("layout", "1"), ("generator", "1"),
    ("reduction", "'total'"),
    ("inplace", "True"), ("p", "-1"), ("eps", "'x'"), ("bias", "1"), ("weight", "1"),
    ("lr", "-1"), ("lr", "'x'"), ("weight_decay", "-1"), ("betas", "(2, 0.5)"),
)  # fmt: skip


def mistakes(call: Call) -> Iterator[Call]:
    """All wrong calls that one change makes of a right one; some are still right, as it is."""
    function, args, options = call
    yield call
    for place in range(len(args)):
        for value in VALUES:
            yield call._replace(args=(*args[:place], value, *args[place + 1 :]))
    for place, (name, _) in enumerate(options):
        for value in VALUES:
            yield call._replace(options=(*options[:place], (name, value), *options[place + 1 :]))
    receiver, _, method = function.rpartition(").")
    if receiver and receiver.startswith(("f(", "i(", "b(", "c(")):
        for value in RECEIVERS:
            yield call._replace(function=f"{value}.{method}")
    for place in range(len(args)):
        yield call._replace(args=args[:place] + args[place + 1 :])
    if len(args) > 1:
        yield call._replace(args=())
    for more in (("1",), ("'x'",), ("f(2, 3)",), ("1", "2", "3"), ("None",) * 9):
        yield call._replace(args=(*args, *more))
    known = {name for name, _ in options}
    for name, value in OPTIONS:
        if name not in known:
            yield call._replace(options=(*options, (name, value)))


def sampled(calls: list[Call], share: float, seed: str) -> list[Call]:
    """A part of some calls that is the same each time."""
    unique = list(dict.fromkeys(calls))
    if share >= 1:
        return unique
    return random.Random(seed).sample(unique, max(1, round(len(unique) * share)))
