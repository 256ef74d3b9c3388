"""Square brackets compared with real PyTorch: values, graphs, gradients, views, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def names(node: Any, depth: int = 12) -> Any:
    """The names of a graph as nested tuples."""
    if node is None or depth == 0:
        return None
    inner = [names(following, depth - 1) for following, _ in node.next_functions]
    return (type(node).__name__, *inner)


def sources(library: Any, kind: str) -> dict[str, Any]:
    """The variables that index expressions may use."""
    values = np.arange(24.0).reshape(2, 3, 4) / 7 - 1
    shapes = {
        "block": values,
        "line": values.reshape(-1)[:5].copy(),
        "scalar": values[0, 0, 0].copy(),
        "empty": np.zeros((3, 0)),
        "deep": np.arange(96.0).reshape(2, 3, 4, 2, 2) / 9,
    }
    leaf = library.from_numpy(np.asarray(shapes["block" if kind == "turned" else kind]))
    leaf.requires_grad_()
    x = leaf.transpose(0, 2) if kind == "turned" else leaf
    return {"x": x, "leaf": leaf, "i": library.tensor, "torch": library, "np": np}


def first_line(error: BaseException) -> tuple[str, str]:
    return type(error).__name__, str(error).split("\n")[0]


def array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def seen_of(library: Any, kind: str, expression: str) -> Any:
    """Everything that can be seen of `x[expression]`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _seen_of(library, kind, expression)


def _seen_of(library: Any, kind: str, expression: str) -> Any:
    scope = sources(library, kind)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(f"x[{expression}]", scope)
        except Exception as error:
            return first_line(error)
    seen: dict[str, Any] = {
        "warnings": [w.category.__name__ for w in caught],
        "shape": tuple(result.shape),
        "dtype": str(result.dtype),
        "view": result._is_view(),
        "graph": names(result.grad_fn),
        "values": array(result).tolist(),
    }
    weights = library.from_numpy(np.linspace(1, 2, array(result).size).reshape(result.shape))
    (first,) = library.autograd.grad(result, scope["leaf"], weights, retain_graph=True)
    seen["gradient"] = array(first).tolist()
    weights.requires_grad_()
    (again,) = library.autograd.grad(result**2, scope["leaf"], weights, create_graph=True)
    (second,) = library.autograd.grad((again**2).sum(), scope["leaf"], retain_graph=True)
    seen["second"] = array(second).tolist()
    (again,) = library.autograd.grad(result, scope["leaf"], weights, create_graph=True)
    seen["of weights"] = array(library.autograd.grad((again**2).sum(), weights)[0]).tolist()
    if seen["view"] and result.numel():
        with library.no_grad():
            result.fill_(50.0)
        seen["shared"] = array(scope["leaf"]).tolist()
    return seen


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple) or isinstance(ours, tuple):
        assert ours == theirs
        return
    for key, value in theirs.items():
        if key in ("gradient", "second", "of weights"):
            np.testing.assert_allclose(ours[key], value, rtol=1e-10, err_msg=key)
        else:
            assert ours[key] == value, key


