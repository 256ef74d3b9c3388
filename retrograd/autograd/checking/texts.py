"""The longer messages of `gradcheck`."""

from __future__ import annotations

from retrograd.autograd.checking.case import Case

BATCHED = """
gradcheck or gradgradcheck failed while testing batched gradient computation.

`check_batched_grad=True` asks for the gradients of two starts at once, as Jacobians and Hessians
do, and compares them with the gradients of each alone. The usual cause is an operation in the
backward that has no rule for a batch. To leave this test out, pass `check_batched_grad=False`.
""".strip()

BATCHED_FORWARD = """
gradcheck failed while testing batched gradient computation with forward-mode AD.

`check_batched_forward_grad=True` asks for the tangents of two directions at once and compares them
with the tangents of each alone. To leave this test out, pass `check_batched_forward_grad=False`.
""".strip()

ONLY_FAST_FAILED = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

Fast mode compares sums over all elements, in which small differences add up. To compare element by
element, pass `fast_mode=False`.
""".strip()


_NO_RANDOM_NUMBERS = (
    "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
    "operations outside of vmap as a workaround"
)


def batched_failure(error: RuntimeError, text: str) -> str:
    """A batch of gradients that could not be computed."""
    # PyTorch's gradcheck runs an older vmap, which refuses random numbers in other words
    said = _NO_RANDOM_NUMBERS if "random operation" in str(error) else error
    return f"While computing batched gradients, got: {said}\n\n{text}"


def batched_mismatch(output: int, source: int, got: object, expected: object, text: str) -> str:
    """A batch of gradients that differs from the gradients one by one."""
    return (
        f"For output {output} and input {source}:\n\n{text}\n\nGot:\n{got}\n\nExpected:\n{expected}"
    )


def jacobian_mismatch(
    case: Case, analytical: object, numerical: object, output: int, source: int
) -> str:
    """A Jacobian, or its product with directions, that differs from finite differences."""
    part = "imaginary" if case.imaginary else "real"
    kind, place = ("inputs", source) if case.forward else ("outputs", output)
    mode = "computed with forward mode " if case.forward else ""
    start = ""
    if place in case.complex_places:
        start = f"While considering the {part} part of complex {kind} only, "
    return (
        f"{start}Jacobian {mode}mismatch for output {output} with respect to input {source},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def in_slow_mode(numerical: object, analytical: object, difference: object, close: bool) -> str:
    """What fast mode adds to a mismatch: the whole Jacobians."""
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\n"
        f"Analytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {difference}.\n"
    )
    return text + ONLY_FAST_FAILED if close else text
