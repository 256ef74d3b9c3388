"""`xp`: the functions that kernels call, of one array library and of what is missing there.

A kernel is written once and takes `xp` first. ``xp.name`` is, in this order:

1. what the device offers under that name in its place (on the CPU the compiled functions),
2. one of the functions of `neutral`, which no array library has as PyTorch defines it (`erf`,
   `sum_to`, ...), bound to this `xp`,
3. the library's own function.

What was found is kept, so that the second look-up costs as much as that of a module's function.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.backend.functions import Functions
else:
    Functions = object  # a type checker sees there what kernels call most

# Where the neutral functions are that are called as `xp.name`: they take `xp` first.
_HOMES = {
    "arithmetic": """
        add_at add_matching filled iadd logaddexp_accumulate matmul2d maximum_accumulate
        minimum_accumulate pairs reduce_at sum_all sum_to
    """,
    "masking": "keep_where not_below_zero",
    "memory": "copy_in_rows copy_into read_only shares_memory strided take_rows writable",
    "scatter": "add_rows",
    "special_bessel": "bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0 i0e i1 i1e",
    "special_erf": "erf erfc erfcx erfinv log_ndtr ndtr ndtri",
    "special_gamma": "digamma gammaln lgamma polygamma zeta",
    "special_incomplete_gamma": "gammainc gammaincc",
    "special_logistic": """
        entr expit log_sigmoid logaddexp logaddexp2 logit sinc softplus xlog1py xlogy
    """,
}
NEUTRAL = {name: module for module, names in _HOMES.items() for name in names.split()}


class Namespace(Functions):
    """An array library as kernels see it.

    >>> from retrograd.backend import CPU
    >>> CPU.xp.sum_all(CPU.xp.ones(3))
    array(3.)
    """

    raw: Any  # the ops on arrays of the same backend

    def __init__(self, library: Any, own: Mapping[str, Any]) -> None:
        self.__dict__.update(own)
        self._library = library

    def __getattr__(self, name: str) -> Any:
        home = NEUTRAL.get(name)
        if home is None:
            found = getattr(self._library, name)
        else:
            module = importlib.import_module(f"retrograd.backend.neutral.{home}")
            found = partial(getattr(module, name), self)
        self.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return f"<xp of {self._library.__name__}>"
