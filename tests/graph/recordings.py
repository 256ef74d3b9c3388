"""Recordings with known answers, made by hand: what the page's tests look at.

`python -m tests.graph.recordings FOLDER` writes them as pages into a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path

from retrograd.graph import record, schema
from retrograd.graph.page import write_page
from retrograd.graph.schema import (
    Call,
    Event,
    Failure,
    Group,
    GroupKind,
    Node,
    Place,
    Recording,
    Saved,
    Storage,
    Sweep,
)
from tests.doctor.pages import write_reports

SECOND_TIME = "Trying to backward through the graph a second time"


class Program:
    """Writes a recording by acting out a program: each call is one thing that it did."""

    def __init__(self, title: str, text: str) -> None:
        self.recording = Recording(title, "retrograd", "0.1.0")
        self.recording.files.append(schema.SourceFile(title, text))
        self.groups: list[int] = []
        self.memory: dict[int, int] = {}  # node -> storage of its result
        self.leaves: dict[str, int] = {}

    @property
    def nodes(self) -> list[Node]:
        return self.recording.nodes

    def tick(self) -> int:
        self.recording.end += 1
        return self.recording.end

    def _storage(self, node: int, shape: Sequence[int], owner: str = "") -> int:
        self.memory[node] = len(self.recording.storages)
        self.recording.storages.append(Storage(4 * prod(shape), owner))
        return self.memory[node]

    def leaf(self, label: str, *shape: int, line: int = 1) -> int:
        """A parameter; the same one for the same name."""
        if label in self.leaves:
            return self.leaves[label]
        number = self.leaves[label] = len(self.nodes)
        self._storage(number, shape, label)
        place = [Place(0, line)]
        node = Node("AccumulateGrad", self.tick(), shape, "float32", places=place, label=label)
        node.leaf = True
        self.nodes.append(node)
        return number

    def op(self, name: str, inputs: Sequence[int], *shape: int, line: int, saves: str = "") -> int:
        """One operation. `saves` says what it keeps: "self", its first input; "result", its own."""
        number = len(self.nodes)
        group = self.groups[-1] if self.groups else -1
        node = Node(f"{name}Backward0", self.tick(), shape, "float32", list(inputs), group=group)
        node.places = [Place(0, line)]
        self._storage(number, shape)
        for word in saves.split():
            source = number if word == "result" else inputs[0]
            of = shape if word == "result" else (self.nodes[source].shape or ())
            node.saved.append(Saved(word, tuple(of), "float32", 4 * prod(of), self.memory[source]))
        self.nodes.append(node)
        return number

    @contextmanager
    def inside(self, name: str, kind: GroupKind = "module", type: str = "") -> Iterator[None]:
        parent = self.groups[-1] if self.groups else -1
        self.recording.groups.append(Group(name, kind, parent, type))
        self.groups.append(len(self.recording.groups) - 1)
        if kind == "step":
            self.recording.events.append(Event(self.tick(), "step", name))
        yield
        self.groups.pop()

    def detach(self, node: int, line: int) -> None:
        time = self.nodes[node].cut = self.tick()
        self.recording.events.append(Event(time, "detach", "", node, Place(0, line)))

    def hold(self, **held: int) -> None:
        pairs = [(path.replace("__", "[") + "]" * ("__" in path), n) for path, n in held.items()]
        self.recording.sweeps.append(Sweep(self.recording.end, pairs))

    def drop(self, nodes: Sequence[int]) -> None:
        time = self.tick()
        for number in nodes:
            self.nodes[number].gone = time

    def backward(self, root: int, of: str, line: int, retain: bool = False) -> bool:
        """Walks the graph as the engine does; false where it came to freed values."""
        reach, waiting = {root}, [root]
        while waiting:
            for edge in self.nodes[waiting.pop()].edges:
                if edge not in reach:
                    reach.add(edge)
                    waiting.append(edge)
        number = len(self.recording.calls) + 1
        how = "retain_graph=True" if retain else ""
        call = Call(number, self.tick(), 0, [root], of, 0, retain, how, place=Place(0, line))
        self.recording.calls.append(call)
        for index in sorted(reach, reverse=True):
            node = self.nodes[index]
            if node.leaf:
                continue
            if node.freed and node.saved:
                call.failure = Failure(SECOND_TIME, index, "RG101")
                self.recording.events.append(Event(self.tick(), "error"))
                break
            call.walked += 1
            if retain:
                node.kept = node.kept or self.tick()
            elif not node.freed:
                node.freed, node.freed_by = self.tick(), number
        call.end = self.tick()
        return call.failure is None


TWO_LOSSES = """\
import retrograd as torch

