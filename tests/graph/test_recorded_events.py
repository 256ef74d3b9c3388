"""Writes, detached operands, threads and names of calls in recordings, on both libraries."""

import contextlib
import threading
from typing import Any

import pytest

import retrograd
from retrograd.graph import lives as lives_module
from retrograd.graph import record, schema
from retrograd.graph import recorder as recorder_module
from retrograd.watching.reading import RetrogradReader, behind


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


def text_at(data: schema.Recording, place: schema.Place | None) -> str:
    assert place is not None
    return data.files[place.file].text.splitlines()[place.line - 1].strip()


def writes(data: schema.Recording) -> list[tuple[str, str, str]]:
    """The node, the label and the line of each write."""
    return [
        (data.nodes[event.node].name, event.label, text_at(data, event.place))
        for event in data.events
        if event.kind == "write"
    ]


def test_writes_to_saved_values_are_told_at_their_nodes(torch: Any) -> None:
    with record(torch.__name__) as recording:
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        loss = (y * 2).sum()
        with torch.no_grad():
            y.mul_(2)
            y += 1
            y[0] = 3.0
            (x + 1).mul_(2)  # nobody has saved that
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            loss.backward()
    data = recording.data
    assert writes(data) == [
        ("ExpBackward0", "written here by mul_: the saved result", "y.mul_(2)"),
        ("ExpBackward0", "written here by +=: the saved result", "y += 1"),
        ("ExpBackward0", "written here by [...] =: the saved result", "y[0] = 3.0"),
    ]
    (call,) = data.calls
    made = next(node for node in data.nodes if node.name == "ExpBackward0")
    times = [event.time for event in data.events if event.kind == "write"]
    assert all(made.born < time < call.start for time in times)


def test_a_write_of_the_node_itself_or_after_freeing_is_none(torch: Any) -> None:
    with record(torch.__name__) as recording:
        x = torch.ones(3, requires_grad=True)
        y = x.sin().exp_()  # saves what it has written itself
        y.sum().backward()
        with torch.no_grad():
            y.mul_(2)
            x.mul_(2)
    assert writes(recording.data) == [] and len(recording.data.calls) == 1


def test_the_step_of_an_optimizer_writes(torch: Any) -> None:
    """As when a GAN's discriminator steps before the generator's loss goes back through it."""
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with record(torch.__name__) as recording:
        fake = torch.ones(1, 2, requires_grad=True)
        later = layer(fake).sum()
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            later.backward()
    (written,) = writes(recording.data)
    assert written[0] == "AddmmBackward0" and written[2] == "optimizer.step()"
    assert written[1] == "written here by SGD.step(): the saved mat2"


def test_detached_operands_of_nodes_that_save_nothing(torch: Any) -> None:
    with record(torch.__name__) as recording:
        w = torch.ones(3, requires_grad=True)
        h = w.exp()
        one = (h.detach() + w).sum()
        two = (w + 1 - h.detach()).sum()
        held = h.detach()
        three = (held - w + 1).sum()
        unsure = ((held + w) * (5 + w)).sum()  # one sum is of the detached value; which is open
        (one + two + three + unsure).backward()
    data = recording.data
    found = [(data.nodes[a].name, data.nodes[b]) for a, b in data.cuts]
    assert [name for name, _ in found] == ["ExpBackward0"] * 3
    lines = [text_at(data, node.places[0]) for _, node in found]
    assert [line.partition(" =")[0] for line in lines] == ["one", "two", "three"]
    assert [node.name for _, node in found] == ["AddBackward0", "SubBackward0", "SubBackward0"]


def test_what_named_and_recomputed_graphs_keep() -> None:
    """`retain_graph` of retrograd that is not a truth value: states are those of the nodes."""
    torch = retrograd
    x = torch.ones(64, 64, requires_grad=True)
    with record("retrograd") as recording:
        trunk = x.exp()
        trunk.tanh().cos().sum().backward(retain_graph=[trunk])
        recording.mark("named")
        loss = x.sin().tanh().exp().sum()
        loss.backward(retain_graph="recompute")
        recording.mark("recomputed")
    data = recording.data
    named, again = (event.time for event in data.events if event.kind == "mark")
    assert [call.how for call in data.calls] == [
        *("retain_graph=[...]", "retain_graph='recompute'"),
    ]
    freed = {node.name: 0 < node.freed < named for node in data.nodes if node.born < named}
    assert freed == {
        **{"AccumulateGrad": False, "ExpBackward0": False},
        **{"TanhBackward0": True, "CosBackward0": True, "SumBackward0": True},
    }
    later = [node for node in data.nodes if node.born > named and node.saved]
    held = sum(not 0 < node.freed < again for node in later)
    assert len(later) == 3 and held == graph_holds(loss)


