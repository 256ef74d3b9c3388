"""In-place twins, `out=` and error messages of the gather, scatter, index and mask families."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.ops.registry import COMPOSITES, OPS
from retrograd.samples import Sample
from tests.ops.compare import build

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

IN_PLACE = (
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
    "masked_fill",
    "masked_scatter",
    "put",
)
WITH_OUT = (
    "gather",
    "index_select",
    "masked_select",
    "take",
    "nonzero",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_copy",
    "index_reduce",
)
OTHERS = ("gather", "index_select", "masked_select", "take", "take_along_dim", "unravel_index")


def samples_of(name: str) -> list[Sample]:
    composite = COMPOSITES.get(f"torch.{name}")
    return composite.samples() if composite is not None else OPS[name].samples()


def cases(names: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(name, sample, id=f"{name}-{sample}")
        for name in names
        for sample in samples_of(name)
    ]


def names_of(node: Any) -> Any:
    if node is None:
        return None
    return (type(node).__name__, *[names_of(following) for following, _ in node.next_functions])


def first_line(error: BaseException) -> tuple[str, str]:
    text = str(error).split("\n")[0].split(" - got")[0]  # PyTorch lists the signatures it knows
    return type(error).__name__, re.sub(r" \(position \d\)| in argument \d", "", text)


def in_place(library: Any, name: str, sample: Sample, tracked: bool) -> Any:
    args, kwargs, leaves = build(sample, library, "float64", False, tracked and sample.grad)
    first = args[0]
    target = first * 1 if first.requires_grad else first.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = getattr(target, name + "_")(*args[1:], **kwargs)
        except Exception as error:
            return first_line(error), target._version
    assert result is target
    seen: dict[str, Any] = {"values": target.detach().numpy(), "version": target._version}
    if target.requires_grad:
        seen["graph"] = names_of(target.grad_fn)
        weights = np.linspace(1, 2, target.detach().numpy().size).reshape(target.shape)
        found = library.autograd.grad(
            target, leaves, library.from_numpy(weights), allow_unused=True
        )
        seen["gradients"] = [None if g is None else g.numpy() for g in found]
    return seen


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "plain"])
@pytest.mark.parametrize(("name", "sample"), cases(IN_PLACE))
def test_in_place(name: str, sample: Sample, tracked: bool) -> None:
    ours = in_place(retrograd, name, sample, tracked)
    theirs = in_place(torch, name, sample, tracked)
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(theirs, tuple):
        if name == "masked_scatter":  # PyTorch reports the mask's own expansion
            assert ours[0][0] == theirs[0][0]
        else:
            assert ours == theirs
        return
    np.testing.assert_allclose(ours["values"], theirs["values"], rtol=1e-12)
    assert ours["values"].dtype == theirs["values"].dtype
    assert ours["version"] == theirs["version"]
    if "reduce" not in sample.kwargs:  # PyTorch cannot differentiate that form
        assert ours.get("graph") == theirs.get("graph")
    for a, b in zip(ours.get("gradients", []), theirs.get("gradients", []), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "sample"), cases((*IN_PLACE, *OTHERS)))
def test_error_messages(name: str, sample: Sample) -> None:
    def run(library: Any) -> Any:
        args, kwargs, _ = build(sample, library, "float64", False, False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                getattr(library, name)(*args, **kwargs)
            except Exception as error:
                return first_line(error)

    assert run(retrograd) == run(torch)


@pytest.mark.parametrize(("name", "sample"), cases(WITH_OUT))
def test_out(name: str, sample: Sample) -> None:
    def run(library: Any) -> Any:
        args, kwargs, _ = build(sample, library, "float64", False, False)
        kind = library.int64 if name == "nonzero" else args[0].dtype
        out = library.empty(0, dtype=kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = getattr(library, name)(*args, **kwargs, out=out)
            except Exception as error:
                return type(error).__name__
        assert result is out
        return out.numpy()

    ours, theirs = run(retrograd), run(torch)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