torch.manual_seed(0)
x = torch.randn(4, 8)
W = torch.randn(8, 16, requires_grad=True)
b = torch.zeros(16, requires_grad=True)

trunk = torch.tanh(x @ W + b)
loss_a = trunk.pow(2).mean()
loss_b = (trunk * 0.5).exp().sum()

loss_a.backward()
loss_b.backward()
"""


def two_losses() -> Recording:
    """Ten nodes: the second loss needs what the first one's backward freed."""
    program = Program("two_losses.py", TWO_LOSSES)
    weight, bias = program.leaf("W", 8, 16, line=8), program.leaf("b", 16, line=8)
    product = program.op("Mm", [weight], 4, 16, line=8, saves="self")
    trunk = program.op("Tanh", [program.op("Add", [product, bias], 4, 16, line=8)], 4, 16, line=8)
    value = Saved("result", (4, 16), "float32", 256, program.memory[trunk], "0.999, -1, -0.534, …")
    program.nodes[trunk].saved.append(value)
    power = program.op("Pow", [trunk], 4, 16, line=9, saves="self")
    first = program.op("Mean", [power], line=9)
    scaled = program.op("Mul", [trunk], 4, 16, line=10)
    second = program.op(
        "Sum", [program.op("Exp", [scaled], 4, 16, line=10, saves="result")], line=10
    )
    program.hold(trunk=trunk, loss_a=first, loss_b=second)
    program.backward(first, "loss_a", 12)
    program.backward(second, "loss_b", 13)
    return program.recording


MODEL = """\
class Block(nn.Module):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))

class Model(nn.Module):
    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x), self.probe(x.detach())

for step in range(1, steps + 1):
    logits, guess = model(batch)
    loss = criterion(logits) + criterion(guess)
    history.append(loss)
    loss.backward()
"""


def _block(program: Program, x: int, index: int) -> int:
    def leaf(name: str) -> int:
        return program.leaf(f"model.blocks.{index}.{name}.weight", 48, 48, line=3)

    with program.inside(f"blocks.{index}", "module", "Block"):
        with program.inside("attention", "module", "Attention"):
            parts = []
            for name in "qkv":
                weight = leaf(name)
                parts.append(program.op("Linear", [x, weight], 8, 32, 48, line=3, saves="self"))
            scores = program.op("Bmm", parts[:2], 8, 32, 32, line=3, saves="self")
            weights = program.op("Softmax", [scores], 8, 32, 32, line=3, saves="result")
            mixed = program.op("Bmm", [weights, parts[2]], 8, 32, 48, line=3, saves="self")
        x = program.op("Add", [x, mixed], 8, 32, 48, line=3)
        with program.inside("mlp", "module", "Sequential"):
            weight = leaf("mlp")
            wide = program.op("Linear", [x, weight], 8, 32, 192, line=4, saves="self")
            active = program.op("Gelu", [wide], 8, 32, 192, line=4, saves="self")
            narrow = program.op("Linear", [active, weight], 8, 32, 48, line=4, saves="self")
        return program.op("Add", [x, narrow], 8, 32, 48, line=4)


