"""The call plan of an op: what follows from its declaration, checked against the declaration."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import retrograd as torch
from retrograd.ops.calling.plan import CallPlan, Save
from retrograd.ops.registry import OPS, Op
from retrograd.samples import T
from tests.limits import LIMIT


@pytest.mark.parametrize("name", OPS)
def test_rules_get_what_their_signatures_name(name: str) -> None:
    op = OPS[name]
    plan = op.plan
    if plan.joint is not None:
        names = list(inspect.signature(plan.joint.function).parameters)[3:]
        assert plan.names_read(plan.joint) == names
        assert not plan.rules
    for position, rule in enumerate(plan.rules):
        names = list(inspect.signature(rule.function).parameters)[2:]
        assert plan.names_read(rule) == names
        for save in plan.saves:
            assert (position in save.readers) == (save.name in names)


@pytest.mark.parametrize("name", OPS)
def test_saved_values_lie_one_after_the_other(name: str) -> None:
    place = 0
    for save in OPS[name].plan.saves:
        assert save.start == place
        assert save.width == {"output": 3, "input": 2}.get(save.kind, 1)
        place += save.width


def _has_tensors(value: object) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(part, T) for part in value)


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.samples is not None])
def test_kinds_of_parameters_are_those_of_the_arguments(name: str) -> None:
    """An annotation makes a parameter a tensor, a number as well, optional, or an option."""
    op = OPS[name]
    assert op.samples is not None
    tensors, lists = set(), set()
    for sample in op.samples():
        try:
            given = op.signature.bind(*sample.args, **sample.kwargs).arguments
        except TypeError:  # a call that must be refused, or one with ``out=``
            continue
        tensors |= {parameter for parameter, value in given.items() if isinstance(value, T)}
        lists |= {parameter for parameter, value in given.items() if _has_tensors(value)}
    kinds = {p.name: p.kind for p in op.plan.parameters}
    # one tensor in place of a list is among what is refused
    assert {p for p, kind in kinds.items() if kind not in ("option", "list")} == tensors - lists
    assert {p for p, kind in kinds.items() if kind == "list"} == lists


def test_places_of_saved_values() -> None:
    plan = OPS["mul"].plan
    assert plan.tensor_names == plan.edge_names == ("input", "other")
    assert plan.saves == (
        Save("input", "other", 1, 0, 2, (0,), False),
        Save("input", "input", 0, 2, 2, (1,), False),
    )
    assert OPS["exp"].plan.saves == (Save("output", "out", 0, 0, 3, (0,), True),)
    assert OPS["cat"].plan.edges is None
    assert OPS["cat"].plan.saves == (
        Save("option", "dim", 1, 0, 1, (0,), True),
        Save("shape", "tensors_shape", 0, 1, 1, (0,), True),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x * x,
        lambda x: x.exp(),
        lambda x: torch.cat([x, x], 1),
        lambda x: x.max(1).values,
        lambda x: x.half().exp(),
        lambda x: torch.nn.functional.layer_norm(x, (3,)),
    ],
)
def test_nodes_are_laid_out_as_planned(make: Any) -> None:
    node = make(torch.rand(2, 3, requires_grad=True)).grad_fn
    plan = node.op.plan
    assert len(node.saved) == sum(save.width for save in plan.saves)
    for save in plan.saves:
        if save.kind == "output":
            assert node.saved[save.start + 2] == node.saved[save.start + 1].version


def _op_reading(name: str) -> Op:
    op = Op.__new__(Op)
    op.__dict__.update(vars(OPS["relu"]))
    op.__dict__.pop("plan", None)
    scope: dict[str, Any] = {}
    exec(f"def rule(m, g, {name}): return g", scope)
    op.rules = {"input": scope["rule"]}
    return op


def test_a_rule_can_only_read_what_a_call_has() -> None:
    with pytest.raises(TypeError, match="a rule reads 'nothing', which is nothing it can save"):
        CallPlan(_op_reading("nothing"))
    assert CallPlan(_op_reading("input_shape")).saves[0].kind == "shape"


def test_importing_works_out_no_plans() -> None:
    program = (
        "import retrograd; from retrograd.ops.registry import OPS; "
        "print([name for name, op in OPS.items() if 'plan' in vars(op)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.strip() == "[]"
