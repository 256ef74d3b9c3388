"""`graph.strict`: second walks, and writes to what is kept for backward, stop at their own line."""

import gc
import threading
import weakref

import numpy as np
import pytest

import retrograd as torch
from retrograd import graph
from retrograd.engine import strictness
from retrograd.engine.state import HOT


@pytest.fixture
def strictly():
    with graph.strict():
        yield
    assert not strictness._keepers and not strictness._checksums


def line_of(error):
    return error.report.primary.place.source.strip()


def first_line(error):
    return error.spans[0].place.source.strip()


# ------------------------------------------------------------------------------ second walks


def test_a_node_that_saved_nothing_is_walked_once(strictly):
    x = torch.ones(3, requires_grad=True)
    total = x.sum() + x.sum()
    total.backward()
    with pytest.raises(RuntimeError, match="a second time") as caught:
        total.backward()
    assert caught.value.code == "RG101" and caught.value.reason == "same-loss-twice"
    assert "strict mode stopped this call" in caught.value.report.notes[-1]
    assert (x.grad == 2).all()  # nothing was added before it raised


def test_without_strict_mode_it_passes_as_in_pytorch():
    x = torch.ones(3, requires_grad=True)
    total = x.sum()
    total.backward()
    total.backward()
    assert (x.grad == 2).all()


def test_a_retained_graph_may_be_walked_again(strictly):
    x = torch.ones(3, requires_grad=True)
    total = (x * x).sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        total.backward()


def test_a_part_that_was_consumed_before_strict_mode_counts(strictly):
    with graph.strict(False):
        x = torch.ones(3, requires_grad=True)
        view = x.view(3, 1)
        view.sum().backward()
    with pytest.raises(RuntimeError) as caught:
        view.mean().backward()
    assert caught.value.code == "RG101"


def test_only_the_part_that_leads_to_the_inputs_is_asked(strictly):
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    first = x.sum()
    first.backward()
    both = first + y.sum()
    (found,) = torch.autograd.grad(both, y)
    assert (found == 1).all()


def test_leaves_with_hooks_may_be_reached_again(strictly):
    x = torch.ones(3, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    for _ in range(2):
        x.sum().backward()
    assert (x.grad == 4).all()


def test_a_running_total_of_the_articles(strictly):
    """Every step's loss is walked; the total leads into all of them."""
    w = torch.ones(2, requires_grad=True)
    total = 0
    for x in torch.ones(2, 2):
        loss = (w + x).sum()  # saves nothing: PyTorch walks it again
        total = total + loss
        loss.backward()
    with pytest.raises(RuntimeError) as caught:
        total.backward()
    assert caught.value.code == "RG101"
    assert (w.grad == 2).all()


# ------------------------------------------------------------------------------------ writes


def test_the_writing_line_is_named_and_the_one_that_needs_the_value(strictly):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    with pytest.raises(RuntimeError, match="ExpBackward0 saved for backward") as caught:
        y.add_(1)
    error = caught.value
    assert (error.code, error.reason) == ("RG119", "inplace-after-save")
    assert line_of(error) == "y.add_(1)" and first_line(error) == "y = x.exp()"
    assert error.fix.edit.after.strip() == "y = y.add(1)"
    assert (y.detach() == torch.ones(3).exp()).all() and y._version == 0  # nothing was written


WRITES = {
    "add_": lambda t: t.add_(1),
    "+=": lambda t: t.__iadd__(1),
    "index": lambda t: t.__setitem__(0, 5.0),
    "slice": lambda t: t.__setitem__(slice(0, 2), torch.zeros(2)),
    "mask": lambda t: t.__setitem__(t > 0, 5.0),
    "zero_": lambda t: t.zero_(),
    "copy_": lambda t: t.copy_(torch.zeros(3)),
    "fill_": lambda t: t.fill_(2.0),
    "normal_": lambda t: t.normal_(),
    "view": lambda t: t.view(3, 1).mul_(2),
    "part": lambda t: t[1:].mul_(2),
    "data": lambda t: t.data.mul_(2),
    "detached": lambda t: t.detach().mul_(2),
    "out": lambda t: torch.add(torch.ones(3), 1, out=t),
    "index_add_": lambda t: t.index_add_(0, torch.tensor([0]), torch.ones(1)),
    "masked_fill_": lambda t: t.masked_fill_(torch.tensor([True, False, True]), 0.0),
    "scatter_": lambda t: t.scatter_(0, torch.tensor([1]), 9.0),
    "clamp_": lambda t: t.clamp_(0, 0.5),
    "init": lambda t: torch.nn.init.uniform_(t),
    "foreach": lambda t: torch._foreach_add_([t], 1.0),
}


@pytest.mark.parametrize("way", WRITES)
def test_every_way_to_write_is_seen(strictly, way):
    x = torch.ones(3, requires_grad=True)
    kept = torch.ones(3)
    product = x * kept
    with pytest.raises(RuntimeError) as caught:
        WRITES[way](kept)
    assert caught.value.code == "RG119"
    product.sum().backward()  # the graph has run: now it may be written
    WRITES[way](kept)


def test_another_part_of_the_memory_counts_as_it_does_in_backward(strictly):
    x = torch.ones(2, requires_grad=True)
    whole = torch.ones(4)
    product = x * whole[:2]
    with pytest.raises(RuntimeError) as caught:
        whole[2:].zero_()
    assert caught.value.code == "RG119"
    whole.data[2:].zero_()  # counts for itself, and is elsewhere
    product.sum().backward()


def test_an_optimizer_that_steps_too_early(strictly):
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    parameters = [*first.parameters(), *second.parameters()]
    for kind in (torch.optim.SGD, torch.optim.Adam):
        optimizer = kind(parameters, lr=0.1)
        loss = second(first(torch.ones(2, 3))).sum()
        loss.backward(retain_graph=True)
        with pytest.raises(RuntimeError) as caught:
            optimizer.step()
        assert caught.value.reason == "param-updated-before-backward"
        assert "before backward" not in str(caught.value)
        loss.backward()
        optimizer.step()


def test_a_training_loop_without_mistakes_is_left_alone(strictly):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(inplace=True),
        torch.nn.Dropout(0.5), torch.nn.Linear(8, 1),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters())
    for x in torch.randn(5, 6, 4):
        optimizer.zero_grad(set_to_none=False)
        real, fake = net(x).mean(), net(x + 1).mean()  # running statistics change in between
        (real - fake).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def test_a_custom_function_is_named(strictly):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = Square.apply(y)
    with pytest.raises(RuntimeError, match="SquareBackward") as caught:
        y.zero_()
    assert first_line(caught.value) == "z = Square.apply(y)"
    z.sum().backward()


