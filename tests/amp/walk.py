"""Calls of all ops with their samples, in and outside of autocast."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np

from tests.ops.compare import build, cases, flatten, function_of, is_tensor

SAMPLES = defaultdict(list)
for _name, _sample in cases():
    if {"float32", "float64"} & set(_sample.dtypes):
        SAMPLES[_name].append(_sample)

CLOSE = {"rtol": 2.5e-2, "atol": 2.5e-2, "equal_nan": True}


def call(library, name, sample, dtype, lower):
    """The results of a call and its leaves, or the error; `lower` is None without autocast."""
    args, kwargs, leaves = build(sample, library, dtype, False, sample.grad)
    kind = None if lower is None else getattr(library, lower)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with library.autocast("cpu", dtype=kind, enabled=kind is not None):
                return flatten(function_of(name, library)(*args, **kwargs)), leaves
        except Exception as error:
            return error, leaves


def kinds(results):
    if isinstance(results, Exception):
        return "raises"
    return [str(x.dtype) if is_tensor(x) else type(x).__name__ for x in results]


def nodes(tensor):
    """The names of the last few nodes, as a tree."""

    def name(node, depth):
        if node is None or depth == 4:
            return None
        edges = tuple(name(edge, depth + 1) for edge, _ in node.next_functions)
        return node.name().rpartition("::")[2], edges

    return name(tensor.grad_fn, 0)


def graphs(results):
    return [nodes(x) for x in results if is_tensor(x)]


def close(ours, theirs):
    """Whether arrays agree as far as half precision goes, measured by their largest element."""
    if ours.shape != theirs.shape:
        return False
    finite = np.abs(theirs[np.isfinite(theirs)]) if theirs.dtype.kind in "fc" else ()
    scale = max(1.0, *finite) if len(finite) else 1.0
    return np.allclose(ours / scale, theirs / scale, **CLOSE)
