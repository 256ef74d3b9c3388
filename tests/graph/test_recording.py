"""The life of a graph as data, on programs whose answers are known, on retrograd and on PyTorch."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

import retrograd
from retrograd.autograd import api as module
from retrograd.graph import record, schema, view
from tests.graph import recorded_programs as programs
from tests.graph.recorded_programs import Held, Program

api: Any = module


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


def recorded(
    torch: Any, program: Callable[[Program], None], **options: Any
) -> tuple[schema.Recording, Program]:
    """The record of a program, which may fail in a backward call."""
    with record(torch.__name__, **options) as recording:
        running = Program(torch, recording)
        try:
            program(running)
        except RuntimeError as error:
            running.losses.append(hash(str(error).splitlines()[0]))
    return recording.data, running


def held_at(data: schema.Recording, time: int) -> Held:
    """Nodes that hold something, and its bytes, at a tick: what the page computes."""
    nodes, storages = 0, set()
    for node in data.nodes:
        over = min((end for end in (node.freed, node.gone) if end), default=data.end + 1)
        if node.saved and node.born <= time < over:
            nodes += 1
            storages |= {saved.storage for saved in node.saved}
    return nodes, sum(
        data.storages[storage].bytes for storage in storages if not data.storages[storage].owner
    )


def named(data: schema.Recording, name: str) -> list[schema.Node]:
    return [node for node in data.nodes if node.name == name]


def step_of(data: schema.Recording, node: schema.Node) -> str:
    group = node.group
    while data.groups[group].parent >= 0:
        group = data.groups[group].parent
    return data.groups[group].name


MARKED = [
    *(programs.two_losses, programs.running_loss, programs.detached_state, programs.two_networks),
]


@pytest.mark.parametrize("program", MARKED, ids=lambda program: program.__name__)
def test_states_and_bytes_are_those_of_the_library(torch: Any, program: Any) -> None:
    data, running = recorded(torch, program)
    times = {event.label: event.time for event in data.events if event.kind == "mark"}
    found = {label: held_at(data, time) for label, time in times.items()}
    assert found == running.truth and len(found) >= 3
    assert any(held != (0, 0) for held in found.values())


def test_two_losses(torch: Any) -> None:
    data, _ = recorded(torch, programs.two_losses)
    names = [node.name for node in data.nodes]
    assert names == [
        *("AccumulateGrad", "MmBackward0", "TanhBackward0", "MulBackward0", "SumBackward0"),
        *("ExpBackward0", "SumBackward0"),
    ]
    leaf, matmul, tanh, product, _, exponent, _ = data.nodes
    assert leaf.label == "weight" and leaf.leaf and leaf.shape == (3, 3)
    assert [node.edges for node in data.nodes] == [[], [0], [1], [2, 2], [3], [2], [5]]
    start = programs.two_losses.__code__.co_firstlineno
    lines = [node.places[0].line - start for node in data.nodes[1:]]
    assert lines == [5, 5, 6, 6, 7, 7]
    assert {data.files[node.places[0].file].name for node in data.nodes[1:]} == {
        "tests/graph/recorded_programs.py"
    }
    one, two, three = data.calls
    assert (one.of, one.retain, one.walked, one.roots) == ("first", True, 4, [4])
    assert (two.of, two.retain, two.walked, two.roots) == ("second", False, 4, [6])
    for node in (tanh, matmul):
        assert one.start < node.kept < one.end < two.start < node.freed < two.end
        assert node.freed_by == 2
    assert product.freed == 0 and two.end < product.gone < three.start
    assert exponent.kept == 0 and exponent.freed_by == 2
    assert three.failure is not None and three.failure.node == data.nodes.index(exponent)
    assert "second time" in three.failure.message and three.walked == 1
    assert three.failure.code == ("RG101" if torch is retrograd else "")
    held = [dict(sweep.held) for sweep in data.sweeps]
    assert held[0] == {"trunk": 2, "first": 4, "second": 6}
    assert held[-2] == {"trunk": 2, "second": 6}
    assert held[-1] == {}  # the program has returned
    # x belongs to the program, the other two to the graph: 2 * 3 elements of 4 bytes each
    assert [(s.bytes, s.owner) for s in data.storages] == [(24, "x"), (24, ""), (24, "")]


def test_a_running_loss_holds_every_step(torch: Any) -> None:
    data, _ = recorded(torch, programs.running_loss)
    products = named(data, "MulBackward0")
    end = max(event.time for event in data.events if event.kind == "mark")
    assert len(products) == 4 and all(0 < node.freed < end < node.gone for node in products)
    assert [step_of(data, node) for node in products] == [f"step {i}" for i in range(4)]
    last = data.sweeps[-2]
    (total,) = [index for name, index in last.held if name == "total"]
    assert data.nodes[total].name == "AddBackward0" and end < data.nodes[total].gone
    assert len([e for e in data.events if e.kind == "step"]) == 4


def test_a_carried_state_fails_in_the_step_before(torch: Any) -> None:
    data, _ = recorded(torch, programs.carried_state)
    first, second = data.calls
    assert first.failure is None and second.failure is not None
    assert data.nodes[second.failure.node].name == "TanhBackward0"
    assert step_of(data, data.nodes[second.failure.node]) == "step 0"
    assert step_of(data, data.nodes[second.roots[0]]) == "step 1"
    # the second call has freed what it passed before it failed
    fresh = [n for n in data.nodes if n.born > first.end and not n.leaf]
    assert [n.name for n in fresh if n.freed_by != 2] == []


def test_detached_values_are_cut(torch: Any) -> None:
    data, _ = recorded(torch, programs.detached_state)
    states = named(data, "TanhBackward0")
    assert all(node.cut for node in states) and len(states) == 3
    events = [event for event in data.events if event.kind == "detach"]
    assert [event.node for event in events] == [data.nodes.index(node) for node in states]
    line = programs.detached_state.__code__.co_firstlineno + 11
    assert {event.place.line for event in events if event.place is not None} == {line}
    uses = [(data.nodes[a].name, data.nodes[b].name) for a, b in data.cuts]
    assert uses == [("TanhBackward0", "MmBackward0")] * 2
    assert all(data.nodes[a].born < data.nodes[b].born for a, b in data.cuts)


def test_two_networks_take_turns_within_a_step(torch: Any) -> None:
    data, _ = recorded(torch, programs.two_networks)
    assert [event.label for event in data.events if event.kind == "step"] == [
        *("step 0", "step 1", "step 2"),
    ]
    assert [step_of(data, data.nodes[call.roots[0]]) for call in data.calls] == [
        f"step {i}" for i in (0, 0, 1, 1, 2, 2)
    ]
    labels = {node.label for node in data.nodes if node.leaf}
    assert labels == {
        f"{of}.{kind}" for of in ("generator", "critic") for kind in ("weight", "bias")
    }
    modules = [group for group in data.groups if group.kind == "module"]
    assert len(modules) == 9 and {group.type for group in modules} == {"Linear"}
    assert all(data.groups[group.parent].kind == "step" for group in modules)
    assert len(data.cuts) == 3


def test_steps_of_gathered_gradients_and_of_loops(torch: Any) -> None:
    data, _ = recorded(torch, programs.gathered)
    assert [step_of(data, data.nodes[c.roots[0]])[-1] for c in data.calls] == list("001122")
    data, _ = recorded(torch, programs.by_hand)
    assert [step_of(data, data.nodes[c.roots[0]])[-1] for c in data.calls] == list("012345")
    assert {step_of(data, n)[-1] for n in named(data, "StackBackward0")} == set("012345")


def test_the_graph_of_a_gradient(torch: Any) -> None:
    data, _ = recorded(torch, programs.second_derivative)
    first, second = data.calls
    assert (first.kind, first.how, first.retain) == ("grad", "create_graph=True", True)
    assert second.kind == "backward" and second.how == ""
    inside = [node for node in data.nodes if first.start < node.born < first.end]
    assert inside and all(node.freed_by == 2 for node in inside if node.saved)


def test_a_written_value_is_found(torch: Any) -> None:
    data, _ = recorded(torch, programs.written)
    (call,) = data.calls
    assert call.failure is not None and "inplace" in call.failure.message
    assert data.nodes[call.failure.node].name == "ExpBackward0"


def test_modules_are_calls(torch: Any) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = torch.nn.Linear(2, 2)
            self.head = torch.nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            total = 0
            for _ in range(3):
                x = self.cell(x).tanh()
                total = total + self.head(x)
            return total

    net = Net()
    with record(torch.__name__) as recording:
        net(torch.ones(1, 2)).sum().backward()
    data = recording.data
    groups = [(g.name, g.kind, g.parent, g.type) for g in data.groups]
    assert groups[:4] == [
        ("Net", "module", -1, "Net"),
        ("[0]", "pass", 0, ""),
        ("cell", "module", 1, "Linear"),
        ("head", "module", 1, "Linear"),
    ]
    assert [g[0] for g in groups if g[1] == "pass"] == ["[0]", "[1]", "[2]"]
    tanh = [data.groups[node.group].name for node in named(data, "TanhBackward0")]
    assert tanh == ["[0]", "[1]", "[2]"]
    assert {node.label for node in data.nodes if node.leaf} == {
        *("net.cell.weight", "net.cell.bias", "net.head.weight", "net.head.bias"),
    }


ALL = [
    *(programs.two_losses, programs.running_loss, programs.carried_state, programs.detached_state),
    *(programs.two_networks, programs.gathered, programs.by_hand, programs.second_derivative),
    programs.written,
]


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.__name__)
def test_the_program_does_the_same(torch: Any, program: Any) -> None:
    """Values bit for bit, and the same error."""
    plain = Program(torch)
    try:
        program(plain)
    except RuntimeError as error:
        plain.losses.append(hash(str(error).splitlines()[0]))
    data, running = recorded(torch, program)
    assert running.losses == plain.losses and running.losses
    assert running.truth == plain.truth
    assert data.notes and not any("failed" in note for note in data.notes)


def test_everything_is_taken_away_again(torch: Any) -> None:
    kind = torch.Tensor
    real = sys.modules.get("torch")
    engine = None if real is None else real.autograd._engine_run_backward
    before = kind.__dict__.get("detach"), kind.detach, api.run_backward, sys.gettrace()
    recorded(torch, programs.detached_state)
    assert before == (
        *(kind.__dict__.get("detach"), kind.detach, api.run_backward, sys.gettrace()),
    )
    assert real is None or real.autograd._engine_run_backward is engine


def test_nothing_is_kept_alive(torch: Any) -> None:
    """The record refers to no node: the graph goes with its last variable, and that is seen."""
    with record(torch.__name__) as recording:
        x = torch.ones(3, requires_grad=True)
        loss = x.exp().sum()
        recording.mark("alive")
        assert not any(node.gone for node in recording.data.nodes)
        del loss
        recording.mark("dropped")
    alive, dropped = (event.time for event in recording.data.events)
    nodes = [node for node in recording.data.nodes if not node.leaf]
    assert len(nodes) == 2 and all(alive < node.gone < dropped for node in nodes)
    assert held_at(recording.data, alive) == (1, 12) and held_at(recording.data, dropped) == (0, 0)


def test_a_long_run_keeps_the_first_the_last_and_the_peak(torch: Any) -> None:
    weight = torch.full((4,), 0.5, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with record(torch.__name__, steps=6) as recording:
        for step in range(60):
            size = 500 if step == 30 else 5
            loss = (weight.exp().expand(size, 4).clone() * weight).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert recording.recorder is not None
        assert len(recording.recorder.lives.known) < 60 and len(recording.recorder.calls) < 12
    data = recording.data
    steps = [event.label for event in data.events if event.kind == "step"]
    assert steps == [f"step {step}" for step in (0, 1, 30, 57, 58, 59)]
    assert [call.number for call in data.calls] == [1, 2, 31, 58, 59, 60]
    assert [note for note in data.notes if "left out" in note] == [
        *(
            f"steps {first} to {last} are left out: "
            "kept are the first steps, the last ones and that of the peak"
            for first, last in ((2, 29), (31, 56))
        ),
    ]


def test_an_error_of_the_block_is_in_the_record(torch: Any) -> None:
    with pytest.raises(ValueError, match="mine"), record(torch.__name__) as recording:
        loss = torch.ones(3, requires_grad=True).exp().sum()
        raise ValueError("mine")
    (event,) = recording.data.events
    assert (event.kind, event.label) == ("error", "ValueError: mine")
    assert event.place is not None
    text = recording.data.files[event.place.file].text.splitlines()[event.place.line - 1]
    assert text.strip() == 'raise ValueError("mine")'
    assert loss.grad_fn is not None
    assert [node.name for node in recording.data.nodes][-1] == "SumBackward0"


def test_a_view_of_what_is_now(torch: Any) -> None:
    weight = torch.full((3,), 0.5, requires_grad=True)
    trunk = weight.exp()
    first, second = (trunk * 2).sum(), trunk.sin().sum()
    second.backward()
    data = view([first, second])
    freed = {node.name for node in data.nodes if node.freed}
    assert freed == {"ExpBackward0", "SinBackward0"}
    assert [node.label for node in data.nodes if node.leaf] == ["weight"]
    if torch is retrograd:
        assert {node.freed_by for node in data.nodes if node.freed} == {data.calls[0].number}
        line = test_a_view_of_what_is_now.__code__.co_firstlineno + 2
        (made,) = named(data, "ExpBackward0")
        assert made.places[0].line == line
    else:
        assert any("which call freed a node" in note for note in data.notes)
        assert any("lines of nodes" in note for note in data.notes)


def test_the_file_has_it_all(torch: Any) -> None:
    with record(torch.__name__, title="small") as recording:
        torch.ones(3, requires_grad=True).exp().sum().backward()
    (packed,) = json.loads(recording.to_json())["recordings"]
    assert packed["title"] == "small" and len(packed["nodes"]) == 3
    assert packed["library"] == ("retrograd" if torch is retrograd else "PyTorch")


def test_keys_of_an_optimizers_state_are_not_printed(torch: Any) -> None:
    """A look at variables goes by there: to print a parameter takes milliseconds."""

    class Key:
        def __repr__(self) -> str:
            raise AssertionError("printed")

    weight = torch.ones(3, requires_grad=True)
    state = {Key(): weight.exp(), "last": weight.sin()}
    with record(torch.__name__) as recording:
        recording.mark("now")
    held = dict(recording.data.sweeps[0].held)
    assert {"state[<Key>]", "state['last']"} <= held.keys() and len(state) == 2


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="engine must be"):
        record("jax")
    with pytest.raises(ValueError, match="3 or more"):
        record(steps=1)
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        record().data  # noqa: B018
    with pytest.raises(ValueError, match="at least one tensor"):
        view([])
    with pytest.raises(TypeError, match="expected a tensor"):
        view(3)