def test_a_gradient_that_a_graph_needs(strictly):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    w = torch.ones(3, requires_grad=True)
    penalty = (w * x.grad).sum()
    with pytest.raises(RuntimeError) as caught:
        (x * 2).sum().backward()
    assert caught.value.code == "RG119" and "accumulation into .grad" in str(caught.value)
    penalty.backward()


# ------------------------------------------------------------------------------------- NumPy


def test_an_array_that_is_handed_out_while_saved_is_read_only(strictly):
    x, kept = torch.ones(3, requires_grad=True), torch.ones(3)
    product = x * kept
    for array in (kept.numpy(), np.asarray(kept), kept.view(3, 1).numpy()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
    product.sum().backward()
    kept.numpy()[0] = 5.0
    assert kept[0] == 5.0


@pytest.mark.parametrize("way", ["from_numpy", "numpy before", "part", "dlpack"])
def test_what_nobody_counts_is_found_when_backward_comes(strictly, way):
    x = torch.ones(3, requires_grad=True)
    if way == "from_numpy":
        array = np.ones(3, np.float32)
        kept = torch.from_numpy(array)
    else:
        kept = torch.ones(3)
        array = np.from_dlpack(kept) if way == "dlpack" else kept.numpy()
        array = array[1:] if way == "part" else array
    product = (x * kept).sum()
    array[1] = 7.0
    with pytest.raises(RuntimeError, match="by a write that no version counts") as caught:
        product.backward()
    assert (caught.value.code, caught.value.reason) == ("RG119", "uncounted-write")
    assert line_of(caught.value) == "product = (x * kept).sum()"
    assert x.grad is None


def test_checksums_of_any_layout_and_dtype(strictly):
    for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.complex64):
        x = torch.ones(3, 2, dtype=dtype, requires_grad=True)
        (x * torch.ones(2, 3, dtype=dtype).t()).abs().sum().backward()
        (x * torch.ones((), dtype=dtype).expand(3, 2)).abs().sum().backward()


# ------------------------------------------------------------------------------- the switch


def test_the_switch_and_the_context():
    assert not graph.is_strict() and HOT["UNUSUAL"] == 0
    graph.strict()
    try:
        assert graph.is_strict()
        with graph.strict(False):
            assert not graph.is_strict() and HOT["UNUSUAL"] == 0
        assert graph.is_strict()
    finally:
        graph.strict(False)
    assert not graph.is_strict() and HOT["UNUSUAL"] == 0
    with pytest.raises(ZeroDivisionError), graph.strict():
        raise ZeroDivisionError
    assert not graph.is_strict()
    with pytest.raises(TypeError, match="takes a bool, not str"):
        graph.strict("on")


def test_it_holds_in_other_threads(strictly):
    x, kept, found = torch.ones(3, requires_grad=True), torch.ones(3), []
    product = x * kept

    def write():
        try:
            kept.zero_()
        except RuntimeError as error:
            found.append(error.code)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert found == ["RG119"]
    product.sum().backward()


def test_nothing_is_kept_alive(strictly):
    gc.disable()
    try:
        x = torch.ones(1000, requires_grad=True)
        y = x.exp()
        node, array = weakref.ref(y._grad_fn), weakref.ref(y._array)
        del y
        assert node() is None and array() is None
    finally:
        gc.enable()


def test_entries_of_what_is_gone_are_swept(strictly):
    x = torch.ones(2, requires_grad=True)
    for _ in range(2 * strictness._FIRST_SWEEP):
        (x * torch.ones(2)).sum().backward()
    assert len(strictness._keepers) <= strictness._FIRST_SWEEP + 2


def test_gradients_are_the_same_bits():
    def run():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2))
        net(torch.randn(3, 5)).square().sum().backward()
        return [p.grad.numpy().tobytes() for p in net.parameters()]

    with graph.strict():
        strict = run()
    assert strict == run()


def test_gradcheck_and_checkpoint_work(strictly):
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.exp() * t, (x,))
    found = torch.utils.checkpoint.checkpoint(lambda t: t.exp() * t, x, use_reentrant=False)
    found.sum().backward()