BASIC = """
0|-1|2|-3|0,5|0,0,0|0,0,0,0|:|...|()|:,:|:,0|0,:|0:1|0:2|:,0:2|:,:,1:9|:,0:3|::2|::-1|::0|1:0|-1:|:,-3:
None|:,None|None,0|...,0|0,...|...,None|...,...|None,None,0,None|0,0,0,None|:,:,:,:|1:2,1:,::3|:,-2
1,...,1:|:,1:2,None|0,None,...,None,2|slice(i(0),i(1))|slice(None,None,i(2))|slice(0.5,1)|10**30
slice(np.int64(0),np.int64(1))|np.int64(1)|np.int64(1),np.int32(2)|np.array(1)|i(0)|i(-1)|:,i(0)|i(0),i(1)
1.0|None,1.0|{}|np.float64(1)|np.bool_(True)|:5|5:|-9:9|:-1|:0
"""
ADVANCED = """
True|False|:,True|0,True|i(True)|i(False)|True,False|True,i([0,1])|i(0,dtype=torch.uint8)|...,True
np.array([0,1])|np.array([True,False])|np.array([[0,1],[1,0]])|[0,1]|[True,False]|[0,1.5]|[]
[[0,1],[1,0]]|[0,1],[1,0]|[i([0]),i([1])]|[slice(0,1),0]|[0,None]|[i(0),i(1)]|[i(0),1]|range(2)|(0,1),|(0,1)
i([0,1])|i([0,5])|i([-3])|i([-1,-2])|i([0,1],dtype=torch.int32)|i([0,1],dtype=torch.int16)
i([0,1],dtype=torch.uint8)|i([0.,1])|i(0.)|i([],dtype=torch.int64)|i([[0,1]])|i([[0,1],[1,1]])
:,i([0,1])|:,:,i([0,1])|:,i([0,5])|i([0]),:,i([1])|:,i([0,2]),i([1,1])|0,:,i([1,2])|0,i([1,2])|i([0]),0
i([0,1]),0,i([1,0])|i([0,1]),None,i([1,0])|None,i([0,1])|i([0,1]),None|i([0,1]),...,i([1,2])|...,i([1,2])
i([0,1]),i([0,1,2])|i([[0],[1]]),i([0,1,2])|i([0,1]),1:|1:,i([0,1])|i([True,False])|i([True,False,True])
:,i([True,False])|:,i([True,False,True])|x>0|(x>0)[0]|(x>0)[:,:,0]|(x>0)[:,:,0],0|0,(x>0)[0]
i([True,False]),i([0])|i([True,True]),i([0,1,2])|i([True,True]),i([0,1])|i([0,1]),i([True,False,True])
i(0),i([0,1])|1:2,...,i([0,1])|0,i([0,1]),i([0,1]),i([0,1])|i([0,1]).reshape(2,1),:,i([0,1])
:,i([[0,1],[1,2]])|...,i([[0,1],[1,2]])|i([0]),i([9])|:,i([0]),i([9])|:0,i([9])|:0,i([1])|i([0,9]),:0
[0,1],:,[1,2]|:,[0,1],None|np.array([0,1]),1|x.detach()[0,0,:2].long()*0|i([1,1,1])|i([0,0]),i([1,1]),i([2,2])
"""
SCALAR = "0|None|...|()|True|False|i(True)|i([0])|:|1|i(0)|i([True])|None,True|None,i([0,0])"
EMPTY = ":,i([0])|i([5])|:,i([],dtype=torch.int64)|i([0]),i([0])|0|:,0|i([0,1])|:,:|x>0|0,None"
DEEP = """
i([0,1]),i([0,1]),i([0,1]),i([0,1]),i([0,1])|i([0]),:,i([1]),:,i([0])|:,i([0,2]),i([1]),i([0]),i([1,0])
i([0,1]),i([0,1]),i([0,1]),i([0,1])|i([0,1]),i([0,1]),i([0,1]),i([0,1]),i([0,9])|...,i([1]),0,i([1])
x.sum((2,3,4))>0|i([0,1]),x[0].sum((2,3))>0|None,i([0]),True,i([1,1]),i([0]),i([1]),i([1])
i([0,1]),i([0,1]),i([0,1]),i([0,1]),i([0,1,2])|0,i([0,1]),i([0,1]),0,i([0,1])
"""


def listed(text: str) -> list[str]:
    return [part for line in text.strip().split("\n") for part in line.split("|")]


CASES = (
    [("block", e) for e in listed(BASIC) + listed(ADVANCED)]
    + [("turned", e) for e in listed(BASIC) + listed(ADVANCED)]
    + [("scalar", e) for e in listed(SCALAR)]
    + [("empty", e) for e in listed(EMPTY)]
    + [("deep", e) for e in listed(DEEP)]
)


@pytest.mark.parametrize(("kind", "expression"), CASES)
def test_reading(kind: str, expression: str) -> None:
    same(seen_of(retrograd, kind, expression), seen_of(torch, kind, expression))


# ------------------------------------------------------------------------------------ writing

