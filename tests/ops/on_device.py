"""Samples of ops on a device beside the same on another: results, first and second derivatives."""

from __future__ import annotations

import inspect

import numpy as np

import retrograd
from retrograd.backend import BACKENDS
from tests.ops.compare import build, cotangent, flatten, function_of, is_tensor, to_array


def moved(value, device):
    """Arguments on a device, with leaves there that require what theirs do."""
    if is_tensor(value):
        there = value.detach().to(device)
        return there.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, device) for item in value)
    return value


def says_where(function, args, kwargs, device):
    """Whether tensors among the arguments or, set here, ``device=`` name the device."""
    if any(is_tensor(x) for x in flatten([*args, *kwargs.values()])):
        return True
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return False
    kwargs["device"] = device
    return any(p.name == "device" or p.kind is p.VAR_KEYWORD for p in parameters)


def run(name, sample, dtype, device="cpu", library=retrograd, second=None):
    """Results, gradients and second derivatives of one sample, or the error of the call.

    None where nothing among the arguments says where the op is to run, as in ``block_diag()``.
    """
    second = sample.second if second is None else second
    args, kwargs, _ = build(sample, library, dtype, False, sample.grad)
    if device != "cpu":
        if not says_where(function_of(name, library), args, kwargs, device):
            return None
        args = moved(args, device)
        kwargs = {key: moved(value, device) for key, value in kwargs.items()}
    leaves = [x for x in _tensors([*args, *kwargs.values()]) if x.requires_grad]
    library.manual_seed(0)
    results = flatten(function_of(name, library)(*args, **kwargs))
    first = _gradients(results, leaves, second, device, library)
    again = [g for g in first if g is not None and g.requires_grad]
    more = _gradients(again, leaves, False, device, library) if second else []
    return [*results, *first, *more]


def _tensors(values):
    return [x for x in flatten(list(values)) if is_tensor(x)]


def _gradients(results, leaves, create, device, library):
    outputs = [r for r in _tensors(results) if r.requires_grad]
    if not outputs or not leaves:
        return []
    starts = [cotangent(r, library, i) for i, r in enumerate(outputs)]
    if device != "cpu":
        starts = moved(starts, device)
    return list(
        library.autograd.grad(outputs, leaves, starts, create_graph=create, allow_unused=True)
    )


def agree(ours, theirs, device, loose, numbers=True):
    """The same values and types, and ours in arrays of the device.

    loose    by the dtype's name: the distance that is allowed; "" for all others
    numbers  whether values are compared; else shapes and types only
    """
    assert len(ours) == len(theirs), f"{len(ours)} results, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:  # no gradient, where the other library may give zeros
            some = b if a is None else a
            assert some is None or not to_array(some.cpu()).any(), "a gradient of one only"
            continue
        if not is_tensor(b):
            assert a == b or (a != a and b != b), f"{a}, not {b}"
            continue
        assert is_tensor(a) and type(a._array) in BACKENDS, f"a {type(a).__name__}"
        assert a.device.type == device, f"on {a.device}"
        assert tuple(a.shape) == tuple(b.shape), f"{tuple(a.shape)}, not {tuple(b.shape)}"
        assert str(a.dtype) == str(b.dtype), f"{a.dtype}, not {b.dtype}"
        if numbers:
            far = loose.get(str(b.dtype).removeprefix("torch."), loose[""])
            found, expected = to_array(a.cpu()), to_array(b.cpu())
            np.testing.assert_allclose(found, expected, rtol=far, atol=far)
