"""The samples of an op as batches, and what a loop over the examples makes of them."""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.ops.registry import COMPOSITES, OPS
from retrograd.samples import Sample, T

SIZE = 2


def cases() -> dict[str, list[Sample]]:
    """The samples of every op and composite that has some."""
    declared: dict[str, Any] = {**OPS, **COMPOSITES}
    found = {name: entry.samples for name, entry in declared.items() if entry.samples is not None}
    return {name: samples() for name, samples in found.items()}


class Batch:
    """The arguments of one sample, two examples of each tensor."""

    def __init__(self, sample: Sample, dtype: str) -> None:
        self.sample = sample
        self.dtype = dtype
        self.tensors: list[list[Any]] = []  # of each tensor argument its examples
        self.trees = [self._taken(value) for value in (*sample.args, *sample.kwargs.values())]

    def _taken(self, value: Any) -> Any:
        """The argument with every tensor replaced by its number."""
        if isinstance(value, T):
            self.tensors.append([self._built(value, example) for example in range(SIZE)])
            return _Place(len(self.tensors) - 1)
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)([self._taken(item) for item in value])
        if isinstance(value, str) and value.startswith("dtype:"):
            return getattr(torch, value[6:])
        return value

    def _built(self, value: T, example: int) -> Any:
        seed = zlib.crc32(f"{self.sample!r} {len(self.tensors)} {example}".encode())
        array = value.build(np.random.default_rng(seed), self.dtype)
        return torch.from_numpy(array)

    def call(self, function: Any, tensors: Any) -> Any:
        """The function on the sample's arguments with these tensors."""
        given = [_put(tree, tensors) for tree in self.trees]
        count = len(self.sample.args)
        named = dict(zip(self.sample.kwargs, given[count:], strict=True))
        return function(*given[:count], **named)

    def by_loop(self, function: Any, batched: set[int]) -> list[Any]:
        """The results for every example, one after the other, stacked."""
        rows = []
        for example in range(SIZE):
            chosen = [e[example if k in batched else 0] for k, e in enumerate(self.tensors)]
            rows.append(leaves_of(self.call(function, [x.clone() for x in chosen])))
        return [
            torch.stack(list(column)) if isinstance(column[0], torch.Tensor) else column[0]
            for column in zip(*rows, strict=True)
        ]

    def by_vmap(self, function: Any, batched: set[int], *, last: bool = False) -> list[Any]:
        """The same by `vmap`; with `last` the batch is the last dimension of the inputs."""
        inputs = []
        for k, examples in enumerate(self.tensors):
            if k in batched:
                inputs.append(torch.stack(examples, -1 if last else 0))
            else:
                inputs.append(examples[0].clone())
        dims = tuple((-1 if last else 0) if k in batched else None for k in range(len(inputs)))
        plain: list[Any] = []

        def one(*tensors: Any) -> Any:
            leaves = leaves_of(self.call(function, tensors))
            plain[:] = leaves
            return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

        found = iter(torch.vmap(one, in_dims=dims)(*inputs))
        return [next(found) if isinstance(leaf, torch.Tensor) else leaf for leaf in plain]


class _Place:
    def __init__(self, number: int) -> None:
        self.number = number


def _put(tree: Any, tensors: Any) -> Any:
    if isinstance(tree, _Place):
        return tensors[tree.number]
    if isinstance(tree, (list, tuple)):
        return type(tree)([_put(item, tensors) for item in tree])
    return tree


def leaves_of(result: Any) -> list[Any]:
    """Results as a flat list."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves_of(part)]
    return [result]


_TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 3e-6, "complex64": 3e-6}


def compare(found: list[Any], expected: list[Any], scale: float = 1.0, least: float = 0.0) -> None:
    """Assert that two lists of results are alike: numbers, dtypes and shapes."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert a.dtype is b.dtype, (a.dtype, b.dtype)
        assert a.shape == b.shape, (a.shape, b.shape)
        tolerance = _TOLERANCE.get(str(b.dtype).removeprefix("torch."), 1e-11) * scale
        tolerance = max(tolerance, least)
        left, right = _numbers(a), _numbers(b)
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def _numbers(tensor: Any) -> Any:
    array = (
        tensor.detach().numpy() if tensor.dtype is not torch.bfloat16 else tensor.float().numpy()
    )
    return array.astype(np.float64) if array.dtype == np.float16 else array


# what PyTorch refuses to batch, too: starts of its messages
REFUSED = (
    "vmap: ",
    "Batching rule not implemented for aten::",
    "Batch norm got a batched tensor as input while the running_mean",
    "When vmap-ing torch.nn.functional.one_hot",
    "Error: aten::as_strided_scatter requires special handling",
    "vmap over torch.allclose isn't supported yet",
    "result = tensor.as_strided(",
)
# a batch of numbers is a tensor with a dimension to these, and may widen the type of the result
_OF_THREE = ("where", "addcmul", "addcdiv", "clamp")
# their results depend on how an example lies in memory
_BY_MEMORY = ("as_strided", "as_strided_", "as_strided_copy", "view", "view_as_complex")