VALUES = {
    "number": "5.0",
    "truth": "True",
    "scalar": "v",
    "row": "w",
    "ones before": "w1",
    "block": "full",
    "numpy number": "np.float64(2)",
    "numpy integer": "np.int64(2)",
    "list": "[1, 2]",
    "array": "np.zeros(4)",
    "wrong": "torch.zeros(5, dtype=torch.float64)",
    "other dtype": "torch.ones(4)",
    "other scalar": "torch.tensor(2)",
    "complex": "1j",
}
TARGETS = listed(
    "0|-1|...|()|:|0,0,0|True|False|None|i([0,1])|i([1])|x>0|i(0)|[0,1]|0,i([1,2])|::-1|7|i([7])|(x>0)[0]|"
    ":,i([0,1])|:,0|1:,::2|0,...,None|i([0,1]),i([0,1])|i([0,1]),:,i([0,1])|:0|i([True,False])|True,0|0:9,0:9|"
    "1:2,i([0,1])|:,:,:,:|1.5|i([0,1]),i([0,1,2])|i([],dtype=torch.int64)"
)


def written(library: Any, target: str, value: str, tracked: bool, dtype: str = "float64") -> Any:
    """Everything that can be seen after `x[target] = value`."""
    kind = getattr(library, dtype)
    leaf = library.from_numpy(np.arange(24.0).reshape(2, 3, 4) / 7 - 1).requires_grad_(tracked)
    other = [np.asarray(2.0), np.arange(4.0), np.ones((1, 1, 4)), np.ones((2, 3, 4))]
    v, w, w1, full = (library.from_numpy(a).requires_grad_(tracked) for a in other)
    x = leaf * 1 if tracked else leaf.to(kind).clone()
    scope = {"x": x, "v": v, "w": w, "w1": w1, "full": full, "i": library.tensor}
    scope |= {"torch": library, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(f"x[{target}] = {value}", scope)
        except Exception as error:
            return first_line(error), array(x).tolist(), x._version
    seen: dict[str, Any] = {"values": array(x).tolist(), "version": x._version}
    if tracked:
        seen["graph"] = names(x.grad_fn)
        (x**2).sum().backward()
        found = [t.grad for t in (leaf, v, w, w1, full)]
        seen["gradient"] = [None if g is None else array(g).tolist() for g in found]
    return seen


def same_writing(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    for key, value in theirs.items():
        if key == "gradient":
            for a, b in zip(ours[key], value, strict=True):
                if a is None or b is None:
                    assert not np.any([part for part in (a, b) if part is not None])
                else:
                    np.testing.assert_allclose(a, b, rtol=1e-10)
        else:
            assert ours[key] == value, key


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "plain"])
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("target", TARGETS)
def test_writing(target: str, value: str, tracked: bool) -> None:
    same_writing(written(retrograd, target, value, tracked), written(torch, target, value, tracked))


@pytest.mark.parametrize("dtype", ["int64", "bool", "float32", "int8", "complex64", "float16"])
@pytest.mark.parametrize("value", ["2.7", "300", "v", "w", "1j", "1e10", "-1", "torch.ones(4)"])
@pytest.mark.parametrize("target", ["0", "i([0,1])", "x==x", ":,1"])
def test_writing_converts(target: str, value: str, dtype: str) -> None:
    ours = written(retrograd, target, value, False, dtype)
    same_writing(ours, written(torch, target, value, False, dtype))


@pytest.mark.parametrize(
    "statement",
    listed(
        "y[1:] = y[:-1]|y[i([0,1])] = y[i([1,0])]|y[:] = y|y[::2] = y[:3]|y[0] = y|y[...] = 1|"
        "y.reshape(5,1).expand(5,3)[:,0:2] = 2.|y[i([0,1,2])] = y[:3]|y[1:][0] = 9|"
        "y[1:][i([0,1])] = 7|y.view(1,5)[0,1:3] += 2|y[y > 2] *= 3|"
        "y[0], y[1] = y[1].clone(), y[0].clone()"
    ),
)
def test_writing_into_itself(statement: str) -> None:
    def run(library: Any) -> Any:
        y = library.from_numpy(np.arange(5.0))
        try:
            exec(statement, {"y": y, "i": library.tensor})
        except Exception as error:
            return first_line(error)
        return y.tolist(), y._version

    assert run(retrograd) == run(torch)


