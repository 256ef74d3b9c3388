"""`graph.unchain`: gradients of a sliding window, and the memory of what lies behind it."""

import gc
import threading
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import graph


def inputs(count, batch=3, size=4):
    torch.manual_seed(0)
    return torch.randn(count, batch, size, dtype=torch.float64)


class Plain(torch.nn.Module):
    """A recurrence written by hand, in which the state is read through a view and written."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(9, 5, dtype=torch.float64)

    def forward(self, x, h):
        new = torch.tanh(self.fc(torch.cat([x, h], 1)))
        turned = h.t() * new.t()  # a view of the state is saved
        return new + 0.1 * turned.t()


class SameLine(torch.nn.Module):
    """One line makes the state and, with the same op, a value inside of the step."""

    def __init__(self):
        super().__init__()
        layers = (torch.nn.Linear(9, 5), torch.nn.Tanh(), torch.nn.Linear(5, 5), torch.nn.Tanh())
        self.net = torch.nn.Sequential(*layers).double()

    def forward(self, x, h):
        return self.net(torch.cat([x, h], 1))


class Lstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(4, 5, dtype=torch.float64)

    def forward(self, x, state):
        return self.cell(x, state)


class LstmByHand(torch.nn.Module):
    """The cell state leads back by a way of its own."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(9, 20, dtype=torch.float64)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.fc(torch.cat([x, h], 1)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class Stacked(torch.nn.Module):
    """Two layers, whose states one line makes."""

    def __init__(self):
        super().__init__()
        self.cells = torch.nn.ModuleList([torch.nn.GRUCell(4, 5), torch.nn.GRUCell(5, 5)]).double()

    def forward(self, x, states):
        new = []
        for cell, h in zip(self.cells, states, strict=True):
            x = cell(x, h)
            new.append(x)
        return tuple(new)