def graph_holds(loss: Any) -> int:
    """Nodes behind a loss whose saved values are in memory."""
    reader = RetrogradReader()
    nodes = [node for node in behind(reader, [reader.root(loss)]) if reader.saved(node)]
    return sum(any(saved.bytes for saved in reader.saved(node)) for node in nodes)


def test_the_last_loss_is_not_kept_alive(torch: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    with record(torch.__name__) as recording:
        held = [x.exp().sum()]
        held[0].backward()
        held.clear()
        recording.mark("dropped")
    (mark,) = [event.time for event in recording.data.events if event.kind == "mark"]
    nodes = [node for node in recording.data.nodes if not node.leaf]
    assert len(nodes) == 2 and all(0 < node.gone < mark for node in nodes)


def test_the_node_of_a_failure_may_have_saved_a_number_alone(torch: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    with record(torch.__name__) as recording:
        loss = (x * 2).mean()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    failure = recording.data.calls[1].failure
    assert failure is not None and recording.data.nodes[failure.node].name == "MulBackward0"


def test_what_a_call_is_about(torch: Any) -> None:
    w = torch.ones(3, requires_grad=True)
    with record(torch.__name__) as recording:
        loss = w.exp().sum()
        loss.backward()
        w.sin().sum().backward()
        assert recording.recorder is not None
        recording.recorder._spent = 1e9  # looks at variables have taken too long by now
        loss = w.cos().sum()
        loss.backward()
        (w * 2).sum().backward()
        torch.autograd.grad(w.exp().sum(), w)
    assert [call.of for call in recording.data.calls] == [
        *("loss", "w.sin().sum()", "loss", "(w * 2).sum()", "w.exp().sum()"),
    ]


def test_threads(torch: Any) -> None:
    """Graphs that threads make and another walks, and threads that train on their own."""
    made: list[Any] = [None, None]
    weight = torch.ones(3, requires_grad=True)
    # Nodes of a thread that never walked a graph may be another's to walk: on PyTorch, their
    # numbers belong to nobody for sure if another thread runs meanwhile. So those that make graphs
    # for others run one by one, and each of the rest has walked its own before they run at once.
    one_by_one, both_have_walked = threading.Lock(), threading.Barrier(2)

    def produce(index: int) -> None:
        inner = weight.exp()
        made[index] = (inner * inner).sum()

    def train() -> None:
        own = torch.ones(3, requires_grad=True)
        for turn in range(5):
            with one_by_one if turn == 0 else contextlib.nullcontext():
                (own.sin() * own).sum().backward()
            if turn == 0:
                both_have_walked.wait()

    def run(*threads: threading.Thread) -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with record(torch.__name__, steps=30) as recording:
        for index in range(2):
            run(threading.Thread(target=produce, args=(index,)))
        total = made[0] + made[1]
        total.backward()
        run(threading.Thread(target=train), threading.Thread(target=train))
    data = recording.data
    assert not any("failed" in note for note in data.notes) and len(data.calls) == 11
    lines = {
        name: {text_at(data, n.places[0]) for n in data.nodes if n.name == name}
        for name in ("ExpBackward0", "AddBackward0", "SinBackward0")
    }
    assert lines == {
        "ExpBackward0": {"inner = weight.exp()"},
        "AddBackward0": {"total = made[0] + made[1]"},
        "SinBackward0": {"(own.sin() * own).sum().backward()"},
    }
    assert len([n for n in data.nodes if n.name == "SinBackward0"]) == 10
    assert len([n for n in data.nodes if n.name == "ExpBackward0"]) == 2


def test_nodes_that_another_thread_may_have_made_have_no_line(torch: Any) -> None:
    """PyTorch's nodes do not tell their thread: their line is not guessed."""
    ready, over = threading.Event(), threading.Event()
    handed: list[Any] = []
    weight = torch.ones(3, requires_grad=True)

    def worker() -> None:
        product = weight.cos() * weight
        handed.append(product.sum())
        ready.set()
        over.wait()

    with record(torch.__name__) as recording:
        thread = threading.Thread(target=worker)
        thread.start()
        ready.wait()
        handed[0].backward()
        over.set()
        thread.join()
    (cosine,) = [node for node in recording.data.nodes if node.name == "CosBackward0"]
    if torch is retrograd:
        assert text_at(recording.data, cosine.places[0]) == "product = weight.cos() * weight"
    else:
        assert cosine.places == [] and "which thread" in cosine.unknown["places"]


def sizes(recorder: recorder_module.Recorder) -> dict[str, int]:
    """How much is in everything that a recorder keeps."""
    found = {}
    for owner in (recorder, recorder.lives, recorder.steps, recorder.modules):
        for name, value in vars(owner).items():
            if isinstance(value, (list, dict, set)):
                found[f"{type(owner).__name__}.{name}"] = len(value)
    return found


def test_what_is_kept_does_not_grow(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """New leaves, inputs, detached values and writes in every step."""
    monkeypatch.setattr(lives_module, "MOST_CUTS", 20)
    monkeypatch.setattr(lives_module, "MOST_WRITES", 20)
    layer = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    state = torch.zeros(2, 4)
    seen = []
    with record(torch.__name__, steps=4, every_step=True) as recording:
        assert recording.recorder is not None
        for turn in range(1, 241):
            leaf = torch.ones(2, 4, requires_grad=True)
            state = layer(torch.rand(2, 4) + state.detach() + leaf).tanh()
            buffer = torch.zeros(2, 4)
            buffer.add_(1)
            (state * buffer).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if turn in (120, 240):
                seen.append(sizes(recording.recorder))
    middle, end = seen
    growing = {name: (middle[name], end[name]) for name in end if end[name] > middle[name] + 20}
    assert growing == {} and max(end.values()) <= 100
    assert any("left out" in note for note in recording.data.notes)


def test_one_step_without_an_end_stays_small(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No optimizer and no loop that turns: the oldest rows go, and that is said."""
    monkeypatch.setattr(recorder_module, "MOST_ROWS", 50)
    w = torch.ones(3, requires_grad=True)

    def once(_: int) -> None:
        w.exp().detach()

    with record(torch.__name__) as recording:
        assert recording.recorder is not None
        list(map(once, range(500)))
        assert len(recording.recorder.events) <= 100
    notes = [note for note in recording.data.notes if "detaches are left out" in note]
    assert len(notes) == 1


def long_run(torch: Any, steps: int, fail_at: int = -1, **options: Any) -> Any:
    """A loop whose recording takes much longer than it does; the pace starts at once."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 4) for _ in range(20)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x, losses = torch.ones(1, 4), []
    with record(torch.__name__, **options) as recording:
        pace = recording.recorder.pace if recording.recorder is not None else None
        if pace is not None:
            pace.steps, pace.free = 0, 0.0
        for step in range(steps):
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            if step == fail_at:
                with pytest.raises(RuntimeError, match="second time"):
                    loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return recording, losses


def test_a_long_run_is_sampled(torch: Any) -> None:
    recording, losses = long_run(torch, 120)
    data = recording.data
    assert not any("failed" in note for note in data.notes)
    assert recording.recorder.slept and not recording.recorder.asleep
    labels = [event.label for event in data.events if event.kind == "step"]
    assert labels[0] == "step 0" and 2 <= len(labels) < 100
    assert recording.recorder.steps.spans[-1].last in (119, 120)  # all were counted
    assert any("in samples" in note for note in data.notes)
    numbers = {int(label.removeprefix("step ")) for label in labels}
    assert {int(step_name(data, call)) for call in data.calls} <= numbers
    assert all(node.places for node in data.nodes if not node.leaf)
    whole, again = long_run(torch, 120, every_step=True)
    assert again == losses and not whole.recorder.slept
    assert "step 119" in [event.label for event in whole.data.events if event.kind == "step"]


def step_name(data: schema.Recording, call: schema.Call) -> str:
    group = data.nodes[call.roots[0]].group
    while data.groups[group].parent >= 0:
        group = data.groups[group].parent
    return data.groups[group].name.removeprefix("step ")


@pytest.mark.torch
def test_a_call_that_fails_between_samples_is_on_the_page() -> None:
    torch = pytest.importorskip("torch")
    recording, _ = long_run(torch, 30, fail_at=3)  # the first steps are passed over to measure
    failed = [call for call in recording.data.calls if call.failure is not None]
    assert len(failed) == 1 and failed[0].of == "loss"
    node = recording.data.nodes[failed[0].failure.node]
    assert text_at(recording.data, node.places[0]) == "loss = model(x).sum()"


def test_everything_is_as_before_when_a_recording_ends_between_samples(torch: Any) -> None:
    from importlib import import_module

    kind = torch.Tensor
    optimizer = import_module(f"{torch.__name__}.optim.optimizer").Optimizer
    before = kind.detach, kind.add_, kind.__iadd__, optimizer.__dict__.get("step")
    for steps in (3, 4, 5, 6):
        long_run(torch, steps)
        assert before == (*(kind.detach, kind.add_, kind.__iadd__, optimizer.__dict__.get("step")),)
