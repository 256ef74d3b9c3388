"""TorchScript compiles grad modes by their text: what watches them must not be in the way."""

from pathlib import Path

import pytest

from tests.doctor.running import doctor

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCRIPTED = """\
import torch

@torch.jit.script
def without(x):
    with torch.no_grad():
        y = x * 2
    return y

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        with torch.no_grad():
            scale = x * 2
        return (scale * self.weight).sum()

model = torch.jit.script(Model())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2)).backward()
    optimizer.step()
print(without(model.weight).requires_grad, model.weight.grad.tolist())
"""


def test_a_scripted_no_grad(tmp_path: Path) -> None:
    run = doctor(tmp_path, SCRIPTED, engine="torch")
    assert (run.status, run.out) == (0, "False [2.0, 2.0]\n"), run.errors
    assert run.report["unseen"] == [] and run.causes == []


def test_signatures_stay(tmp_path: Path) -> None:
    text = (
        "import inspect, torch\n"
        "print(inspect.signature(torch.optim.Optimizer.__init__).parameters.keys())\n"
        "print(inspect.signature(torch.nn.Module.zero_grad))\n"
    )
    run = doctor(tmp_path, text, engine="torch")
    names = "['self', 'params', 'defaults']"
    assert run.out == f"odict_keys({names})\n(self, set_to_none: bool = True) -> None\n"
