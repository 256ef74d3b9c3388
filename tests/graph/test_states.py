"""`graph.state`, `graph.history` and `graph.show` on programs with known answers."""

from __future__ import annotations

import importlib
import io
from types import ModuleType
from typing import Any

import pytest

from retrograd import graph


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def shown(tensor: Any, **options: Any) -> list[str]:
    out = io.StringIO()
    graph.show(tensor, file=out, width=100, **options)
    return out.getvalue().splitlines()


def test_created_retained_freed(torch: ModuleType) -> None:
    """The life of one graph; PyTorch does not tell the first two apart, and that is said."""
    known = torch.__name__ == "retrograd"
    x = torch.ones(3, requires_grad=True)
    loss = (x.exp() * x).sum()
    first = graph.state(loss)
    assert first.name == ("created" if known else "held")
    assert (first.nodes, first.leaves, first.held, first.freed, first.bytes) == (3, 1, 2, 0, 12)
    loss.backward(retain_graph=True)
    assert graph.state(loss).name == ("retained" if known else "held")
    loss.backward()
    last = graph.state(loss)
    assert (last.name, last.held, last.freed, last.bytes) == ("freed", 0, 2, 0)
    assert len(last.freed_by) == (1 if known else 0)


def test_two_losses_share_a_trunk(torch: ModuleType) -> None:
    """After the backward of one, the other's graph is freed up to where they meet."""
    x = torch.ones(3, requires_grad=True)
    trunk = x.exp()
    one, two = trunk.tanh().sum(), trunk.sin().sum()
    one.backward()
    assert graph.state(one).name == "freed"
    assert graph.state(two).name == "partly freed"
    assert graph.state(two).freed == 1


def test_no_graph_and_leaf(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    assert str(graph.state(x)) == "leaf"
    assert str(graph.state(x.exp().detach())) == "no graph"
    assert graph.state(x.exp().grad_fn).nodes == 1


def test_leaves_and_inputs_are_not_the_graphs_memory(torch: ModuleType) -> None:
    layer = torch.nn.Linear(4, 5)
    x = torch.ones(2, 4)
    state = graph.state(layer(x).tanh())
    assert (state.bytes, state.outside) == (2 * 5 * 4, 2 * 4 * 4)


def test_history_of_a_value(torch: ModuleType) -> None:
    known = torch.__name__ == "retrograd"
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    made = graph.history(y)
    assert [event.kind for event in made if event.kind != "not visible"] == ["created", "saved"]
    assert "result 12 B" in made.events[-1].text
    y.sum().backward()
    freed = graph.history(y)[-1]
    assert freed.kind == "freed"
    if known:
        assert freed.place is not None and freed.place.file == __file__
        assert "it had saved result" in freed.text
    else:
        assert "PyTorch does not keep which" in freed.text
    with torch.no_grad():
        y.add_(1)
    written = graph.history(y)[-1]
    assert written.kind == "written" and written.text.startswith("1 time in place")


def test_history_says_where_it_was_cut() -> None:
    import retrograd as torch

    x = torch.ones(3, requires_grad=True)
    cut = graph.history(x.exp().detach())
    assert str(cut[0]).startswith("detached") and cut[0].place is not None
    with torch.no_grad():
        quiet = x.exp()
    assert graph.history(quiet)[0].text == "computed while gradients were off"


def test_show_follows_the_longest_way(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    lines = shown((x.exp().tanh() + y.sin()).sum())
    names = [line.split("  /")[0].split("  t")[0].rstrip() for line in lines[1:-1]]
    assert [(len(n) - len(n.lstrip()), n.split()[1]) for n in names] == [
        (0, "SumBackward0"),
        (0, "AddBackward0"),
        (2, "SinBackward0"),
        (2, "AccumulateGrad"),
        (0, "TanhBackward0"),
        (0, "ExpBackward0"),
        (0, "AccumulateGrad"),
    ]
    assert names[-1].endswith("  x") and names[3].endswith("  y")
    assert lines[-1] == "● holds values   ◆ leaf   · saved nothing"


def test_ways_around_a_block_meet_below_it(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    for _ in range(3):
        h = h + h.sin().tanh()
    lines = shown(h, fold=False)
    assert sum("ExpBackward0 (3,)" in line for line in lines) == 1
    assert all(line.startswith(("  ", "·", "●", "◆", "created", "held")) for line in lines)
    assert max(len(line) - len(line.lstrip()) for line in lines) == 2  # it does not drift away


def test_repeated_blocks_are_folded(torch: ModuleType) -> None:
    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(4, 4), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers)
    loss = model(torch.ones(2, 4)).sum()
    lines = shown(loss)
    assert len(lines) < 20
    fold = next(line for line in lines if "times more" in line)
    assert "the 5 lines above 10 times more, 320 B" in fold
    assert any("model.22.weight" in line for line in lines)
    assert len(shown(loss, fold=False)) > 60


def test_depth_counts_what_is_deeper(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    lines = shown(x.exp().tanh() * y.sin(), depth=0)
    assert [line.strip() for line in lines if "more" in line] == ["· 2 nodes more"]


def test_a_terminal_without_these_characters(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    graph.show(x.exp(), file=out, width=40)
    out.flush()
    text = raw.getvalue().decode("ascii")
    assert "* ExpBackward0 (3,)" in text and "= leaf" in text


def test_a_long_chain_is_no_recursion(torch: ModuleType) -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y.exp()
    assert graph.state(y).nodes == 20_000
    assert len(shown(y)) < 10
