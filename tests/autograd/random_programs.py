"""Random programs of ops, for comparisons: between libraries, and between engines."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st

# every function takes (library, x) or (library, x, y); domains are kept safe by construction
UNARY: dict[str, Any] = {
    "exp": lambda t, x: (x * 0.3).exp(),
    "sin": lambda t, x: t.sin(x),
    "tanh": lambda t, x: x.tanh(),
    "sigmoid": lambda t, x: t.sigmoid(x),
    "log": lambda t, x: (x * x + 1).log(),
    "sqrt": lambda t, x: (x * x + 0.5).sqrt(),
    "square": lambda t, x: x**2,
    "cube": lambda t, x: x**3 * 0.1,
    "reciprocal": lambda t, x: 1 / (x * x + 1),
    "neg": lambda t, x: -x,
    "clone": lambda t, x: x.clone(),
    "sum": lambda t, x: x.sum(),
    "sum_first": lambda t, x: x.sum(0) if x.ndim else x.sum(),
    "mean_last": lambda t, x: x.mean(-1, keepdim=True) if x.ndim else x,
    "max_last": lambda t, x: x.max(-1).values if x.ndim else x,
    "logsumexp": lambda t, x: x.logsumexp(-1) if x.ndim else x,
    "softmax": lambda t, x: x.softmax(-1) if x.ndim else x,
    "cumsum": lambda t, x: x.cumsum(0) if x.ndim else x,
    "prod": lambda t, x: (x * 0.5 + 1).prod(-1) if x.ndim else x,
    "var": lambda t, x: x.var() if x.numel() > 1 else x,
    "flatten": lambda t, x: x.flatten(),
    "transpose": lambda t, x: x.transpose(0, -1) if x.ndim else x,
    "unsqueeze": lambda t, x: x.unsqueeze(0) if x.ndim < 3 else x,
    "first": lambda t, x: x[0] if x.ndim else x,
    "even": lambda t, x: x[..., ::2] if x.ndim else x,
    "reversed": lambda t, x: x.flip(0) if x.ndim else x,
    "picked": lambda t, x: x[t.tensor([0, -1, 0])] if x.ndim else x,
    "masked": lambda t, x: x.masked_fill(x > 0.5, 0.25),
    "relu": lambda t, x: x.relu(),
    "clamped": lambda t, x: x.clamp(-0.7, 0.9),
    "repeated": lambda t, x: x.repeat(2) if x.ndim == 1 else x,
    "split": lambda t, x: x.split(1)[-1] if x.ndim else x,
    "tril": lambda t, x: x.tril() if x.ndim >= 2 else x,
    "sorted": lambda t, x: x.sort(-1).values if x.ndim else x,
    "norm": lambda t, x: (x + 0.1).norm(),
    "written": lambda t, x: x.clone().mul_(1.5).add_(0.25),
}
BINARY: dict[str, Any] = {
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: x - y,
    "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: x / (y * y + 1),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "where": lambda t, x, y: t.where(x > y, x, y * 2),
    "atan2": lambda t, x, y: t.atan2(x, y * y + 0.5),
    "matmul": lambda t, x, y: x @ y,
    "cat": lambda t, x, y: t.cat([x.flatten(), y.flatten()]),
    "stack": lambda t, x, y: t.stack([x, y]),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.3),
    "view_write": lambda t, x, y: _write_row(x, y),
}
SHAPES = ((), (3,), (2, 3), (3, 2), (1, 3), (3, 3), (2, 1, 3))


def _write_row(x: Any, y: Any) -> Any:
    if not x.ndim:
        return x * y.sum()
    copy = x.clone()
    copy[0] = y.sum() * 0.1
    return copy


steps = st.lists(
    st.tuples(
        st.sampled_from([*sorted(UNARY), *sorted(BINARY)]), st.integers(0, 30), st.integers(0, 30)
    ),
    min_size=1,
    max_size=12,
)


def run(library: Any, arrays: list[Any], program: list[Any], dtype: str) -> Any:
    leaves = [library.tensor(a, dtype=getattr(library, dtype), requires_grad=True) for a in arrays]
    pool = list(leaves)
    for name, i, j in program:
        x, y = pool[-1 - i % len(pool)], pool[j % len(pool)]
        try:
            made = UNARY[name](library, x) if name in UNARY else BINARY[name](library, x, y)
        except (RuntimeError, IndexError) as error:
            return type(error).__name__.replace("_", "")  # shapes that do not fit
        if made.numel() > 200:
            continue
        pool.append(made)
    total = sum((t.sum() * (0.5 + k) for k, t in enumerate(pool[len(leaves) :])), pool[0].sum())
    first = library.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    penalty = sum((g * g).sum() for g in first if g is not None)
    second: Any = [None] * len(leaves)
    if penalty.requires_grad:
        second = library.autograd.grad(penalty, leaves, retain_graph=True, allow_unused=True)
    total.backward()
    return pool, [leaf.grad for leaf in leaves], first, second
