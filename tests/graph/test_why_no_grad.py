"""Why a parameter has no gradient: 22 programs with known answers, on both libraries."""

import copy
import gc
import inspect
import os
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd
from retrograd import graph
from retrograd.watching.cut_marks import MARK

KEPT: list[Any] = []
pytestmark = pytest.mark.filterwarnings("ignore:Converting a tensor")


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    KEPT.clear()
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


# Each case: p is the parameter that gets no gradient, q another one. The line with the mark is
# where the path ends.


def detach(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = (x @ p).detach()  # here
    return (h @ q).sum()


def data(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = (x @ p).tanh().data  # here
    return (h @ q).sum()


def parameter_data(torch: Any, p: Any, q: Any, x: Any) -> Any:
    return ((x @ p.data) @ q).sum()  # here


def no_grad(torch: Any, p: Any, q: Any, x: Any) -> Any:
    with torch.no_grad():  # scope
        h = x @ p  # here
    return (h @ q).sum()


def inference(torch: Any, p: Any, q: Any, x: Any) -> Any:
    with torch.inference_mode():  # scope
        h = x @ p  # here
    return (h.clone() @ q).sum()


def item(torch: Any, p: Any, q: Any, x: Any) -> Any:
    scale = (x @ p).mean().item()  # here
    return (scale * (x @ q)).sum()


def as_float(torch: Any, p: Any, q: Any, x: Any) -> Any:
    scale = float((x @ p).mean())  # here
    return (scale * (x @ q)).sum()


def numpy(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = torch.from_numpy((x @ p).detach().numpy() * 2)  # here
    return (h @ q).sum()


def integer(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = (x @ p).long().float()  # here
    return (h @ q).sum()


def argmax(torch: Any, p: Any, q: Any, x: Any) -> Any:
    i = (x @ p).argmax(1)  # here
    return (q[i] * x).sum()


def comparison(torch: Any, p: Any, q: Any, x: Any) -> Any:
    mask = (x @ p) > 0  # here
    return ((x @ q) * mask).sum()


def new_tensor(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = torch.tensor((x @ p).tolist())  # here
    return (h @ q).sum()


def rewrapped(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = torch.nn.Parameter(x @ p)  # here
    return (h @ q).sum()


def unused(torch: Any, p: Any, q: Any, x: Any) -> Any:
    return (x @ q).sum()


def dropped(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = x @ p
    h = h.tanh()  # here
    return (x @ q).sum()


def frozen(torch: Any, p: Any, q: Any, x: Any) -> Any:
    p.requires_grad_(False)  # here
    return (x @ p @ q).sum()


def deepcopy(torch: Any, p: Any, q: Any, x: Any) -> Any:
    other = copy.deepcopy(p)  # here
    return (x @ other @ q).sum()


def none(torch: Any, p: Any, q: Any, x: Any) -> Any:
    class Cut(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return None

    return (Cut.apply(x @ p) @ q).sum()  # here


def written(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = torch.zeros(3, 4)
    h.data.copy_(x @ p)  # here
    return (h @ q).sum()


def kept(torch: Any, p: Any, q: Any, x: Any) -> Any:
    h = x @ p
    KEPT.append(h)
    return (h.detach() @ q).sum()  # here


def zero(torch: Any, p: Any, q: Any, x: Any) -> Any:
    return ((x @ p) * 0 + x @ q).sum()  # here


def module(torch: Any, p: Any, q: Any, x: Any) -> Any:
    functional = torch.nn.functional
    with torch.no_grad():  # scope
        h = functional.relu(functional.linear(x, p))  # here
    return functional.linear(functional.dropout(h, 0.1), q).sum()


# reason, operation, whether it is certain: of a run that is followed
FOLLOWED: dict[Callable[..., Any], tuple[str, str, bool]] = {
    detach: ("cut", "detach", True),
    data: ("cut", ".data", True),
    parameter_data: ("cut", ".data", True),
    no_grad: ("cut", "matmul", True),
    inference: ("cut", "matmul", True),
    item: ("left tensors", "item", False),
    as_float: ("left tensors", "float|item", False),
    numpy: ("left tensors", "detach", False),
    integer: ("cut", "long", True),
    argmax: ("cut", "argmax", True),
    comparison: ("cut", "gt", True),
    new_tensor: ("left tensors", "tolist", False),
    rewrapped: ("cut", "nn.Parameter", True),
    unused: ("not used", "", True),
    dropped: ("dropped", "", True),
    frozen: ("frozen", "requires_grad=False", True),
    deepcopy: ("cut", "deepcopy", True),
    none: ("none given", "CutBackward", True),
    written: ("cut", ".data.copy_", True),
    kept: ("cut", "detach", True),
    zero: ("zero", "MulBackward0", True),
    module: ("cut", "linear", True),
}
# of the graph alone, in PyTorch: never the line
ALONE = {frozen: "frozen", none: "backward not called", zero: "backward not called"}
# of the graph alone, in retrograd: operation, and whether it is certain. Blocks without gradients
# note nothing of what goes in: only that the loss has something from there
RECORDED = {
    **{detach: ("detach", True), data: (".data", True), parameter_data: (".data", True)},
    **{integer: ("to_copy", True), argmax: ("argmax", True), comparison: ("gt", True)},
    **{kept: ("detach", True), rewrapped: ("nn.Parameter", True)},
    **{deepcopy: ("copy.deepcopy", True)},
    **{no_grad: ("no_grad", False), module: ("no_grad", False)},
    **{inference: ("inference_mode", False)},
}


def made(torch: Any) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    parameter = torch.nn.Parameter
    return parameter(torch.randn(4, 4)), parameter(torch.randn(4, 4)), torch.randn(3, 4)


def marked(case: Callable[..., Any], mark: str = "# here") -> int | None:
    lines, first = inspect.getsourcelines(case)
    found = [first + number for number, line in enumerate(lines) if line.rstrip().endswith(mark)]
    return found[0] if found else None


@pytest.mark.parametrize("case", FOLLOWED, ids=lambda case: case.__name__)
def test_a_run_that_is_followed_names_the_line(torch: Any, case: Any) -> None:
    p, q, x = made(torch)
    loss = torch.ones(1)
    why = graph.why_no_grad(p, loss, run=lambda: case(torch, p, q, x))
    reason, operation, certain = FOLLOWED[case]
    assert (why.reason, why.certain) == (reason, certain), str(why)
    assert why.operation in operation.split("|"), str(why)
    line = marked(case)
    if torch is not retrograd and why.reason in ("none given", "zero"):
        line = None  # PyTorch's nodes know no lines
    assert (None if why.place is None else why.place.line) == line, str(why)
    if marked(case, "# scope"):
        assert f"test_why_no_grad.py:{marked(case, '# scope')}" in why.text
    assert str(why).startswith(why.text if certain else f"probably: {why.text}")
    for tensor in (p, q, x):
        assert not hasattr(tensor, MARK)


@pytest.mark.parametrize("case", FOLLOWED, ids=lambda case: case.__name__)
def test_the_graph_alone_says_what_it_can(torch: Any, case: Any) -> None:
    p, q, x = made(torch)
    loss = case(torch, p, q, x)
    why = graph.why_no_grad(p, loss)
    if torch is retrograd and case in RECORDED:
        assert (why.reason, why.operation, why.certain) == ("cut", *RECORDED[case])
        scope = marked(case, "# scope")
        assert why.place is not None and why.place.line == (scope or marked(case))
        loss.backward()
        assert graph.why_no_grad(p, loss) == why  # what was freed is noted by the nodes
    elif torch is retrograd and case is frozen:
        assert (why.reason, why.operation, why.certain) == ("frozen", "requires_grad=False", True)
        assert why.place is not None and why.place.line == marked(case)
    else:
        assert why.reason == ALONE.get(case, "no path"), str(why)
        assert any("run=" in sentence for sentence in why.unseen) or case in (none, zero)


def joined(p: Any, q: Any, torch: Any) -> Any:
    """Nothing of the first operand is saved."""
    return torch.cat([p.tanh().detach(), q]).sum()


def added(p: Any, q: Any, torch: Any) -> Any:
    return (p.tanh().detach() + q).sum()


def copied(p: Any, q: Any, torch: Any) -> Any:
    return (torch.tensor(p) * q).sum()


def twice(p: Any, q: Any, torch: Any) -> Any:
    """Seen from the loss the path ends at the outer one."""
    other = torch.ones(4, 4, requires_grad=True)
    inner = (p.detach() * other).tanh()
    return (inner.round().detach() * q).sum()


def own_function(p: Any, q: Any, torch: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a * b

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return None, gradient

    return Twice.apply(p.detach(), q).sum()


def largest(p: Any, q: Any, torch: Any) -> Any:
    _, index = (p * 2).max(1)
    return (q[0] * index).sum()


def leaf_again(p: Any, q: Any, torch: Any) -> Any:
    return (p.tanh().detach().requires_grad_() * q).sum()


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("core", ["0", "1"])
def test_the_nodes_know_the_cuts_of_their_operands(core: str) -> None:
    """With and without the compiled core; and no other parameter is said to end there."""
    cases = [joined, added, copied, twice, own_function, largest, leaf_again]
    text = "\n\n".join(textwrap.dedent(inspect.getsource(case)) for case in cases)
    names = ", ".join(case.__name__ for case in cases)
    program = PROGRAM.format(functions=text, names=names)
    environment = {**os.environ, "RETROGRAD_CORE": core}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        **{"env": environment, "capture_output": True, "text": True, "check": True},
    )
    expected = ["detach", "detach", "torch.tensor()", "detach", "detach", "max", "detach"]
    assert done.stdout.split("\n")[:-1] == [
        f"{case.__name__} cut {operation} True; no path"
        for case, operation in zip(cases, expected, strict=True)
    ]


PROGRAM = """
from typing import Any
import retrograd as torch
from retrograd import graph
{functions}

for case in ({names},):
    p, q, r = (torch.randn(4, 4, requires_grad=True) for _ in range(3))
    loss = case(p, q, torch)
    loss.backward()
    why = graph.why_no_grad(p, loss)
    print(case.__name__, why.reason, why.operation, f"{{why.certain}};", end=" ")
    print(graph.why_no_grad(r, loss).reason)
"""


def test_of_a_long_history_nothing_is_noted() -> None:
    """A cut stays cheap, and keeps no graph alive: the answer is then only likely."""
    p, q, _ = made(retrograd)
    h = p
    for _ in range(300):
        h = h * 1.0
    node = weakref.ref(h.grad_fn)
    short, long = (p * 2).detach(), h.detach()
    del h
    assert node() is None
    assert graph.why_no_grad(p, (short * q).sum()).certain
    why = graph.why_no_grad(p, (long * q).sum())
    assert (why.reason, why.operation, why.certain) == ("cut", "detach", False)
    assert why.unseen


Built = tuple[Any, set[int], set[int]]  # a tensor, the parameters behind it, those cut off


@pytest.fixture(scope="module")
def few_objects() -> Iterator[None]:
    """What other tests left is not looked at: each answer passes over all live objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_expression(few_objects: None, data: st.DataObject) -> None:
    """A parameter is connected, cut off, or not there: as the expression says."""
    parameters = [retrograd.randn(3, requires_grad=True) for _ in range(4)]
    cuts = [retrograd.Tensor.detach, lambda t: (t > 0).float(), lambda t: t.data]

    def build(depth: int) -> Built:
        kind = data.draw(st.sampled_from("leaf unary binary cut".split() if depth else ["leaf"]))
        if kind == "leaf":
            index = data.draw(st.integers(0, 2))  # the last one is never used
            return parameters[index], {index}, set()
        value, whole, off = build(depth - 1)
        if kind == "cut":
            return data.draw(st.sampled_from(cuts))(value), set(), whole | off
        if kind == "unary":
            return value.tanh(), whole, off
        other, more, others = build(depth - 1)
        if not (value.requires_grad or other.requires_grad):
            return value, whole, off  # of two values without history one cut is noted
        operation = data.draw(st.sampled_from([retrograd.add, retrograd.mul, retrograd.atan2]))
        return operation(value, other), whole | more, off | others

    value, whole, off = build(4)
    loss = (value + retrograd.ones(3, requires_grad=True)).sum()
    for _ in range(2):
        for index, parameter in enumerate(parameters):
            why = graph.why_no_grad(parameter, loss)
            if index in whole:
                assert why.reason in ("backward not called", "gradient", "zero")
            else:
                assert why.reason == ("cut" if index in off else "no path")
                assert why.certain
        if loss.grad_fn is not None:
            loss.backward(retain_graph=True)


def test_a_live_tensor_shows_that_it_was_used(torch: Any) -> None:
    """In PyTorch the graph alone cannot tell the line of the detach, but that p was used."""
    p, q, x = made(torch)
    KEPT.append((x @ p).tanh())
    why = graph.why_no_grad(p, (x @ q).sum())
    assert (why.reason, why.operation, why.certain) == ("no path", "TanhBackward0", False)


def test_after_backward(torch: Any) -> None:
    p, q, x = made(torch)
    loss = zero(torch, p, q, x)
    loss.backward()
    assert graph.why_no_grad(p, loss).reason == "zero"
    assert graph.why_no_grad(q, loss).reason == "gradient"
    p, q, x = made(torch)
    loss = none(torch, p, q, x)
    loss.backward()
    assert graph.why_no_grad(p, loss).reason == "none given"


def test_a_dead_relu_and_a_mask_are_named(torch: Any) -> None:
    p, q, x = made(torch)
    why = graph.why_no_grad(p, x, run=lambda: (torch.relu((x @ p).tanh() - 2) + x @ q).sum())
    assert (why.reason, why.operation) == ("zero", "ReluBackward0")


def test_run_may_call_backward_itself(torch: Any) -> None:
    p, q, x = made(torch)

    def step() -> None:
        detach(torch, p, q, x).backward()

    why = graph.why_no_grad(p, x, run=step)
    assert (why.reason, why.operation) == ("cut", "detach")
    with pytest.raises(ValueError, match="run= must return the loss"):
        graph.why_no_grad(p, x, run=lambda: None)


def test_a_computed_tensor_and_wrong_types(torch: Any) -> None:
    p, _, x = made(torch)
    h = x @ p
    assert graph.why_no_grad(h, h.sum()).reason == "not a leaf"
    with pytest.raises(TypeError, match="loss must be a tensor"):
        graph.why_no_grad(p, 3.0)


def test_everything_is_taken_away_again(torch: Any) -> None:
    before = (torch.no_grad.__enter__, torch.nn.Parameter.__deepcopy__, torch.from_numpy)
    p, _, x = made(torch)
    with pytest.raises(ZeroDivisionError):
        graph.why_no_grad(p, x, run=lambda: 1 / 0)
    assert before == (torch.no_grad.__enter__, torch.nn.Parameter.__deepcopy__, torch.from_numpy)
    assert graph.why_no_grad(p, x, run=lambda: (x @ p).sum()).reason == "gradient"


def test_as_data(torch: Any) -> None:
    p, q, x = made(torch)
    found = graph.why_no_grad(p, x, run=lambda: detach(torch, p, q, x)).to_json()
    assert found["place"] == {"file": __file__, "line": marked(detach)}
    assert found["operation"] == "detach" and found["certain"] is True