class WritesInto(torch.nn.Module):
    """The state is written into a larger tensor, through a view."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(9, 5, dtype=torch.float64)

    def forward(self, x, h):
        both = torch.zeros(3, 9, dtype=torch.float64)
        both[:, :4] = x
        both[:, 4:] = h
        return torch.tanh(self.fc(both))


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, w):
        ctx.save_for_backward(h, w)
        return torch.tanh(h * w)

    @staticmethod
    def backward(ctx, g):
        h, w = ctx.saved_tensors
        slope = g * (1 - torch.tanh(h * w) ** 2)
        return slope * w, slope * h


class Custom(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((3, 5), 0.7, dtype=torch.float64))

    def forward(self, x, h):
        return Squared.apply(h + x.sum(), self.w)


CELLS = [Plain, SameLine, Lstm, LstmByHand, Stacked, WritesInto, Custom]
PAIRS = (Lstm, LstmByHand, Stacked)


def start(kind):
    h = torch.zeros(3, 5, dtype=torch.float64)
    return (h, h.clone()) if kind in PAIRS else h


def detached(state):
    if isinstance(state, tuple):
        return tuple(s.detach() for s in state)
    return state.detach()


def loss_of(state):
    states = state if isinstance(state, tuple) else (state,)
    return sum((s * s).sum() for s in states)


def gradients(model):
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    return found


def windows_again(model, kind, xs, steps):
    """The reference: the window is computed again for every step, from a detached state."""
    states, found = [start(kind)], []
    with torch.no_grad():
        for x in xs:
            states.append(model(x, states[-1]))
    for now in range(1, len(xs) + 1):
        first = max(0, now - steps)
        state = detached(states[first])
        for x in xs[first:now]:
            state = model(x, state)
        loss_of(state).backward()
        found.append(gradients(model))
    return found


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_gradients_are_those_of_the_window_computed_again(kind, steps):
    torch.manual_seed(1)
    model, xs = kind(), inputs(7)
    expected = windows_again(model, kind, xs, steps)
    state = start(kind)
    for x, wanted in zip(xs, expected, strict=True):
        state = model(x, state)
        assert graph.unchain(state, steps=steps) is state
        loss_of(state).backward(retain_graph=True)
        for found, reference in zip(gradients(model), wanted, strict=True):
            torch.testing.assert_close(found, reference, rtol=1e-12, atol=1e-14)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(CELLS), st.integers(1, 6), st.integers(1, 8), st.booleans())
def test_any_window_of_any_length(kind, steps, length, packed):
    """Also where saved values are objects, as under hooks on saved tensors."""
    torch.manual_seed(2)
    model, xs = kind(), inputs(length)
    wanted = windows_again(model, kind, xs, steps)[-1]
    state = start(kind)
    for x in xs:
        if packed:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
                state = model(x, state)
        else:
            state = model(x, state)
        graph.unchain(state, steps=steps)
    loss_of(state).backward()
    for found, reference in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(found, reference, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", CELLS)
def test_what_lies_behind_the_window_is_freed_without_the_collector(kind):
    model, state, nodes = kind(), start(kind), []
    gc.disable()
    try:
        for x in inputs(10):
            state = graph.unchain(model(x, state), steps=3)
            first = state[0] if isinstance(state, tuple) else state
            nodes.append(weakref.ref(first._grad_fn))
            del first
        alive = [node() is not None for node in nodes]
    finally:
        gc.enable()
    assert alive == [False] * 7 + [True] * 3


def test_a_state_that_somebody_holds_keeps_its_own_history():
    w = torch.tensor(0.5, requires_grad=True)
    h, held = torch.tensor(1.0), []
    for _ in range(4):
        h = graph.unchain(h * w, steps=1)
        held.append(h)
    held[0].backward()
    assert w.grad == 1.0  # of 1 * w
    w.grad = None
    held[1].backward()
    assert w.grad == 0.5  # of c * w: its own window


def test_second_derivatives_are_those_of_the_window():
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    h = torch.tensor(1.0, dtype=torch.float64)
    for _ in range(5):
        h = graph.unchain(h * w * w, steps=2)
    # c * w**4, where c = 0.5**6 does not depend on w
    (first,) = torch.autograd.grad(h, w, create_graph=True)
    (second,) = torch.autograd.grad(first, w)
    assert first == 0.5**6 * 4 * 0.5**3
    assert second == 0.5**6 * 12 * 0.5**2


def test_second_derivatives_where_values_wait_in_files():
    """Somebody has the older states, with their history; the window must not find it there."""
    w = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    h, held = torch.ones(1, dtype=torch.float64), []
    with graph.offload(over=0):
        for _ in range(5):
            h = graph.unchain(h * w * w, steps=2)
            held.append(h)
    (first,) = torch.autograd.grad(h.sum(), w, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), w)
    assert first == 0.5**6 * 4 * 0.5**3
    assert second == 0.5**6 * 12 * 0.5**2


def test_a_named_state_is_an_end():
    w = torch.tensor(2.0, requires_grad=True)
    states = [torch.tensor(1.0)]
    for _ in range(5):
        states.append(states[-1] * w)
    assert graph.unchain(states[-1], at=states[2]) is states[-1]
    states[-1].backward()
    assert w.grad == 4 * 3 * 2.0**2  # of 4 * w**3


def test_a_state_two_steps_back_is_cut_as_well():
    """h = f(h of one step ago, h of two steps ago): both older states are constants then."""
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    past = [torch.tensor(1.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)]
    for _ in range(6):
        past.append(graph.unchain(w * past[-1] + past[-2], steps=2))
    past[-1].backward()
    a, b = past[-3].detach(), past[-4].detach()
    once = w * a + b
    (expected,) = torch.autograd.grad(w * once + a, w)
    assert w.grad == expected


def test_two_recurrences_on_lines_of_their_own_do_not_meet():
    v = torch.tensor(0.5, requires_grad=True)
    w = torch.tensor(2.0, requires_grad=True)
    g, h = torch.tensor(1.0), torch.tensor(1.0)
    for _ in range(4):
        g = graph.unchain(g * v, steps=3)
        h = graph.unchain(h * w + 0 * g, steps=2)
    h.backward()
    assert w.grad == 2 * 4.0 * 2.0  # of 4 * w**2


def test_one_line_for_two_recurrences_needs_their_names():
    weights = [torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)]
    states = [torch.tensor(1.0), torch.tensor(1.0)]
    for _ in range(3):
        for layer, w in enumerate(weights):
            below = 0 * states[0] if layer else 0
            states[layer] = graph.unchain(states[layer] * w + below, steps=2, chain=layer)
    states[1].backward()
    assert weights[1].grad == 2 * 3.0 * 3.0  # of 3 * w**2


def test_before_enough_steps_nothing_is_cut():
    w = torch.tensor(2.0, requires_grad=True)
    start_value = torch.tensor(1.0, requires_grad=True)
    h = graph.unchain(start_value, steps=3)
    for _ in range(3):
        h = graph.unchain(h * w, steps=3)
    h.backward()
    assert start_value.grad == 8.0
    assert graph.unchain(torch.ones(2), steps=1).sum() == 2.0  # no history: nothing to cut


def test_a_write_to_the_older_state_is_still_noticed():
    w = torch.tensor([0.5, 1.5], requires_grad=True)
    h = torch.ones(2)
    for _ in range(3):
        before = h
        h = graph.unchain(h * w, steps=1)
    with torch.no_grad():
        before.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        h.sum().backward()


def test_threads_have_windows_of_their_own():
    found = {}

    def train(number):
        w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        h = torch.tensor(float(number), dtype=torch.float64)
        for _ in range(50):
            h = graph.unchain(h * w, steps=3)
        h.backward()
        found[number] = w.grad.item() / (number * 0.5**47)

    threads = [threading.Thread(target=train, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(1, 5), 3 * 0.5**2)


def test_arguments_that_it_does_not_take():
    h = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(ValueError, match=r"steps must be 1 or more, got 0; .* t\.detach\(\)"):
        graph.unchain(h, steps=0)
    with pytest.raises(TypeError, match="needs steps, a whole number, or at; got NoneType"):
        graph.unchain(h)
    with pytest.raises(TypeError, match="got bool"):
        graph.unchain(h, steps=True)
    with pytest.raises(TypeError, match="steps or at, not both"):
        graph.unchain(h, steps=1, at=h)
    with pytest.raises(ValueError, match="at names the state itself"):
        graph.unchain(h, at=h)
    with pytest.raises(
        TypeError, match="t must be a tensor or a tuple or list of tensors, got dict"
    ):
        graph.unchain({"h": h}, steps=1)
    h.register_hook(lambda g: graph.unchain(h, steps=1))
    with pytest.raises(RuntimeError, match="while a backward pass runs"):
        h.sum().backward()


@pytest.mark.torch
def test_on_pytorch_it_says_what_to_do_instead():
    real = pytest.importorskip("torch")
    h = real.ones(2, requires_grad=True) * 2
    with pytest.raises(TypeError, match=r"run the window again from that state: h = past_state"):
        graph.unchain((h, h), steps=2)