def model(steps: int = 4, depth: int = 4) -> Recording:
    """A small model with blocks, a detached probe, and losses that a list holds."""
    program = Program("model.py", MODEL)
    losses: dict[str, int] = {}
    for step in range(1, steps + 1):
        with program.inside(f"step {step}", "step"):
            with program.inside("model", "module", "Model"):
                table = program.leaf("model.embed.weight", 96, 48)
                x = program.op("Embedding", [table], 8, 32, 48, line=8)
                for index in range(depth + (step == steps)):  # the last step has a block more
                    x = _block(program, x, index)
                program.detach(x, 11)
                head = program.op("Linear", [x], 8, 32, 96, line=11, saves="self")
                probe = program.leaf("model.probe.weight", 48, 2)
                guess = program.op("Linear", [probe], 8, 2, line=11, saves="self")
                program.recording.cuts.append((x, guess))
            pair = [program.op("NllLoss", [node], line=15) for node in (head, guess)]
            loss = program.op("Add", pair, line=15)
        losses[f"history__{step - 1}"] = loss
        program.hold(loss=loss, **losses)
        program.backward(loss, "loss", 17)
    program.drop([index for index, node in enumerate(program.nodes) if node.freed_by == 1])
    program.nodes[-1].unknown = {"holders": "not visible in PyTorch: a hook holds it"}
    program.recording.notes.append("not visible in PyTorch: what CopySlices saves")
    return program.recording


CARRIED = """\
for step in range(steps):
    for x in batch:
        h = cell(x, h)
    loss = h.pow(2).mean()
    loss.backward(retain_graph=step < steps - 2)
"""


def carried_state(steps: int = 11, length: int = 14) -> Recording:
    """More than 5,000 nodes: a state carried from step to step, until a call does not keep it."""
    program = Program("carried_state.py", CARRIED)
    weight = program.leaf("cell.weight", 24, 72, line=3)
    h = weight
    for step in range(1, steps + 1):
        with program.inside(f"step {step}", "step"):
            with program.inside("net", "module", "Net"):
                for index in range(length):
                    with program.inside(f"[{index}]", "pass"):
                        for layer in (1, 2):
                            with program.inside(f"cell{layer}", "module", "Cell"):
                                h = _cell(program, h, weight)
            loss = program.op("Pow", [h], 16, 24, line=4, saves="self")
            loss = program.op("Mean", [loss], line=4)
        program.hold(h=h, loss=loss)
        if not program.backward(loss, "loss", 5, retain=step < steps - 1):
            break
    return program.recording


FLAT = """\
for i in range(500):
    a = torch.tanh(h @ W)
    b = torch.sigmoid(h * 0.5)
    h = a * b + h
"""


def flat(turns: int = 500) -> Recording:
    """A long graph without any module, of which nothing was recorded but what it is."""
    program = Program("flat.py", FLAT)
    weight = program.leaf("W", 8, 8)
    h = program.leaf("h", 4, 8)
    for _ in range(turns):
        a = program.op("Mm", [h, weight], 4, 8, line=2, saves="self")
        a = program.op("Tanh", [a], 4, 8, line=2, saves="result")
        b = program.op("Mul", [h], 4, 8, line=3)
        b = program.op("Sigmoid", [b], 4, 8, line=3, saves="result")
        product = program.op("Mul", [a, b], 4, 8, line=4, saves="self")
        h = program.op("Add", [product, h], 4, 8, line=4)
    return program.recording


def chain(length: int = 45) -> Recording:
    """One call of a module that does one thing after the other, and a last one with the first."""
    program = Program("chain.py", "h = torch.tanh(h)\n" * 3)
    h = first = program.leaf("h", 4, 8)
    with program.inside("model", "module", "Model"):
        for turn in range(length):
            h = program.op("Tanh", [h], 4, 8, line=1 + turn % 3, saves="result")
            first = h if not turn else first
        program.op("Mul", [h, first], 4, 8, line=3)
    return program.recording


