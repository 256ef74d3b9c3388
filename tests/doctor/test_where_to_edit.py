"""Second backwards in programs of many styles: the cause, and the line that should be edited."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from retrograd.watching.source import Loop, set_before_read
from tests.doctor.in_forks import examine

HEAD = """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""

PROGRAMS = {
    "a value for both losses, and what it was made of for one": (
        "shared-subgraph",
        "detach",
        """
code, judge = nn.Linear(3, 3), nn.Linear(1, 1)
judging = torch.optim.SGD(judge.parameters(), lr=0.1)
h = torch.tanh(code(torch.randn(4, 3)))
made = net(h)
first = judge(made).mean()  # fix
first.backward()
judging.step()
second = judge(made).mean() + h.pow(2).mean()
second.backward()
""",
    ),
    "a name for the last state": (
        "stale-state-carried",
        "detach",
        """
g = nn.Linear(3, 3)
x = torch.randn(4, 3)
y = g(x)
for _ in range(3):
    last = y  # fix
    y = torch.tanh(g(x) + g(last))
    loss = (y - last).pow(2).mean()
    loss.backward()
""",
    ),
    "a state carried over the steps of a chunk": (
        "stale-state-carried",
        "detach",
        """
cell = nn.RNNCell(3, 3)
trained = torch.optim.SGD([*cell.parameters(), *net.parameters()], lr=0.1)
h = torch.zeros(2, 3)
for chunk in torch.randn(3, 4, 2, 3):
    loss = 0.0
    for x in chunk:
        h = cell(x, h)
        loss = loss + net(h).pow(2).mean()
    trained.zero_grad()
    loss.backward()
    trained.step()  # fix
""",
    ),
    "an average kept by a callable object": (
        "stale-state-carried",
        "detach",
        """
class Average:
    value = None
    def __call__(self, x):
        self.value = x if self.value is None else 0.9 * self.value + 0.1 * x  # fix
        return self.value
average = Average()
for x in torch.randn(4, 5, 3):
    loss = net(x).pow(2).mean()
    (loss / average(loss)).backward()
    opt.step()
""",
    ),
    "predictions in a buffer": (
        "stale-state-carried",
        "reset-state",
        """
buffer = []
for step, x in enumerate(torch.randn(8, 3)):
    buffer.append((x, net(x)))
    if step < 2:
        continue
    loss = torch.stack([value for _, value in buffer[-3:]]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # fix
""",
    ),
    "results remembered by key": (
        "precomputed-outside-loop",
        "recompute-forward",
        """
known = {}
def encode(key):
    if key in known:
        return known[key]
    value = net(torch.full((1, 3), float(key)))
    known[key] = value  # fix
    return value
for key in (1, 2, 1):
    loss = encode(key).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "a generator that hands out one loss": (
        "precomputed-outside-loop",
        "recompute-forward",
        """
def passes(count):
    loss = net(torch.randn(5, 3)).pow(2).mean()  # fix
    for _ in range(count):
        yield loss
for loss in passes(3):
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "a critic trained several times": (
        "shared-subgraph",
        "detach",
        """
critic = nn.Linear(1, 1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    z = net(torch.randn(5, 3)).tanh()
    for _ in range(2):
        of_critic.zero_grad()
        critic(z).pow(2).mean().backward()  # fix
        of_critic.step()
    opt.zero_grad()
    critic(z).mean().backward()
    opt.step()
""",
    ),
    "gradients of each loss apart": (
        "shared-subgraph",
        "retain-graph",
        """
out = net(torch.randn(5, 3))
kept = []
for loss in (out.pow(2).mean(), out.abs().mean()):
    loss.backward()  # fix
    kept.append([p.grad.clone() for p in net.parameters()])
    opt.zero_grad()
""",
    ),
    "values that are packed on the way": (
        "shared-subgraph",
        "combine-losses",
        """
with torch.autograd.graph.save_on_cpu():
    z = net[0](torch.randn(5, 3)).tanh()
    first, second = z.pow(2).mean(), net[2](z).pow(2).mean()
first.backward()
second.backward()  # fix
""",
    ),
}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each script")
@pytest.mark.parametrize("name", PROGRAMS)
def test_cause_and_edit(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    cause, kind, program = PROGRAMS[name]
    script = tmp_path / "train.py"
    script.write_text(HEAD + program)
    (found,) = examine(script)["found"]
    marked = [n for n, line in enumerate(script.read_text().splitlines(), 1) if "# fix" in line]
    assert (found["category"], found["fix"]["kind"]) == (cause, kind)
    assert [found["fix"]["line"]] == marked


@pytest.mark.parametrize(
    ("name", "carries"),
    [("loss", False), ("state", True), ("previous", True), ("total", True), ("x", False)],
)
def test_which_variables_a_loop_carries(name: str, carries: bool, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "for epoch in range(2):\n"
        "    for x in data:\n"
        "        out, state = rnn(x, state)\n"
        "        loss = f(out)\n"
        "        if previous is not None:\n"
        "            loss = loss + previous\n"
        "        previous = out\n"
        "        total += loss\n"
    )
    assert set_before_read(os.fspath(file), Loop(1, 8), name, line=8) is not carries
