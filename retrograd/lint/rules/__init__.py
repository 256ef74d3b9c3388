"""All rules, by code."""

from __future__ import annotations

from ..declare import Rule
from . import backward, cuts, hints, idle, loops, memory, modules, optimizers, retained, writes

_GROUPS = (memory, retained, backward, loops, cuts, idle, writes, optimizers, modules, hints)

RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in sorted((r for group in _GROUPS for r in group.RULES), key=lambda rule: rule.code)
}
"""Every rule by its code, in order."""
