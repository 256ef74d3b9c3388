"""torch.summary: rows, totals, real bytes, and a model that stays as it was."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.module_hooks import FORWARD, FORWARD_PRE
from retrograd.ops.making.memory import owner_of
from retrograd.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.activation = nn.ReLU()
        self.again = self.activation
        self.rnn = nn.LSTM(8, 16)
        self.attention = nn.MultiheadAttention(16, 4)
        self.drop = nn.Dropout()
        self.heads = nn.ModuleDict({"a": nn.Linear(16, 10)})
        self.steps = 0

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        self.steps += 1
        x = self.again(self.activation(self.norm(self.conv(x)))) * scale
        x, _ = self.rnn(x.flatten(2).permute(2, 0, 1))
        x, weights = self.attention(x, x, x)
        return {"out": self.heads["a"](self.drop(x)), "weights": weights}


def row(found: Any, path: str) -> Any:
    (match,) = [row for row in found.rows if row.path == path]
    return match


def test_rows_of_a_model() -> None:
    found = torch.summary(Net(), (2, 3, 8, 8))
    assert [r.path for r in found.rows] == [
        "model",
        "model.conv",
        "model.norm",
        "model.activation",
        "model.rnn",
        "model.attention",
        "model.attention.out_proj",
        "model.drop",
        "model.heads",
        'model.heads["a"]',
    ]
    assert [r.depth for r in found.rows] == [0, 1, 1, 1, 1, 1, 2, 1, 1, 2]
    assert row(found, "model").output == {"out": [36, 2, 10], "weights": [2, 36, 36]}
    assert row(found, "model.conv").output == [2, 8, 6, 6]
    assert row(found, "model.rnn").output == ([36, 2, 16], ([1, 2, 16], [1, 2, 16]))
    shared = row(found, "model.activation")
    assert (shared.calls, shared.also) == (2, ("model.again",))
    assert row(found, "model.attention.out_proj").calls == 0
    assert row(found, "model.conv").parameters == 3 * 8 * 9 + 8


def test_totals_are_the_sums_of_the_rows() -> None:
    net = Net()
    net.conv.weight.requires_grad_(False)
    found = torch.summary(net, (2, 3, 8, 8))
    total = sum(p.numel() for p in net.parameters())
    assert found.total_parameters == total == sum(r.parameters for r in found.rows)
    assert found.trainable_parameters == total - net.conv.weight.numel()
    assert row(found, "model.conv").trainable == 8
    assert found.parameter_bytes == 4 * total
    assert found.saved_bytes == sum(r.saved_bytes for r in found.rows) > 0
    assert found.saved_parameter_bytes == sum(r.saved_parameter_bytes for r in found.rows) > 0


SIZES: list[tuple[str, Callable[[], nn.Module], tuple[int, ...], int]] = [
    ("input of Linear", lambda: nn.Linear(4, 8), (2, 4), 2 * 4 * 4),
    ("result of Tanh", lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh()), (2, 4), 32 + 64),
    # the result of Tanh is the input of the second Linear: one memory
    (
        "shared memory",
        lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)),
        (2, 4),
        32 + 64,
    ),
    ("a view of the input", lambda: nn.Sequential(nn.Flatten(), nn.Linear(8, 2)), (3, 2, 4), 96),
    ("nothing", lambda: nn.Sequential(nn.Flatten(), nn.Identity()), (3, 2, 4), 0),
    ("nothing trained", lambda: nn.Linear(4, 8).requires_grad_(False), (2, 4), 0),
]


@pytest.mark.parametrize(("build", "shape", "expected"), [c[1:] for c in SIZES], ids=lambda v: "")
def test_saved_bytes(build: Callable[[], nn.Module], shape: tuple[int, ...], expected: int) -> None:
    assert torch.summary(build(), shape).saved_bytes == expected


def test_saved_bytes_are_what_saved_tensor_hooks_see() -> None:
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(64, 5),
        nn.Softmax(1),
    )
    x = torch.randn(2, 1, 6, 6)
    found = torch.summary(net, x)
    seen: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        owner = owner_of(tensor._array)
        seen[id(owner)] = owner
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = net(x)
    state = {id(owner_of(t._array)) for t in (*net.parameters(), *net.buffers())}
    counted = sum(owner.nbytes for key, owner in seen.items() if key not in state)
    assert result.requires_grad
    # beside the tensors, BatchNorm keeps the two statistics of the batch, four numbers each
    assert found.saved_bytes - counted in (0, 2 * 4 * 4)


def test_checkpoints_keep_only_the_input() -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 4))

        def forward(self, x: Any) -> Any:
            return checkpoint(self.block, x, use_reentrant=False)

    net = Checkpointed()
    assert torch.summary(net, (2, 4)).saved_bytes == 2 * 4 * 4
    assert torch.summary(net.block, (2, 4)).saved_bytes == 2 * 4 * 4 + 2 * 64 * 4


def test_a_small_part_of_a_large_tensor() -> None:
    data = torch.randn(1000, 4)
    assert torch.summary(nn.Linear(4, 2), data[:3]).saved_bytes == 3 * 4 * 4


@pytest.mark.parametrize("training", [True, False])
def test_the_model_stays_as_it_was(training: bool) -> None:
    net = Net().train(training)
    net.drop.eval()
    calls: list[int] = []
    net.register_forward_hook(lambda *_: calls.append(1))
    state = {name: value.clone() for name, value in net.state_dict().items()}
    objects = {name: (id(value), value._version) for name, value in net.named_buffers()}
    attributes = {name: sorted(module.__dict__) for name, module in net.named_modules()}
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    numbers, others = random.getstate(), np.random.get_state()[1].copy()
    torch.summary(net, torch.ones(2, 3, 8, 8))
    assert torch.equal(torch.rand(2), expected)
    assert random.getstate() == numbers and (np.random.get_state()[1] == others).all()
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())
    assert objects == {name: (id(v), v._version) for name, v in net.named_buffers()}
    assert attributes == {name: sorted(module.__dict__) for name, module in net.named_modules()}
    assert net.steps == 0 and net.training is training and not net.drop.training
    assert len(net._forward_hooks) == 1 and calls == [1]
    assert all(p.grad is None for p in net.parameters())


def test_a_failing_model_stays_as_it_was_too() -> None:
    net = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2), nn.Linear(3, 3))
    with pytest.raises(RuntimeError) as caught:
        torch.summary(net, (5, 4))
    assert caught.value.report.facts["inside"].startswith("inside net[2] (Linear")  # type: ignore[attr-defined]
    assert net[0].num_batches_tracked.item() == 0
    assert torch.equal(net[0].running_var, torch.ones(4))
    assert not FORWARD and not FORWARD_PRE


def test_an_embedding_that_shortens_its_rows() -> None:
    net = nn.Embedding(3, 4, max_norm=0.1)
    before = net.weight.clone()
    torch.summary(net, torch.tensor([0, 2]))
    assert torch.equal(net.weight, before)


def test_forms_of_inputs() -> None:
    class Two(nn.Module):
        def forward(self, a: Any, b: Any = None, *, c: Any = None) -> Any:
            return a, b, c

    def output(*args: Any, **kwargs: Any) -> Any:
        return torch.summary(Two(), *args, **kwargs).rows[0].output

    assert output((2, 3)) == ([2, 3], None, None)
    assert output((2, 3), (4,)) == ([2, 3], [4], None)
    assert output([(2, 3), torch.ones(5)]) == ([2, 3], [5], None)
    assert output(torch.Size([2])) == ([2], None, None)
    assert output(torch.ones(1), c=torch.ones(2)) == ([1], None, [2])
    assert output("text", [torch.ones(1)]) == ("str", ([1],), None)
    assert torch.summary(nn.Embedding(5, 2), (3,), dtype=torch.int64).rows[0].output == [3, 2]
    assert torch.summary(nn.Linear(2, 2).double(), (3, 2)).saved_bytes == 48


def test_without_inputs_nothing_runs() -> None:
    found = torch.summary(Net())
    assert not found.was_run and found.saved_bytes == 0
    assert found.total_parameters == sum(p.numel() for p in Net().parameters())
    assert "output" not in str(found) and "saved" not in str(found)


def test_tied_and_lazy_parameters() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[1].weight = net[0].weight
    found = torch.summary(net, (1, 4))
    assert found.total_parameters == 24
    assert "parameters of several layers are counted at the first one" in str(found)
    lazy = nn.Sequential(nn.LazyLinear(3))
    assert torch.summary(lazy, (2, 5)).total_parameters == 18
    assert "no shape yet" in str(torch.summary(lazy))
    assert nn.parameter.is_lazy(lazy[0].weight)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_is_saved_does_not_depend_on_the_mode(mode: Any) -> None:
    net = nn.Linear(4, 2)
    with mode():
        assert torch.summary(net, (3, 4)).saved_bytes == 48


def test_the_table() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2).requires_grad_(False))
    found = torch.summary(net, (2, 4), name="net")
    assert str(found) == repr(found)
    assert str(found).splitlines() == [
        "layer   class       output  parameters  saved",
        "net     Sequential  [2, 2]           0    0 B",
        "net[0]  Linear      [2, 8]          40   32 B",
        "net[1]  Linear      [2, 2]   18 frozen    0 B",
        "",
        "parameters: 58 (40 trainable), 232 B",
        "saved for backward: 32 B of activations",
        "and 64 B of parameters and buffers, which are there anyway",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits(width: int) -> None:
    text = torch.summary(Net(), (2, 3, 8, 8)).text(width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "29.6 KiB" in text and "1,664" in text


def test_rich_draws_it_in_colour() -> None:
    from rich.console import Console

    console = Console(force_terminal=True, width=80, color_system="standard", file=None)
    with console.capture() as captured:
        console.print(torch.summary(nn.Linear(2, 2), (1, 2)))
    assert "\x1b[1m" in captured.get() and "[1, 2]" in captured.get()


def test_json() -> None:
    data = json.loads(torch.summary(Net(), (2, 3, 8, 8)).to_json())
    assert data["rows"][1]["path"] == "model.conv"
    assert data["rows"][3]["also"] == ["model.again"]
    assert data["saved_bytes"] == sum(row["saved_bytes"] for row in data["rows"])
