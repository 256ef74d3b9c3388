"""Memory that processes share: what follows a tensor there, and what another process sees."""

import gc
import multiprocessing
import os
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn

if not hasattr(os, "fork"):
    pytest.skip("memory is shared by descriptors", allow_module_level=True)


def in_another_process(function: Any, *given: Any, method: str = "fork") -> None:
    process = multiprocessing.get_context(method).Process(target=function, args=given)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def fill(*tensors: torch.Tensor) -> None:
    for number, tensor in enumerate(tensors, 1):
        tensor.detach().fill_(number)


def hand_on(inbox: Any, outbox: Any) -> None:
    tensors = inbox.get(timeout=60)
    fill(*tensors)
    outbox.put([(str(t.dtype), tuple(t.shape), t.stride(), t.is_shared()) for t in tensors])
    inbox.get(timeout=60)  # the memory of what was sent must not go before it was read


def train(model: nn.Module) -> None:
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_model_is_trained_by_another_process(method: str) -> None:
    torch.manual_seed(1)
    model, alone = nn.Linear(3, 2), nn.Linear(3, 2)
    alone.load_state_dict(model.state_dict())
    assert model.share_memory() is model
    assert all(parameter.is_shared() for parameter in model.parameters())
    in_another_process(train, model, method=method)
    train(alone)
    assert torch.equal(model.weight, alone.weight) and torch.equal(model.bias, alone.bias)


def test_what_another_process_writes_to_a_copy_stays_there() -> None:
    x = torch.zeros(2)
    in_another_process(fill, x)
    assert x.tolist() == [0, 0] and not x.is_shared() and not x.untyped_storage().is_shared()


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_tensors_travel_with_their_memory(method: str) -> None:
    kinds = (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
    tensors = [torch.zeros(2, 3, dtype=kind).t().share_memory_() for kind in kinds]
    tensors += [torch.zeros(()).share_memory_(), torch.zeros(0, 3).share_memory_()]
    tensors += [torch.zeros(4, requires_grad=True).share_memory_()]
    tensors += [torch.zeros(6).share_memory_()[1::2]]
    context = multiprocessing.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=hand_on, args=(inbox, outbox))
    process.start()
    inbox.put(tensors)
    told = outbox.get(timeout=60)
    inbox.put(None)
    process.join(60)
    assert told == [(str(t.dtype), tuple(t.shape), t.stride(), True) for t in tensors]
    for number, tensor in enumerate(tensors, 1):
        assert torch.equal(tensor, torch.full_like(tensor, number))


def test_all_tensors_over_the_memory_follow() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    row, turned, data = base[1], base.t(), base.data
    row.share_memory_()
    base.mul_(2)
    assert row.tolist() == [6, 8, 10] and turned[0].tolist() == [0, 6]
    assert data.tolist() == base.tolist()
    assert all(x.is_shared() for x in (base, row, turned, data))
    assert base._version == row._version == turned._version
    assert base.share_memory_() is base  # it is there already


def test_other_objects_are_not_asked() -> None:
    class Touchy:
        @property
        def __class__(self) -> Any:
            raise AssertionError("asked for its class")

        @__class__.setter
        def __class__(self, value: object) -> None: ...

    touchy = [Touchy(), nn.LazyLinear(2)]
    assert torch.ones(3)[1:].share_memory_().is_shared() and touchy


def test_gradients_flow_through_shared_views() -> None:
    leaf = torch.ones(3, requires_grad=True).share_memory_()
    (leaf[1:] * 2).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [0, 2, 2]
    assert leaf.is_leaf and not leaf.grad.is_shared()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be counted")
def test_the_memory_goes_with_the_last_tensor() -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    x = torch.ones(1000).share_memory_()
    view = x[10:]
    assert len(os.listdir("/proc/self/fd")) > before
    del x
    assert view.sum() == 990
    del view
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_cannot_be_shared_or_sent_says_so() -> None:
    with pytest.raises(NotImplementedError, match="share_memory_"):
        torch.eye(2).to_sparse().share_memory_()
    made = torch.ones(2, requires_grad=True).share_memory_().view(2)
    assert made.is_shared()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf"):
        multiprocessing.reduction.ForkingPickler.dumps(made)
