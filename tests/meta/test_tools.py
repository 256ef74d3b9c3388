"""Reports, strict mode, the graph's tools and the doctor take tensors without elements."""

from __future__ import annotations

import json

import pytest

import retrograd as torch
from retrograd import graph
from tests.forked import python


def small():
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    return layer.to("meta"), torch.empty(5, 3, device="meta")


def test_a_freed_graph_is_explained():
    layer, inputs = small()
    loss = layer(inputs).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time") as raised:
        loss.backward()
    assert any("RG101" in note for note in raised.value.__notes__)


def test_a_shape_error_is_explained():
    layer, inputs = small()
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        layer(inputs.t())


def test_anomaly_mode_finds_no_nan():
    layer, inputs = small()
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        layer(inputs).sum().backward()
    assert layer[0].weight.grad.is_meta


def test_strict_mode_counts_writes():
    x = torch.empty(3, device="meta", requires_grad=True)
    with graph.strict():
        y = x.exp()
        with pytest.raises(RuntimeError):
            y.detach().zero_()
            y.sum().backward()


def test_the_graph_is_shown(capsys):
    layer, inputs = small()
    loss = layer(inputs).sum()
    graph.show(loss)
    assert "TanhBackward0 (5, 4)" in capsys.readouterr().out
    assert graph.why_no_grad(layer[0].weight, loss=loss) is not None


def test_the_watch_for_growth_reads_no_elements():
    kept = []
    x = torch.zeros(4, device="meta", requires_grad=True)
    for _ in range(600):  # looks come at backward calls 64, 128, 256, ...
        y = (x * 2).sum()
        kept.append(y)
        y.backward(retain_graph=True)
    assert x.grad.is_meta


PROGRAM = """
import torch
torch.manual_seed(0)
with torch.device("meta"):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    inputs = torch.empty(8, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(4):
    optimizer.zero_grad()
    loss = model(inputs).pow(2).mean()
    loss.backward()
    optimizer.step()
    saved = {name: value for name, value in model.state_dict().items()}
print(loss.shape, loss.device)
"""


def test_the_doctor_watches_a_program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    out = tmp_path / "out.json"
    asked = ["-m", "retrograd", "doctor", "--engine", "retrograd", "--json", str(out), str(file)]
    done = python(asked, folder=tmp_path)
    assert "torch.Size([]) meta" in done.stdout
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["diagnoses"] == []