@pytest.mark.parametrize("target", listed("0|...|i([0])|leaf>0|:|False|None|1:2|i(0)|[0,1]"))
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
def test_writing_into_a_leaf(target: str, mode: str) -> None:
    def run(library: Any) -> Any:
        leaf = library.ones(3, requires_grad=True)
        with getattr(library, mode)():
            try:
                exec(f"leaf[{target}] = 2.0", {"leaf": leaf, "i": library.tensor})
            except Exception as error:
                return first_line(error)
        return leaf.tolist(), leaf._version, leaf.is_leaf, leaf.requires_grad

    assert run(retrograd) == run(torch)


def test_a_view_written_through_an_index_keeps_one_history() -> None:
    def run(library: Any) -> Any:
        leaf = library.arange(6.0, requires_grad=True)
        base = leaf * 2
        view = base.view(2, 3)
        view[0, library.tensor([0, 2])] = leaf[3:5] ** 2
        base[1] = leaf[5] * 3
        (view**2).sum().backward()
        return leaf.grad.tolist(), names(view.grad_fn), base._version

    assert run(retrograd) == run(torch)


@pytest.mark.parametrize(
    "expression", ["x[index]", "x[:, index]", "x.gather(0, index.view(-1, 1))"]
)
def test_an_index_written_before_backward_raises(expression: str) -> None:
    def run(library: Any) -> Any:
        x = library.ones(3, 3, requires_grad=True)
        index = library.tensor([0, 2])
        result = eval(expression, {"x": x, "index": index})
        index.add_(0)
        try:
            result.sum().backward()
        except RuntimeError as error:
            return str(error)[:100]

    assert run(retrograd) == run(torch)


@pytest.mark.parametrize(
    "expression", ["x[0]", "x[1:]", "x[None]", "x[i([0,1])]", "x[x>0]", "x[...]"]
)
def test_a_second_backward(expression: str) -> None:
    def run(library: Any) -> bool:
        x = library.ones(3, requires_grad=True)
        total = eval(expression, {"x": x, "i": library.tensor}).sum()
        total.backward()
        try:
            total.backward()
        except RuntimeError:
            return False
        return True

    assert run(retrograd) == run(torch)


# ------------------------------------------------------------------------------------- random


@st.composite
def expressions(draw: Any) -> str:
    """A random index of a tensor of shape (2, 3, 4): mostly valid, sometimes not."""
    number = st.integers(-4, 4).map(str)
    bound = st.one_of(st.just(""), st.integers(-5, 5).map(str))
    span = st.tuples(bound, bound, st.sampled_from(["", "", ":1", ":2", ":3"])).map(
        lambda parts: f"{parts[0]}:{parts[1]}{parts[2]}"
    )
    size = draw(st.sampled_from([1, 2, 3]))
    whole = st.lists(st.integers(-2, 1), min_size=size, max_size=size).map(lambda v: f"i({v})")
    table = st.lists(st.integers(0, 1), min_size=size, max_size=size).map(lambda v: f"i([{v},{v}])")
    plain = st.lists(st.integers(0, 1), min_size=1, max_size=3).map(str)
    truths = st.integers(2, 4).flatmap(
        lambda n: st.lists(st.booleans(), min_size=n, max_size=n).map(lambda v: f"i({v})")
    )
    rare = st.sampled_from(
        ["None", "...", "True", "False", "i(1)", "i([[True,False,True]]*2)", ":", ":"]
    )
    item = st.one_of(number, span, span, whole, whole, table, plain, truths, rare, rare)
    parts = draw(st.lists(item, min_size=1, max_size=5))
    assume(parts.count("...") < 2)
    return ",".join(parts)


@settings(max_examples=400, deadline=None)
@given(expressions(), st.sampled_from(["block", "turned"]))
def test_random_reading(expression: str, kind: str) -> None:
    same(seen_of(retrograd, kind, expression), seen_of(torch, kind, expression))


@settings(max_examples=300, deadline=None)
@given(expressions(), st.sampled_from(["5.0", "v", "w", "w1", "full"]), st.booleans())
def test_random_writing(target: str, value: str, tracked: bool) -> None:
    same_writing(written(retrograd, target, value, tracked), written(torch, target, value, tracked))
