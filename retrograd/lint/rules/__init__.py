"""All rules, by code."""

from __future__ import annotations

from ..declare import Rule
from . import backward, cuts, hints, memory, modules, optimizers

RULES: dict[str, Rule] = {
    rule.code: rule
    for group in (memory, backward, cuts, optimizers, modules, hints)
    for rule in group.RULES
}
"""Every rule by its code, in order."""
