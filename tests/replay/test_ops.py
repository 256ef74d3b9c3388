"""Every op's samples, recorded and run again on other numbers: results and gradients as ordinary.

A kernel that writes into its operands or draws in a way of its own would show here.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as torch
from retrograd.replay import binding
from retrograd.replay.binding import MISS, Plan, Unbindable
from retrograd.replay.recorder import Recorder
from tests.ops.compare import (
    build,
    cotangent,
    flatten,
    function_of,
    good_samples,
    is_tensor,
    to_array,
)

pytestmark = pytest.mark.slow
SAMPLES = good_samples()
NAMES = sorted(SAMPLES)

# No sample of these is replayed: elements decide what they do, or they change an argument itself.
NEVER = {
    *("None.squeeze_", "None.swapaxes_", "None.t_", "None.transpose_", "None.unsqueeze_"),
    *("bincount", "masked_select", "linalg.cholesky", "linalg.inv", "linalg.ldl_factor"),
    *("linalg.lu_factor", "linalg.solve", "linalg.solve_ex", "linalg.tensorinv"),
    *("linalg.tensorsolve", "nn.functional.embedding_bag", "torch.allclose", "torch.argwhere"),
    *("torch.as_strided_", "torch.embedding_renorm_", "torch.equal", "torch.histogramdd"),
    *("torch.inverse", "torch.is_nonzero", "torch.istft", "torch.nonzero", "torch.nonzero_static"),
    *("torch.segment_reduce", "torch.tril_indices", "torch.triu_indices", "torch.unique"),
    "torch.unique_consecutive",
}


@pytest.fixture(params=binding.EXECUTORS, ids=lambda kind: kind.__name__, autouse=True)
def executor(request, monkeypatch):
    monkeypatch.setattr(binding, "EXECUTORS", [request.param])


class Step:
    """One sample as a step: forward, and backward into the leaves among its arguments."""

    effects = ()

    def __init__(self, name, sample, dtype):
        self.function = function_of(name, torch)
        self.args, self.kwargs, _ = build(sample, torch, dtype, False, sample.grad)
        self.tensors = [x for x in flatten([*self.args, *self.kwargs.values()]) if is_tensor(x)]
        self.leaves = [x for x in self.tensors if x.requires_grad]
        self.starts = None

    def check(self, args, kwargs):
        return self.tensors

    def run(self):
        torch.manual_seed(0)
        results = flatten(self.function(*self.args, **self.kwargs))
        outputs = [r for r in results if is_tensor(r) and r.requires_grad]
        gradients = []
        if outputs and self.leaves:
            if self.starts is None:
                self.starts = [cotangent(r, torch, i) for i, r in enumerate(outputs)]
            gradients = torch.autograd.grad(outputs, self.leaves, self.starts, allow_unused=True)
        found = [*results, *gradients]  # times one: views of arguments stay inside
        return [r.detach() * 1 if is_tensor(r) else r for r in found]


def recorded(step):
    """The plan of a sample, or the reason that there is none; and what recording itself gave."""
    with Recorder() as recorder:
        for tensor in (*step.tensors, *(step.starts or ())):
            recorder.adopt(tensor)
        try:
            step.leaving = recorder.leaf(step.run)
            if recorder.tape.refusal is None:
                recorder.close_segment()
            if recorder.tape.refusal is None:
                return Plan(recorder, step), step.leaving
        except Unbindable as reason:
            recorder.refuse(str(reason))
    return recorder.tape.refusal, step.leaving


def agree(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if not is_tensor(b):
            assert a == b or (a != a and b != b) or isinstance(b, torch.Generator)
            continue
        assert a.shape == b.shape and a.dtype is b.dtype
        loose = 1e-10 if b.dtype.itemsize >= 8 else 1e-4
        np.testing.assert_allclose(to_array(a), to_array(b), rtol=loose, atol=loose)


@pytest.mark.parametrize("name", NAMES)
def test_samples(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = replayed = False
        for sample in SAMPLES[name]:
            dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[-1]
            first, step = Step(name, sample, dtype), Step(name, sample, dtype)
            try:
                expected = first.run()
            except Exception:
                continue  # bad arguments, which other tests compare with PyTorch
            ran = True
            step.starts = first.starts
            before = [np.array(to_array(x.detach()), copy=True) for x in step.tensors]
            plan, found = recorded(step)
            agree(found, expected)
            if isinstance(plan, str):
                continue
            for tensor, array in zip(step.tensors, before, strict=True):
                tensor._array[...] = array
            torch.manual_seed(0)
            again = plan.run((), {})
            assert again is not MISS
            agree(again, expected)
            replayed = True
        if not ran:
            pytest.skip("every sample is refused, as other tests compare")
        assert replayed == (name not in NEVER)
