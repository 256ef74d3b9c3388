"""The operations, views, writes and small functions that random programs are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.autograd.mixed_functions import functions


def is_expanded(x: Any) -> bool:
    """Whether elements share memory; strides of what has no elements say nothing of it."""
    return x.numel() > 0 and 0 in x.stride()


def is_dense(x: Any) -> bool:
    """Whether the elements fill one block of memory, each in a place of its own."""
    expected = 1
    for step, size in sorted(zip(x.stride(), x.shape, strict=True)):
        if size > 1:
            if step != expected:
                return False
            expected *= size
    return True


def overlaps(x: Any) -> bool:
    """Whether elements share memory in a way that PyTorch does not look for, as in `unfold`.

    What a write leaves there depends on the order of its loops.
    """
    if is_expanded(x) or not x.numel():
        return False
    places = np.zeros((), int)
    for step, size in zip(x.stride(), x.shape, strict=True):
        places = places[..., None] + step * np.arange(size)
    return bool(np.unique(places).size < places.size)


LARGEST = 48  # elements: programs stay small

UNARY: dict[str, Any] = {
    "sin": lambda t, x: x.sin(),
    "tanh": lambda t, x: x.tanh(),
    "sigmoid": lambda t, x: t.sigmoid(x),
    "neg": lambda t, x: -x,
    "exp": lambda t, x: (x * 0.5).exp(),
    "square": lambda t, x: x.square(),
    "pow": lambda t, x: x**3,
    "abs": lambda t, x: x.abs(),
    "clone": lambda t, x: x.clone(),
    "contiguous": lambda t, x: x.contiguous(),
    "sum": lambda t, x: x.sum(),
    "sum last": lambda t, x: x.sum(-1),
    "sum kept": lambda t, x: x.sum(0, keepdim=True),
    "mean": lambda t, x: x.mean(),
    "cumsum": lambda t, x: x.cumsum(0),
    "times": lambda t, x: x * 1.5,
    "plus": lambda t, x: x + 1,
    "from": lambda t, x: 2 - x,
    "over": lambda t, x: 1 / (x * x + 1),
    "softmax": lambda t, x: x.softmax(-1),
    "double": lambda t, x: x.double(),
    "float": lambda t, x: x.float(),
    "bfloat16": lambda t, x: x.to(t.bfloat16),
    "complex": lambda t, x: x.to(t.complex64),
    "flip": lambda t, x: x.flip(0),
    "cat": lambda t, x: t.cat([x, x * 2]),
    "stack": lambda t, x: t.stack([x, x.sin()]),
    "where": lambda t, x: t.where(x > 0, x, x * 0.25),
    "clamp": lambda t, x: x.clamp(-0.5, 0.75),
    "take": lambda t, x: x[t.tensor([0, 0])],
    "mask": lambda t, x: x[x > 0],
    "max": lambda t, x: x.amax(-1),
    "sort": lambda t, x: x.sort(-1)[0],
    "zeros": lambda t, x: t.zeros_like(x),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "dot": lambda t, x: (x * x.detach()).sum(),
    "index": lambda t, x: x.argmax().to(x.dtype),
}
BINARY: dict[str, Any] = {
    "mul": lambda t, x, y: x * y,
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: t.sub(x, y, alpha=2),
    "div": lambda t, x, y: x / (y * y + 1),
    "addcmul": lambda t, x, y: t.addcmul(x, x, y, value=0.5),
    "maximum": lambda t, x, y: t.maximum(x, y),
    # PyTorch squeezes some products in place; the sum has a version of its own
    "matmul": lambda t, x, y: x @ y + 0,
    "outer": lambda t, x, y: x.reshape(-1)[:3].outer(y.reshape(-1)[:3]),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.25),
    "cat": lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)]),
    "where": lambda t, x, y: t.where(x.detach().abs() > 0.4, x, y),
}
VIEWS: dict[str, Any] = {
    "t": lambda x: x.t(),
    "flat": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(-1),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "row": lambda x: x[0],
    "rows": lambda x: x[1:],
    "every second": lambda x: x[..., ::2],
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2, -1)[0],
    "detach": lambda x: x.detach(),
    "alias": lambda x: x.view_as(x),
    "diagonal": lambda x: x.diagonal(),
    "narrow": lambda x: x.narrow(-1, 0, 1),
    "squeeze": lambda x: x.squeeze(),
    "data": lambda x: x.data,
    "expand": lambda x: x.expand(2, *x.shape),
    "expand last": lambda x: x[..., None].expand(*x.shape, 2),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "pairs": lambda x: x.view_as_real() if hasattr(x, "view_as_real") else x,
    "swap": lambda x: x.transpose(0, -1),
    "same": lambda x: x.to(x.dtype),
    "strided": lambda x: x.as_strided((2,), (1,)),
    "unfold": lambda x: x.unfold(0, 2, 1),
    "nothing": lambda x: x[:0],
}
WRITES: dict[str, Any] = {
    "mul_": lambda x, y: x.mul_(y),
    "add_": lambda x, y: x.add_(y),
    "sub_": lambda x, y: x.sub_(y, alpha=0.5),
    "copy_": lambda x, y: x.copy_(y),
    "addcmul_": lambda x, y: x.addcmul_(y, y),
    "assign row": lambda x, y: x.__setitem__(0, y),
    "assign rest": lambda x, y: x.__setitem__(slice(1, None), y),
    "assign all": lambda x, y: x.__setitem__(Ellipsis, y),
    "lerp_": lambda x, y: x.lerp_(y, 0.5),
    # PyTorch warns that it will refuse expanded tensors here
    "masked_fill_": lambda x, y: (
        None if x._is_view() or is_expanded(x) else x.masked_fill_(x > 0, 0.5)
    ),
}
WRITES_ALONE: dict[str, Any] = {
    "tanh_": lambda x: x.tanh_(),
    "sin_": lambda x: x.sin_(),
    "sigmoid_": lambda x: x.sigmoid_(),
    "neg_": lambda x: x.neg_(),
    # recorded in an expanded tensor, these are refused here and done by PyTorch
    "zero_": lambda x: x.zero_() if not is_expanded(x) else None,
    "fill_": lambda x: x.fill_(0.75) if not is_expanded(x) else None,
    "times": lambda x: x.mul_(1.5),
    "plus": lambda x: x.add_(0.5),
    "clamp_": lambda x: x.clamp_(-0.5, 0.5),
    "assign": lambda x: x.__setitem__(0, 0.25),
    "t_": lambda x: x.t_(),
    "squeeze_": lambda x: x.squeeze_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "detach_": lambda x: x.detach_(),
    "square_": lambda x: x.square_(),
    "relu_": lambda x: x.relu_(),
}

# What small functions for checkpoint and the transforms may use, beside the binary operations.
SMOOTH = (
    "sin", "tanh", "sigmoid", "neg", "exp", "square", "pow", "clone", "sum", "times", "plus",
    "from", "over", "softmax", "cumsum", "stack", "max", "relu", "mean", "sum last",
    "take", "cat", "where", "abs", "double", "clamp", "index", "zeros",
)  # fmt: skip
FUNCTIONS_INSIDE = ("Product", "Separate", "OwnRule", "SavesOutput", "Once", "Sparing", "Viewed")
INSIDE_VIEWS = (
    "t", "flat", "row", "unsqueeze", "expand", "detach", "narrow", "diagonal", "rows", "unbind",
    "swap",
)  # fmt: skip
INSIDE_WRITES = ("mul_", "add_", "copy_", "assign row", "sub_")
INSIDE_WRITES_ALONE = ("tanh_", "zero_", "times", "neg_", "sin_", "assign")

# A line of a small function: ("unary", name, index) and so on; indices count what is there so far.
Line = tuple[Any, ...]


def evaluate(library: Any, lines: list[Line], values: list[Any]) -> Any:
    """Run a small function: each line adds a value, the last is the result."""
    values = list(values)
    for kind, name, *indices in lines:
        operands = [values[index % len(values)] for index in indices]
        result = _line(library, kind, name, operands)
        if result.numel() > LARGEST:
            result = result.sum()
        values.append(result)
    return values[-1]


def _line(library: Any, kind: str, name: str, operands: list[Any]) -> Any:
    if kind == "unary":
        return UNARY[name](library, operands[0])
    if kind == "binary":
        return BINARY[name](library, *operands)
    if kind == "view":
        return VIEWS[name](operands[0])
    if kind == "write":
        target = operands[0] * 1  # its own: inputs stay as they are
        if operands[1].ndim > target.ndim:  # inside of vmap PyTorch writes it all the same
            raise RuntimeError("the written tensor has fewer dimensions")
        WRITES[name](target, operands[1])
        return target
    if kind == "write alone":
        target = operands[0] * 1
        WRITES_ALONE[name](target)
        return target
    if kind == "write view":
        target = operands[0] * 1
        if operands[1].ndim > target.ndim:
            raise RuntimeError("the written tensor has fewer dimensions")
        target[:1].mul_(operands[1])
        return target
    if kind == "no_grad":
        with library.no_grad():
            return operands[0] * 2
    found = functions(library)[name].apply(*operands)
    return found[0] if isinstance(found, tuple) else found
