"""Run one sample of one op on PyTorch and on retrograd, and compare everything that can be seen."""

from __future__ import annotations

import functools
import warnings
import zlib
from typing import Any

import numpy as np

import retrograd
from retrograd.ops.registry import COMPOSITES, OPS
from retrograd.samples import COMPLEX, HALVES, Sample, T

# relative tolerances by dtype; gradients and second order get ten and a hundred times that
TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
TOLERANCE |= {"complex128": 1e-10, "complex64": 2e-5}


@functools.cache
def cases() -> list[tuple[str, Sample]]:
    """Every (name, sample) of every declared op and composite that has samples."""
    found: list[tuple[str, Sample]] = []
    for name, op in OPS.items():
        if op.samples is not None:
            found += [(name, sample) for sample in op.samples()]
    for name, composite in COMPOSITES.items():
        if composite.samples is not None:
            found += [(name, sample) for sample in composite.samples()]
    return found


def good_samples() -> dict[str, list[Sample]]:
    """The samples of every op and composite that has some, without those of errors."""
    found: dict[str, list[Sample]] = {}
    for name, sample in cases():
        kept = found.setdefault(name, [])
        if sample.error is None:
            kept.append(sample)
    return found


def function_of(name: str, library: Any) -> Any:
    """The public function of an op in a library: `torch.<namespace>.<name>`, or the method."""
    declared: Any = OPS.get(name) or COMPOSITES[name]
    namespace, public = declared.namespace, declared.name
    if namespace is not None:
        place = library
        if namespace != "torch":
            for part in namespace.split("."):
                place = getattr(place, part)
        return getattr(place, public)
    method = declared.methods[0] if declared.methods else public
    return lambda first, *args, **kwargs: getattr(first, method)(*args, **kwargs)


def build(sample: Sample, library: Any, dtype: str, noncontiguous: bool, grad: bool) -> Any:
    """The sample's arguments as tensors of a library, and the list of those with gradients."""
    seed = zlib.crc32(repr(sample).encode())
    generator = np.random.default_rng(seed)
    leaves: list[Any] = []

    def make(value: Any) -> Any:
        if isinstance(value, T):
            array = value.build(generator, dtype, noncontiguous)
            tensor = library.from_numpy(array)
            if (value.dtype or dtype) == "bfloat16":
                tensor = tensor.to(library.bfloat16)
            if grad and value.grad and tensor.dtype.is_floating_point | tensor.dtype.is_complex:
                tensor.requires_grad_(True)
                leaves.append(tensor)
            return tensor
        if isinstance(value, (list, tuple)) and any(isinstance(v, T) for v in value):
            return type(value)(make(v) for v in value)
        if isinstance(value, tuple) and value and not isinstance(value, slice):
            return tuple(make(v) for v in value)
        if isinstance(value, str) and value.startswith("dtype:"):
            return getattr(library, value[6:])
        return value

    args = [make(value) for value in sample.args]
    kwargs = {key: make(value) for key, value in sample.kwargs.items()}
    return args, kwargs, leaves


def flatten(result: Any) -> list[Any]:
    """Results as a flat list of tensors and plain values."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]


def is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "grad_fn")


def to_array(tensor: Any) -> Any:
    tensor = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16":
        tensor = tensor.to(tensor.float().dtype)
    return np.array(tensor.numpy(force=True))  # force: PyTorch's lazy zeros and conjugates


def assert_same(ours: Any, theirs: Any, tolerance: float, what: str) -> None:
    """Same shape, dtype and values (nan equal to nan)."""
    if not is_tensor(theirs):
        assert ours == theirs or (ours != ours and theirs != theirs), f"{what}: {ours} / {theirs}"
        return
    assert is_tensor(ours), f"{what}: {type(ours).__name__} instead of a tensor"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: shape {ours.shape}/{theirs.shape}"
    assert str(ours.dtype) == str(theirs.dtype), f"{what}: dtype {ours.dtype} / {theirs.dtype}"
    a, b = to_array(ours), to_array(theirs)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=what)


def cotangent(tensor: Any, library: Any, index: int) -> Any:
    generator = np.random.default_rng(1000 + index)
    name = str(tensor.dtype).removeprefix("torch.")
    values = generator.uniform(0.5, 1.5, tuple(tensor.shape))
    if name in COMPLEX:
        values = values + 1j * generator.uniform(-1, 1, tuple(tensor.shape))
    return library.from_numpy(np.asarray(values)).to(tensor.dtype)


def gradients(results: list[Any], leaves: list[Any], library: Any, create: bool) -> list[Any]:
    outputs = [r for r in results if is_tensor(r) and r.requires_grad]
    if not outputs:
        return []
    starts = [cotangent(r, library, i) for i, r in enumerate(outputs)]
    return list(
        library.autograd.grad(outputs, leaves, starts, create_graph=create, allow_unused=True)
    )


def run(
    name: str, sample: Sample, library: Any, dtype: str, noncontiguous: bool, second: bool
) -> dict[str, Any]:
    """Everything observable of one call: results, gradients, their gradients, or an error."""
    args, kwargs, leaves = build(sample, library, dtype, noncontiguous, sample.grad)
    seen: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function_of(name, library)(*args, **kwargs)
    except Exception as error:
        return {"error": error}
    seen["results"] = flatten(result)
    if sample.grad and leaves:
        first = gradients(seen["results"], leaves, library, second)
        seen["requires_grad"] = [r.requires_grad for r in seen["results"] if is_tensor(r)]
        seen["gradients"] = first
        if second:
            again = [g for g in first if g is not None and g.requires_grad]
            seen["second"] = gradients(again, leaves, library, False) if again else []
    return seen


def compare(name: str, sample: Sample, torch: Any, dtype: str, noncontiguous: bool = False) -> None:
    """Assert that PyTorch and retrograd agree on one sample in one dtype and layout."""
    second = sample.second and dtype in ("float64", "complex128")
    theirs = run(name, sample, torch, dtype, noncontiguous, second)
    ours = run(name, sample, retrograd, dtype, noncontiguous, second)
    if "error" in theirs or "error" in ours:
        compare_errors(ours.get("error"), theirs.get("error"))
        return
    tolerance = TOLERANCE[dtype]
    assert len(ours["results"]) == len(theirs["results"]), "number of results"
    for index, (a, b) in enumerate(zip(ours["results"], theirs["results"], strict=True)):
        own = str(getattr(b, "dtype", "")).removeprefix("torch.")
        assert_same(a, b, max(tolerance, TOLERANCE.get(own, 0)), f"result {index}")
    assert ours.get("requires_grad") == theirs.get("requires_grad"), "requires_grad of results"
    for key, factor in (("gradients", 10), ("second", 100)):
        loose = tolerance * (factor if dtype not in HALVES else 3)
        for index, (a, b) in enumerate(zip(ours.get(key, []), theirs.get(key, []), strict=True)):
            if a is None or b is None:
                # one library may return zeros where the other says "does not depend on it"
                some = a if a is not None else b
                assert some is None or not to_array(some).any(), f"{key} {index} is None in one"
                continue
            assert_same(a, b, loose, f"{key} {index}")


def compare_errors(ours: BaseException | None, theirs: BaseException | None) -> None:
    """The same exception type, or a subclass of it, and the same first words."""
    if theirs is None:
        raise AssertionError(f"only retrograd raised: {ours!r}") from ours
    assert ours is not None, f"only PyTorch raised: {theirs!r}"
    assert isinstance(ours, type(theirs)) or type(ours).__name__ == type(theirs).__name__, (
        f"{type(ours).__name__}({ours}) instead of {type(theirs).__name__}({theirs})"
    )
