"""Results lie in memory as PyTorch's do, whatever the layout of the operands."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SIZES = (2, 3, 4, 5)
layouts = st.tuples(
    st.permutations(range(4)),  # how the dimensions lie in memory, the slowest first
    st.sets(st.sampled_from(range(4)), max_size=2),  # expanded dimensions
    st.sets(st.sampled_from(range(4)), max_size=1),  # of which every second element is left out
    st.integers(0, 4),  # leading dimensions that are missing, and broadcast
    st.sampled_from(["float32", "float32", "float64", "int64"]),
)


def places(t: Any, x: Any, dim: int, values: Any) -> Any:
    """Indices along a dimension, which may be a short one."""
    return t.tensor(values).clamp(max=x.shape[dim] - 1)


UNARY: dict[str, Any] = {
    "sin": lambda t, x: x.sin(),
    "erf": lambda t, x: x.erf(),
    "times": lambda t, x: x * 2,
    "from": lambda t, x: 1 - x,
    "positive": lambda t, x: x > 0,
    "clone": lambda t, x: x.clone(),
    "clone in rows": lambda t, x: x.clone(memory_format=t.contiguous_format),
    "empty_like": lambda t, x: t.empty_like(x),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "full_like": lambda t, x: t.full_like(x, 2),
    "double": lambda t, x: x.to(t.float64, copy=True),
    "clamp": lambda t, x: x.clamp(1, 3),
    "masked_fill": lambda t, x: x.masked_fill(x > 3, 0),
    "sum": lambda t, x: x.sum(-1),
    "sum kept": lambda t, x: x.sum(0, keepdim=True),
    "mean": lambda t, x: x.double().mean(0),
    "amax": lambda t, x: x.amax(0),
    "any": lambda t, x: (x > 3).any(-1),
    "cumsum": lambda t, x: x.cumsum(0),
    "flip": lambda t, x: x.flip(0),
    "roll": lambda t, x: x.roll(1, 0),
    "rot90": lambda t, x: x.rot90(1, (0, -1)) if x.ndim > 1 else x,
    "sort": lambda t, x: x.sort(0).values,
    "argsort": lambda t, x: x.argsort(stable=True, dim=-1),
    "median": lambda t, x: x.median(0).values,
    "cummax": lambda t, x: x.cummax(0).values,
    "logcumsumexp": lambda t, x: x.double().logcumsumexp(0),
    "renorm": lambda t, x: x.double().renorm(1, 0, 2.0) if x.ndim > 1 else x,
    "index": lambda t, x: x[places(t, x, 0, [0, 1, 0])],
    "index last": lambda t, x: x[..., places(t, x, -1, [[0, 1], [1, 0]])],
    "index two": lambda t, x: (
        x[places(t, x, 0, [0, 1]), :, places(t, x, 2, [1, 0])] if x.ndim > 2 else x
    ),
    "index mask": lambda t, x: x[t.tensor([True, False])] if x.ndim == 4 else x,
    "index_fill": lambda t, x: x.index_fill(0, t.tensor([0]), 1),
    "index_put": lambda t, x: x.index_put((places(t, x, 0, [1]),), x[:1]),
    "masked_scatter": lambda t, x: x.masked_scatter(x > 3, x.clone()),
    "contiguous": lambda t, x: x.contiguous(),
}
BINARY: dict[str, Any] = {
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: t.sub(x, y, alpha=2),
    "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: x / (y + 1),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "less": lambda t, x, y: x < y,
    "where": lambda t, x, y: t.where(y > 2, x, y.to(x.dtype)),
    "pow": lambda t, x, y: t.pow(x.double(), y.double()),
    "addcmul": lambda t, x, y: t.addcmul(x.double(), y.double(), y.double()),
    "lerp": lambda t, x, y: t.lerp(x.double(), y.double(), 0.5),
    "from": lambda t, x, y: t.rsub(x, y),
}


def laid_out(t: Any, layout: Any) -> Any:
    """A tensor with one of the layouts."""
    axes, expanded, gaps, missing, dtype = layout
    own = [1 if dim in expanded else size for dim, size in enumerate(SIZES)]
    doubled = [size * 2 if dim in gaps else size for dim, size in enumerate(own)]
    count = 1
    for size in doubled:
        count *= size
    made = t.arange(count, dtype=getattr(t, dtype)).reshape([doubled[axis] for axis in axes])
    made = made.permute([axes.index(dim) for dim in range(4)])
    made = made[tuple(slice(None, None, 2 if dim in gaps else 1) for dim in range(4))]
    return made[(0,) * missing] if missing else made.expand(SIZES)


def seen(tensor: Any) -> Any:
    """What a program sees of the memory; where a dimension has one element its stride is open."""
    steps = [step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]
    formats = ("contiguous_format", "channels_last") if tensor.ndim == 4 else ()
    library = torch if isinstance(tensor, torch.Tensor) else retrograd
    found = [tensor.is_contiguous(memory_format=getattr(library, name)) for name in formats]
    return steps, tensor.is_contiguous(), found


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=layouts, second=layouts)
def test_layouts(first, second):
    for name, function in UNARY.items():
        if first[3] > 3:
            break  # a number: nothing to sum over
        theirs, ours = (function(t, laid_out(t, first)) for t in (torch, retrograd))
        assert seen(theirs) == seen(ours), name
    for name, function in BINARY.items():
        theirs, ours = (
            function(t, laid_out(t, first), laid_out(t, second)) for t in (torch, retrograd)
        )
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, err_msg=name)
        assert seen(theirs) == seen(ours), name


@pytest.mark.parametrize("order", ["channels_last", "contiguous_format"])
@pytest.mark.parametrize("weights", ["channels_last", "contiguous_format"])
def test_images(order: str, weights: str) -> None:
    """Convolution, its residual sum and the layers of images."""
    found = []
    for t in (torch, retrograd):
        functional = t.nn.functional
        image = t.ones(2, 4, 6, 6).contiguous(memory_format=getattr(t, order))
        weight = t.ones(4, 4, 3, 3).contiguous(memory_format=getattr(t, weights))
        out = functional.conv2d(image, weight, t.ones(4), padding=1)
        made = [
            out,
            out + t.ones(2, 4, 6, 6),
            t.ones(2, 4, 6, 6) + out,
            out * t.ones(1, 4, 1, 1),
            functional.batch_norm(out, None, None, training=True),
            functional.relu(out),
            functional.max_pool2d(out, 2),
            functional.interpolate(out, scale_factor=2),
        ]
        found.append([seen(each) for each in made])
    assert found[0] == found[1]
