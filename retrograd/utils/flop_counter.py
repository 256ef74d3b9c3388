"""Counts of multiplications and additions: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.utils.flop_counter",
        "operations are not counted; torch.profiler measures their time",
        functions="register_flop_formula",
        classes="FlopCounterMode",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
