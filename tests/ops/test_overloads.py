"""``torch.ops.aten``: the names of PyTorch's ops, and which of them each call of an op here is."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.engine.state import set_op_modes
from retrograd.ops.calling.aten_calls import CALLS, OTHER_ORDER
from retrograd.ops.calling.aten_names import overload_name, overload_table
from retrograd.ops.calling.overloads import _public_function
from retrograd.ops.registry import OPS
from tests.ops.compare import build, function_of, to_array

torch = pytest.importorskip("torch")
dispatch_modes = pytest.importorskip("torch.utils._python_dispatch")
pytestmark = pytest.mark.torch


def test_the_table_is_pytorchs() -> None:
    for name, overloads in overload_table().items():
        assert tuple(getattr(torch.ops.aten, name).overloads()) == overloads, name


@pytest.mark.parametrize("text", ["mm.default", "add.Tensor", "sum.dim_IntList", "relu_.default"])
def test_objects_describe_themselves_alike(text: str) -> None:
    def told(library: Any) -> list[Any]:
        packet = getattr(library.ops.aten, text.split(".")[0])
        overload = getattr(packet, text.split(".")[1])
        facts = [repr(packet), str(packet), packet.__name__, packet.overloads(), list(packet)]
        facts += [repr(overload), str(overload), overload.name(), overload.__name__]
        facts += [overload.namespace, overload._overloadname, overload.overloadpacket is packet]
        facts += [overload is getattr(packet, text.split(".")[1]), packet.__module__]
        facts += [overload.__module__, repr(library.ops.aten), str(type(packet).__name__)]
        facts += [type(overload).__name__, packet._qualified_op_name]
        return facts

    assert told(retrograd) == told(torch)


def test_unknown_names_are_told_as_pytorch_tells_them() -> None:
    def told(library: Any) -> list[str]:
        found = []
        for path in ("foo", "mm.foo", "mm.default.foo"):
            with pytest.raises(AttributeError) as raised:
                place = library.ops.aten
                for part in path.split("."):
                    place = getattr(place, part)
            found.append(str(raised.value))
        return found

    assert told(retrograd) == told(torch)


def test_there_is_one_object_of_each() -> None:
    add = retrograd.ops.aten.add
    assert pickle.loads(pickle.dumps(add.Tensor)) is add.Tensor
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy({add.Tensor: add}) == {add.Tensor: add}
    with pytest.raises(AttributeError):
        retrograd.ops.no_such_namespace  # noqa: B018


def test_every_op_has_a_name_that_exists() -> None:
    no_arguments = (None,) * 9
    for op in OPS.values():
        forms = ["", *(["_"] if op.inplace_name else []), *(["out"] if op.out else [])]
        for form in forms:
            space, name, overload = overload_name(op, no_arguments, form).split(".")
            packet = getattr(getattr(retrograd.ops, space), name)
            assert overload in packet.overloads(), (op.name, form)
            if space == "aten":
                assert overload in getattr(torch.ops.aten, name).overloads(), (op.name, form)


# ----------------------------------------------------------------------------------- the calls


class TheirLog(dispatch_modes.TorchDispatchMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if str(function) not in IGNORED:
            self.log.append(str(function))
        return function(*args, **(kwargs or {}))


IGNORED = ("aten.detach.default", "aten.lift_fresh.default", "aten.scalar_tensor.default")


class OurLog:
    def __init__(self) -> None:
        self.log: list[str] = []

    def __enter__(self) -> OurLog:
        set_op_modes((self,))
        return self

    def __exit__(self, *exception: object) -> None:
        set_op_modes(())

    def run(self, op: Any, args: Any, targets: Any, form: str, compute: Any) -> Any:
        self.log.append(overload_name(op, args, form))
        return compute()


# PyTorch computes these with several ops, or with another one for some arguments
COMPOSED = {
    *("isfinite", "isreal", "argsort", "sum_to_size", "linalg_inv_ex", "linalg_cholesky_ex"),
    *("linalg_svd", "linalg_solve_ex", "linalg_lu_factor_ex", "linalg_eigh", "linalg_pinv"),
}


def samples() -> Iterator[Any]:
    for name, op in OPS.items():
        if op.samples is not None and name not in COMPOSED and not name.startswith("_"):
            yield pytest.param(op, id=name)


@pytest.mark.parametrize("op", list(samples()))
def test_calls_are_the_same_overload_as_in_pytorch(op: Any) -> None:
    compared = 0
    for sample in list(op.samples())[:6]:
        if op.name in ("all", "any") and None in sample.args:
            continue  # a dimension of None is another overload there than none at all
        try:
            theirs = log_of(op.name, sample, torch, TheirLog())
        except Exception:
            continue  # PyTorch refuses the sample, in float32 perhaps
        assert log_of(op.name, sample, retrograd, OurLog()) == theirs, sample
        compared += 1
    if not compared:
        pytest.skip("PyTorch refuses every sample in float32")


def log_of(name: str, sample: Any, library: Any, log: Any) -> list[str]:
    args, kwargs, _ = build(sample, library, "float32", False, sample.grad)
    with log, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function_of(name, library)(*args, **kwargs)
    return list(log.log)


def test_ops_are_called_with_pytorchs_arguments() -> None:
    """What resolves to a public function takes the op's parameters, in the op's order."""
    renamed = {
        "self": "input",
        "L": "input",
        "A": "input",
        "B": "input",
        "x": "input",
        "b": "input",
    }
    renamed |= {"tensor": "input", "tensor1": "tensor", "dividend": "input", "divisor": "other"}
    lists = {"split_size_or_sections", "indices_or_sections"}
    wrong = {}
    for name in overload_table():
        function = None if name in CALLS or name in OTHER_ORDER else _public_function(name)
        if function is None:
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            continue  # takes what the function it stands for takes
        ours = [renamed.get(p.name, p.name) for p in parameters if p.kind is not p.KEYWORD_ONLY]
        if lists & set(ours):
            continue  # one parameter for two overloads
        packet = getattr(torch.ops.aten, name)
        forms = []
        for overload in packet.overloads():
            arguments = getattr(packet, overload)._schema.arguments
            forms.append([renamed.get(a.name, a.name) for a in arguments if not a.kwarg_only])
        if not any(ours[: len(form)] == form for form in forms):
            wrong[name] = (ours, forms)
    expected = {"cholesky_solve", "linalg_lstsq", "linalg_solve_triangular", "linalg_tensorsolve"}
    expected |= {"lu_solve", "orgqr", "resize_as", "result_type", "rrelu_", "smm"}  # the same order
    assert set(wrong) <= expected, wrong


CALLED = {
    "mm.default": lambda t, x: (x, x),
    "add.Tensor": lambda t, x: (x, 2),
    "_softmax.default": lambda t, x: (x, 1, False),
    "_log_softmax.default": lambda t, x: (x, 1, False),
    "slice.Tensor": lambda t, x: (x, -1, 1, 9223372036854775807, 1),
    "select.int": lambda t, x: (x, 1, 0),
    "index.Tensor": lambda t, x: (x, [None, t.tensor([2, 0])]),
    "_unsafe_view.default": lambda t, x: (x, [-1]),
    "view.default": lambda t, x: (x, [9]),
    "sum.dim_IntList": lambda t, x: (x, [1], True),
    "relu_.default": lambda t, x: (x.clone(),),
    "expand.default": lambda t, x: (x, [2, 3, 3]),
    "linalg_vector_norm.default": lambda t, x: (x, 1.0),
    "embedding.default": lambda t, x: (x, t.tensor([1, 1])),
    "where.self": lambda t, x: (x > 4, x, x * 2),
    "split.Tensor": lambda t, x: (x, 2, 1),
    "_to_copy.default": lambda t, x: (x,),
}


@pytest.mark.parametrize("text", CALLED)
def test_overloads_can_be_called(text: str) -> None:
    def called(library: Any) -> Any:
        x = library.arange(9.0).reshape(3, 3)
        name, overload = text.split(".")
        result = getattr(getattr(library.ops.aten, name), overload)(*CALLED[text](library, x))
        return [to_array(r) for r in (result if isinstance(result, (list, tuple)) else [result])]

    for ours, theirs in zip(called(retrograd), called(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, strict=True)


@pytest.mark.parametrize("name", ["_scaled_dot_product_flash_attention", "mse_loss", "tensordot"])
def test_what_cannot_be_called_says_so(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"calling torch.ops.aten.{name}") as raised:
        getattr(retrograd.ops.aten, name).default(retrograd.ones(2), retrograd.ones(2))
    assert raised.value.code == "RG901"
