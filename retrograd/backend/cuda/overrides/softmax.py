"""softmax and log_softmax with their gradients: one launch each."""

from __future__ import annotations

import math
from typing import Any

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first, source
from retrograd.backend.device import Backend

_BY_WARP = (1, 4, 16, 32)  # how many elements of a row each thread of a warp holds


def install(backend: Backend) -> None:
    """Register them."""
    xp, array = backend.xp, backend.array

    def launched(name: str, dim: int, *operands: Any) -> Any:
        """A function of operands of one shape, along `dim`."""
        first = operands[0]
        if first.dtype.name not in WIDE or not first.ndim or not first.size:
            return None
        if not -first.ndim <= dim < first.ndim:
            return None
        shape, dtype = first.shape, first.dtype
        if any([o.shape != shape or o.dtype != dtype for o in operands[1:]]):
            return None
        dim %= first.ndim
        columns = shape[dim]
        inner = math.prod(shape[dim + 1 :])
        operands = tuple([o if o._c_contiguous else xp.ascontiguousarray(o) for o in operands])
        result: Any = array(shape, dtype)
        pointers = [*[o.data.ptr for o in operands], result.data.ptr]
        functions = source("softmax", dtype)
        lines = first.size // columns
        if inner != 1:
            function = getattr(functions, f"{name}_across")
            blocks = launch.blocks_for(lines, 128)
            launch.launch(function, blocks, (*pointers, lines, columns, inner), 128)
        elif columns > 32 * _BY_WARP[-1]:
            function = getattr(functions, f"{name}_block")
            threads = 256 if columns < 8192 else 1024
            launch.launch(function, min(lines, 1 << 20), (*pointers, lines, columns), threads)
        else:
            most = next(m for m in _BY_WARP if columns <= 32 * m)
            function = getattr(functions, f"{name}_{most}")
            launch.launch(function, launch.blocks_for(lines, 4), (*pointers, lines, columns), 128)
        return result

    for name in ("softmax", "log_softmax"):
        own_first(
            backend, name, lambda input, dim, name=name: launched(name, dim, input), halves=True
        )
        own_first(
            backend,
            f"_{name}_gradient",
            lambda grad, output, dim, name=name: launched(f"{name}_gradient", dim, grad, output),
            halves=True,
        )