def hostile() -> Recording:
    """Every text of it would do harm in a page that took it for HTML."""
    harm = '<img src=x onerror="window.harmed=1"></script><script>window.harmed=1</script>&\''
    recording = model(steps=2, depth=1)
    recording.title = recording.library = recording.library_version = harm
    recording.files = [schema.SourceFile(harm, f"{harm}\n" * 20), schema.SourceFile(harm, harm)]
    for node in recording.nodes:
        node.name, node.dtype, node.label = node.name + harm, harm, node.label and harm
        node.unknown = {"saved": harm, harm: harm, "holders": harm}
        for saved in node.saved:
            saved.name, saved.preview, saved.dtype = harm, harm, harm
    for group in recording.groups:
        group.name, group.type = harm, harm
    for call in recording.calls:
        call.kind, call.of, call.how, call.retain = harm, harm, harm, True
    recording.calls[-1].failure = Failure(harm, 5, harm)
    recording.events.append(Event(3, "mark", harm))
    recording.sweeps.append(Sweep(4, [(harm, 5), (f"{harm}[0]", 6), (f"{harm}[1]", 7)]))
    recording.storages[0].owner = harm
    recording.notes = [harm]
    return recording


def _cell(program: Program, h: int, weight: int) -> int:
    def gate(name: str, source: int) -> int:
        linear = program.op("Linear", [source, weight], 16, 24, line=3, saves="self")
        shifted = program.op("Add", [linear, source], 16, 24, line=3)
        return program.op(name, [shifted], 16, 24, line=3, saves="result")

    reset, update = gate("Sigmoid", h), gate("Sigmoid", h)
    new = gate("Tanh", program.op("Mul", [reset, h], 16, 24, line=3, saves="self"))
    parts = [
        program.op("Mul", [a, b], 16, 24, line=3, saves="self")
        for a, b in ((update, h), (program.op("Rsub", [update], 16, 24, line=3), new))
    ]
    wide = [program.op("View", [part], 16, 24, line=3) for part in parts]
    return program.op("Add", [program.op("Add", wide, 16, 24, line=3), h], 16, 24, line=3)


TRAINING = """\
import retrograd as torch
from retrograd import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        wide = 4 * width
        self.mlp = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, x):
        q, k, v = self.attention(self.norm(x)).chunk(3, -1)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for step in range(3):
    tokens = torch.randint(64, (8, 24))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten())
    history.append(loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def recorded(folder: Path, title: str, text: str) -> Recording:
    """A program of this text, really run on retrograd and recorded."""
    path = folder / title
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    space = {"__name__": "__main__"}
    with record(engine="retrograd", title=title) as recording:
        try:
            exec(compile(text, path, "exec"), space)
        except RuntimeError as error:
            print(f"{title}: {str(error)[:50]} ...")  # the mistake is what the page shows
    data = recording.data
    for node in data.nodes:  # the lines below the program's are this file's
        node.places = [place for place in node.places if data.files[place.file].text == text]
    return data


def write_all(folder: Path) -> list[Path]:
    ten, middle, large = two_losses(), model(), carried_state()
    return [
        write_page(recorded(folder, "two_losses.py", TWO_LOSSES), folder / "recorded.html"),
        write_page(recorded(folder, "training.py", TRAINING), folder / "training.html"),
        write_page(ten, folder / "ten.html"),
        write_page(middle, folder / "model.html"),
        write_page(large, folder / "large.html"),
        write_page([ten, middle], folder / "several.html"),
        write_page(flat(), folder / "flat.html"),
        write_page(chain(), folder / "chain.html"),
        write_page(hostile(), folder / "hostile.html"),
        write_page(Recording("empty.py", "retrograd", "0.1.0"), folder / "empty.html"),
        *write_reports(folder),
    ]


if __name__ == "__main__":
    for path in write_all(Path(sys.argv[1])):
        print(path)
