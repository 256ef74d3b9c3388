"""The table of operations: what each keeps for backward, and how it goes through transforms."""

from __future__ import annotations

from collections.abc import Iterable

from retrograd.ops.registry import COMPOSITES, OPS, Op
from retrograd.transforms.batching.rules import loop, rule_for

_INTRODUCTION = """\
# Operations

Every operation that has a derivative rule or a kernel of its own. This page is written by `python
-m retrograd.compat.documentation docs/ops.md` from the declarations; the tests fail when it is out
of date.

- **in place** is the twin that writes into its first argument; **out=** says whether a tensor can
  be given for the result.
- **derivative** lists the arguments that gradients flow to.
- **keeps** is what the node holds on to until backward. That is the memory of a graph, and what
  must not be changed in place before backward
  ([RG102](../retrograd/diagnostics/explain/RG102.md)). An argument is kept only if the derivative
  that reads it is wanted. "sizes" means that shapes or dtypes are remembered, and no data. "-"
  means nothing.
- **forward mode**: *elementwise* and *reduction* use the derivative as it is, *linear* and
  *multilinear* run the operation on the tangents, *own rule* has a formula of its own, *transposed*
  follows from the backward rules.
- **vmap**: *rule* runs the operation once on the whole batch, *each* runs it once for every
  example: always right, and slower.
"""
_INNER = """\
## Inner operations

Other functions are made of these. They have no public name, but their nodes are seen as `grad_fn`
and in reports.

| node | operation | derivative | keeps | forward mode | vmap |
| --- | --- | --- | --- | --- | --- |"""
_COMPOSED = """\
## Composed of other operations

These have nothing of their own to differentiate: gradients, tangents and batches go through the
operations that they are made of.
"""
_SPACES = {
    "torch": "torch",
    "nn.functional": "torch.nn.functional",
    "linalg": "torch.linalg",
    "fft": "torch.fft",
    "special": "torch.special",
}


def op_page() -> str:
    """The page as text."""
    parts = [_INTRODUCTION]
    for space, title in _SPACES.items():
        chosen = [op for op in OPS.values() if op.namespace == space]
        if chosen:
            parts += [f"## `{title}`\n", *_table(chosen), ""]
    methods = [op for op in OPS.values() if op.namespace is None and _public_methods(op)]
    parts += ["## Methods of tensors only\n", *_table(methods), ""]
    inner = [op for op in OPS.values() if op.namespace is None and not _public_methods(op)]
    parts += [_INNER, *map(_inner_row, sorted(filter(_has_node, inner), key=_node)), ""]
    parts.append(_COMPOSED)
    for space, title in _SPACES.items():
        names = sorted(c.name for c in COMPOSITES.values() if _is_of(c.namespace, space, c.name))
        if names:
            parts.append(f"**`{title}`**: " + ", ".join(f"`{name}`" for name in names) + "\n")
    return "\n".join(parts).rstrip() + "\n"


def _is_of(namespace: str | None, space: str, name: str) -> bool:
    return namespace == space and not name.startswith("_")


def _public_methods(op: Op) -> list[str]:
    return [name for name in op.methods if not name.startswith("_")]


def _table(ops: Iterable[Op]) -> list[str]:
    lines = [
        "| operation | in place | out= | derivative | keeps | forward mode | vmap |",
        "| --- |" + " --- |" * 6,
    ]
    for op in sorted(ops, key=_name):
        cells = (
            f"`{_name(op)}`",
            "-" if op.inplace_name is None else f"`{op.inplace_name}`",
            "yes" if op.out else "-",
            _listed(op.plan.edge_names),
            keeps(op),
            forward_mode(op),
            _vmap(op),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _has_node(op: Op) -> bool:
    return bool(op.plan.edge_names)


def _node(op: Op) -> tuple[str, str]:
    return op.node_name, op.name


def _inner_row(op: Op) -> str:
    cells = (
        f"`{op.node_name}`",
        f"`{op.name}`",
        _listed(op.plan.edge_names),
        keeps(op),
        forward_mode(op),
        _vmap(op),
    )
    return "| " + " | ".join(cells) + " |"


def _vmap(op: Op) -> str:
    return "each" if rule_for(op) is loop else "rule"


def _name(op: Op) -> str:
    return op.name if op.namespace is not None else _public_methods(op)[0]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def keeps(op: Op) -> str:
    """What a node of this op holds on to, in words.

    >>> keeps(OPS["mul"]), keeps(OPS["exp"]), keeps(OPS["add"])
    ('`input`, `other`', 'result', '-')
    """
    kinds = {save.kind for save in op.plan.saves}
    # the order of the arguments, not of the rules that read them
    read = {save.name for save in op.plan.saves if save.kind == "input"}
    held = [f"`{name}`" for name in op.plan.tensor_names if name in read]
    if "output" in kinds:
        held.append("result")
    if held:
        return ", ".join(held)
    return "sizes" if {"shape", "dtype", "strides"} & kinds else "-"


def forward_mode(op: Op) -> str:
    """How tangents go through an op, in one word or two.

    >>> forward_mode(OPS["exp"]), forward_mode(OPS["argmax"])
    ('elementwise', '-')
    """
    if not op.plan.edge_names:
        return "-"
    if op.forward is None:
        return "transposed"
    return op.forward if isinstance(op.forward, str) else "own rule"