def check(function: Any, sample: Sample, dtype: str, name: str = "") -> str:
    """Compare vmap with the loop in every choice of batched arguments; says what happened."""
    batch = Batch(sample, dtype)
    count = len(batch.tensors)
    if not count:
        return "no tensors"
    choices = [set(range(count))] + [{k} for k in range(count) if count > 1]
    by_memory = name in _BY_MEMORY
    outcome = "compared"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batched in choices:
            try:
                expected = batch.by_loop(function, batched)
            except Exception as error:
                _must_raise(batch, function, batched, error)
                continue
            for last in (False,) if by_memory else (False, True):
                try:
                    found = batch.by_vmap(function, batched, last=last)
                except RuntimeError as error:
                    if not str(error).startswith(REFUSED):
                        raise
                    outcome = "refused"
                    continue
                wanted, least = expected, 0.0
                if name in _OF_THREE and found[0].dtype is not expected[0].dtype:
                    assert found[0].dtype.itemsize > expected[0].dtype.itemsize
                    exactness = _TOLERANCE.get(str(expected[0].dtype).removeprefix("torch."), 0.0)
                    wanted, least = [expected[0].to(found[0].dtype)], exactness
                compare(found, wanted, least=least)
    return outcome


def _builtin(error: Exception) -> type:
    """Python's own class of an error."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _must_raise(batch: Batch, function: Any, batched: set[int], error: Exception) -> None:
    try:
        batch.by_vmap(function, batched)
    except Exception as found:
        if _builtin(found) is not _builtin(error) and not str(found).startswith(REFUSED):
            raise AssertionError(f"vmap raised {found!r}, the loop {error!r}") from found
        return
    raise AssertionError(f"vmap gave a result where the loop raised {error!r}")


# ----------------------------------------------------------------------------------- gradients


def check_gradients(function: Any, sample: Sample, dtype: str, *, inside: bool) -> str:
    """Compare gradients of and within vmap with those of the loop, all arguments batched."""
    batch = Batch(sample, dtype)
    leaves = [k for k, e in enumerate(batch.tensors) if e[0].dtype.is_floating_point]
    if not leaves or not sample.grad:
        return "no gradient"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = _gradients_by_loop(batch, function, leaves)
        except Exception:
            return "raises"
        if expected is None:
            return "no gradient"
        try:
            found = (_gradients_inside if inside else _gradients_outside)(batch, function, leaves)
        except (RuntimeError, NotImplementedError) as error:
            if not str(error).startswith(REFUSED) and "inside of vmap" not in str(error):
                raise
            return "refused"
    lowest = [_TOLERANCE.get(str(e[0].dtype).removeprefix("torch."), 0.0) for e in batch.tensors]
    compare(found, expected, 100.0, least=10 * max(lowest))
    return "compared"


def _weights(results: list[Any]) -> list[Any]:
    """Fixed gradients of the results."""
    weights = []
    for number, result in enumerate(results):
        generator = np.random.default_rng(number)
        array = generator.uniform(0.5, 1.5, tuple(result.shape))
        weights.append(torch.from_numpy(np.asarray(array)).to(result.dtype))
    return weights


def _carriers(result: Any) -> list[Any]:
    found = [x for x in leaves_of(result) if isinstance(x, torch.Tensor)]
    return [x for x in found if x.dtype.is_floating_point or x.dtype.is_complex]


def _gradients_by_loop(batch: Batch, function: Any, leaves: list[int]) -> list[Any] | None:
    rows = []
    for example in range(SIZE):
        given = [examples[example].clone() for examples in batch.tensors]
        for k in leaves:
            given[k].requires_grad_()
        results = [x for x in _carriers(batch.call(function, given)) if x.requires_grad]
        if not results:
            return None
        wanted = [given[k] for k in leaves]
        found = torch.autograd.grad(results, wanted, _weights(results), allow_unused=True)
        rows.append(
            [torch.zeros_like(x) if g is None else g for g, x in zip(found, wanted, strict=True)]
        )
    return [torch.stack(list(column)) for column in zip(*rows, strict=True)]


def _gradients_outside(batch: Batch, function: Any, leaves: list[int]) -> list[Any]:
    inputs = [torch.stack(examples) for examples in batch.tensors]
    for k in leaves:
        inputs[k].requires_grad_()

    def one(*tensors: Any) -> Any:
        return tuple(_carriers(batch.call(function, tensors)))

    results = [x for x in torch.vmap(one)(*inputs) if x.requires_grad]
    weights = [
        w.expand(x.shape) for w, x in zip(_weights([x[0] for x in results]), results, strict=True)
    ]
    wanted = [inputs[k] for k in leaves]
    found = torch.autograd.grad(results, wanted, weights, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, wanted, strict=True)]


def _gradients_inside(batch: Batch, function: Any, leaves: list[int]) -> list[Any]:
    inputs = [torch.stack(examples) for examples in batch.tensors]

    def one(*tensors: Any) -> Any:
        def of_leaves(*given: Any) -> Any:
            every = list(tensors)
            for k, value in zip(leaves, given, strict=True):
                every[k] = value
            # results without a gradient would not be weighted by the loop either
            return tuple(x for x in _carriers(batch.call(function, every)) if x.requires_grad)

        results, pull = torch.func.vjp(of_leaves, *[tensors[k] for k in leaves])
        return pull(tuple(_weights(list(results))))

    return list(torch.vmap(one)(*inputs))
