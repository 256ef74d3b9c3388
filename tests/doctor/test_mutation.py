"""The mutations: lines that are named are the broken ones, and real PyTorch tells faults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.doctor.mutation import gradients, graphs
from tests.doctor.mutation.__main__ import Mutant, candidates, examine
from tests.doctor.mutation.editing import Fault, Text
from tests.doctor.mutation.originals import Original, originals
from tests.doctor.mutation.reality import Reality
from tests.forked import Machine

PROGRAM = """\
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.ones(4, 3)
losses = []
for epoch in range(3):
    for step in range(4):
        optimizer.zero_grad()
        out = model(inputs)
        loss = (out - step).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
"""


def faults(kind: str) -> list[Fault]:
    text = Text(PROGRAM)
    every = [
        fault for operator in (*gradients.OPERATORS, *graphs.OPERATORS) for fault in operator(text)
    ]
    return [fault for fault in every if fault.kind == kind]


def guilty(kind: str) -> list[str]:
    (fault,) = faults(kind)
    lines = fault.text.splitlines()
    return [lines[number - 1].strip() for number in fault.lines]


def test_lines_are_those_that_were_broken() -> None:
    assert guilty("item() dropped") == ["losses.append(loss)"]
    assert guilty("needless retain_graph") == ["loss.backward(retain_graph=True)"]
    assert guilty("backward twice") == ["loss.backward()", "loss.backward()"]
    assert guilty("forward before the loop") == ["out = model(inputs)"]
    assert guilty("running sum reset every few") == ["running_total += loss"]
    assert guilty("optimizer over a copy") == [
        "optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)"
    ]


def test_a_moved_statement_is_there_once() -> None:
    (fault,) = faults("zero_grad, step, backward")
    body = [line.strip() for line in fault.text.splitlines() if line.startswith(" " * 8)]
    assert body[:5] == [
        "optimizer.zero_grad()",
        "out = model(inputs)",
        "loss = (out - step).pow(2).mean()",
        "optimizer.step()",
        "loss.backward()",
    ]
    assert fault.reference == PROGRAM


def test_every_mutant_is_a_program() -> None:
    found = candidates(originals()[::7])
    assert len(found) > 20
    for mutants in found.values():
        for mutant in mutants:
            compile(mutant.fault.text, mutant.name, "exec")
            assert mutant.fault.text != mutant.fault.reference
            assert mutant.fault.lines


def test_a_copy_has_the_modules_that_its_script_imports(tmp_path: Path) -> None:
    (program,) = [each for each in originals() if each.name == "examples/reinforce.py"]
    script = program.written(tmp_path, program.script, "print()")
    assert script.read_text() == "print()"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cartpole.py", "reinforce.py"]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each program")
def test_real_faults_are_told_from_others_and_scored(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    original = Original("program", script)
    with Machine() as machine:
        reality = Reality(machine)
        verdicts = {
            kind: reality.verdict(original, script, faults(kind)[0])[0]
            for kind in ("zero_grad dropped", "backward twice", "item() dropped", "cut by .data")
        }
        assert verdicts == {
            "zero_grad dropped": "silent",
            "backward twice": "raises",
            "item() dropped": "silent",
            "cut by .data": "raises",
        }
        mutant = Mutant(original, script, faults("item() dropped")[0], silent=True)
        assert examine(mutant, machine, reality).complete
        healthy = machine.doctor(script)
        assert (healthy["status"], healthy["diagnoses"]) == ("healthy", [])
