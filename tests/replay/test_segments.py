"""What a segment does to tensors: the compiled one and its definition in Python are the same."""

import gc
import weakref

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.replay import segments
from retrograd.tensor import meta_of

KINDS = [segments.Segment, *([core.compiled("Segment")] if core.AVAILABLE else [])]
PLAIN = (False, None, 0, None)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__module__)
def kind(request):
    return request.param


def doubled(arrays):
    return [array * 2 for array in arrays]


def test_takes_tensors_that_stay_tensors_that_are_given_and_arrays(kind):
    stays = torch.tensor([1.0, 2.0])
    segment = kind(doubled, (None, stays, None), (1, 0, 2), (), (), (), (2, 0, 1))
    assert [x.tolist() for x in segment(torch.tensor([5.0]), np.array([7.0]))] == [
        [14],
        [2, 4],
        [10],
    ]
    stays.data = torch.tensor([3.0, 4.0])
    assert segment(torch.tensor([5.0]), np.array([7.0]))[1].tolist() == [6, 8]


def test_counts_writes_and_says_who_made_them(kind):
    fresh, written = torch.zeros(2), torch.zeros(2)
    written.add_(1)
    code = test_counts_writes_and_says_who_made_them.__code__
    facts = ("sub_", code, 12)
    segment = kind(doubled, (fresh, written), (), ((0, 1, facts), (1, 2, facts)), (), (), ())
    assert segment() == ()
    segment()
    assert (fresh._version, written._version) == (2, 5)
    for tensor in (fresh, written):
        assert (tensor._cell.writer, tensor._cell.code, tensor._cell.lasti) == facts


def test_makes_tensors_and_sets_gradients(kind):
    leaf, other = (torch.ones(2, requires_grad=True) for _ in range(2))
    for tensor in (leaf, other):
        meta_of(tensor).grad = torch.zeros(2)
    node = (leaf * 2).grad_fn
    made = ((0, PLAIN, 0), (1, (True, node, 0, None), 3))
    segment = kind(doubled, (leaf, other), (0, 1), (), made, ((0, 0), (1, -1)), (-2, -1, 0))
    result, gradient, array = segment()
    assert leaf.grad is gradient and other.grad is None
    assert gradient._array is array and gradient._cell is None and not gradient.requires_grad
    assert (result.requires_grad, result.grad_fn, result._version) == (True, node, 3)
    assert segment()[1] is not gradient and leaf.grad is not gradient


def test_many_operands_and_tensors(kind):
    tensors = tuple([torch.full((1,), float(n)) for n in range(100)])
    made = tuple([(n, PLAIN, 0) for n in range(100)])
    segment = kind(doubled, tensors, tuple(range(100)), (), made, (), tuple(range(-1, -101, -1)))
    assert [x.item() for x in segment()] == [2.0 * n for n in range(100)]


def test_an_error_of_the_executor_comes_out_and_changes_nothing(kind):
    def failing(arrays):
        raise ZeroDivisionError

    leaf = torch.ones(1, requires_grad=True)
    meta_of(leaf).grad = before = torch.zeros(1)
    segment = kind(failing, (leaf,), (0,), ((0, 1, ("x", None, 0)),), (), ((0, -1),), ())
    with pytest.raises(ZeroDivisionError):
        segment()
    assert leaf.grad is before and leaf._version == 0


def test_a_segment_dies_with_a_cycle_that_it_is_in(kind):
    class Executor:
        def run(self, arrays):
            return []

    executor = Executor()
    executor.segment = kind(executor.run, (), (), (), (), (), ())
    gone = weakref.ref(executor)
    del executor
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not core.AVAILABLE, reason="the compiled one checks what it is told")
@pytest.mark.parametrize(
    "parts",
    [
        ((None,), (1,), (), (), (), ()),
        ((None,), (0,), ((1, 1, ("x", None, 0)),), (), (), ()),
        ((None,), (0,), ((0, 1, ("x",)),), (), (), ()),
        ((None,), (0,), (), ((-1, PLAIN, 0),), (), ()),
        ((None,), (0,), (), ((0, (), 0),), (), ()),
        ((None,), (0,), (), (), ((0, 0),), ()),
        ((None,), (0,), (), (), ((2, -1),), ()),
        ((None,), (0,), (), (), (), (-1,)),
    ],
)
def test_numbers_that_name_nothing_are_errors(parts):
    with pytest.raises(ValueError, match="names what is not there"):
        core.compiled("Segment")(doubled, *parts)


@pytest.mark.skipif(not core.AVAILABLE, reason="the compiled one checks what it is given")
def test_what_does_not_fit_is_an_error():
    kind = core.compiled("Segment")
    with pytest.raises(TypeError):
        kind(doubled, (None,), (0,), (), (), (), ())()
    with pytest.raises(TypeError):
        kind(doubled, (None,), (0,), (), (), (), ())("text")
    with pytest.raises(TypeError):
        kind(lambda arrays: None, (), (), (), (), (), ())()
    with pytest.raises(TypeError):
        kind(doubled, (torch.ones(1),), (0,), (), (), ((0, -1),), ())()
    for made, leaving in [(((1, PLAIN, 0),), ()), ((), (1,))]:
        with pytest.raises(ValueError, match="fewer outputs"):
            kind(doubled, (torch.ones(1),), (0,), (), made, (), leaving)()


@pytest.mark.parametrize("compiled", [True, False])
def test_steps_with_gradients_that_accumulate_are_those_of_the_ordinary_step(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(segments, "segment", None)
        monkeypatch.setattr("retrograd.replay.binding.segment", segments.Segment)

    def run(wrap):
        torch.manual_seed(1)
        weight = torch.randn(3, requires_grad=True)
        running = torch.zeros(3)
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)

        def step(x, last):
            loss = ((weight * x).sum() - 1) ** 2
            loss.backward()
            running.mul_(0.9).add_(weight.detach())
            if last:
                optimizer.step()
                optimizer.zero_grad()
            return loss

        called = wrap(step)
        found = []
        for turn in range(12):
            loss = called(torch.randn(3), turn % 2 == 1)
            found.append([loss.item(), weight.tolist(), running.tolist()])
            found.append([weight._version, running._version, weight.grad is None])
        return found, called

    wanted, _ = run(lambda step: step)
    found, replayed = run(torch.replay)
    assert replayed.replayed > 4
    for one, other in zip(found, wanted, strict=True):
        for x, y in zip(one, other, strict=True):
            assert x == pytest.approx(y, rel=1e-5)
