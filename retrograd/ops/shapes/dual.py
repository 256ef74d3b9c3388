"""Views that forward mode makes: a dual tensor of its primal, and the primal of a dual tensor.

As views they share memory, version and history; tangents they do not share (`transforms.forward`).
"""

from __future__ import annotations

from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import op


@op(
    input=lambda m, g: g,
    holomorphic=True,
    view="always",
    node_name="ViewBackward0",
    barrier=True,
)
def _make_dual(xp: Namespace, input: Array, origin: object) -> Array:
    """The same elements, with other tangents: `origin` has them (see `transforms.forward`)."""
    return input.view()


@op(
    input=lambda m, g: g,
    holomorphic=True,
    view="always",
    node_name="Identity",
    barrier=True,
)
def _fw_primal(xp: Namespace, input: Array, origin: object) -> Array:
    """The same elements, without the tangent of one level."""
    return input.view()
