"""The fake device with kernels installed: what a program launches and waits for is written down.

Kernels do nothing, or run on the CPU as `on_the_host` compiles them. A function of CuPy counts as
one launch where it makes new memory or writes; what only shows memory in another way counts none.

    with launching() as seen:
        step()
    print(seen.count(), seen.widened(), seen.waits)

    with launching(recurrent, run=True) as seen:  # of the kernels only these, and they compute
        torch.nn.LSTM(3, 4, device="cuda")(x)
    print(seen.own())
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field
from typing import NamedTuple
from unittest import mock

import ml_dtypes
import numpy as np

from retrograd.backend.cuda import blas, launch, overrides
from tests.cuda.fake import device_arrays, machine, posing
from tests.cuda.fake.cublas import Products
from tests.cuda.on_the_host import HostFunction
from tests.strict import arrays
from tests.strict.arrays import StrictArray

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
# what makes memory without a launch
_QUIET = {"empty", "empty_like", "ndarray", "can_cast", "result_type", "broadcast_shapes"}
# what looks at elements from the host, which waits for them
_LOOKS = "__bool__ __int__ __float__ __complex__ __index__ item tolist".split()


class Launch(NamedTuple):
    """One launch: by whom, of what, and the types that an `astype` goes from and to."""

    by: str  # "own", "cupy" or "cublas"
    name: str
    size: int
    source: object = None
    target: object = None


@dataclass
class Seen:
    """What was launched since the last `clear`, and what the host waited for."""

    launches: list[Launch] = field(default_factory=list)
    waits: list[str] = field(default_factory=lambda: machine.waits)

    def clear(self):
        self.launches.clear()
        self.waits.clear()

    def count(self):
        return len(self.launches)

    def own(self):
        """The names of retrograd's own kernels, in order."""
        return [x.name for x in self.launches if x.by == "own"]

    def products(self):
        """How many products cuBLAS was asked for."""
        return len([x for x in self.launches if x.by == "cublas"])

    def casts(self, least=0):
        """Casts between types, of at least so many elements."""
        return [x for x in self.launches if x.source is not None and x.size >= least]

    def widened(self, least=0):
        """Those of half precision to a wider type."""
        return [x for x in self.casts(least) if x.source in HALVES and x.target not in HALVES]

    def by_name(self):
        """How often each is launched, the most frequent first."""
        found: dict[str, int] = {}
        for x in self.launches:
            text = f"{x.by} {x.name}"
            if x.source is not None:
                text += f" {x.source} -> {x.target}"
            found[text] = found.get(text, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -item[1]))


class Counted:
    """A kernel that is written down, and run if there is something to run it."""

    address = 0

    def __init__(self, source, name, seen, run):
        self.name, self.seen = name, seen
        self.run = HostFunction(source, name) if run else None

    def __call__(self, blocks, threads, arguments):
        name = self.name
        if name == "kernel":  # a written one: who launches it knows what it is
            name = sys._getframe(2).f_locals["self"].name
        self.seen.launches.append(Launch("own", name, 0))
        if self.run is not None:
            self.run(blocks, threads, arguments)


def _shares(result, given):
    """Whether a result shows the memory of what was given."""
    return any([type(x) is StrictArray and np.may_share_memory(result._held, x._held)
                for x in given])  # fmt: skip


def _listener(seen):
    """Writes down what CuPy's functions launch."""

    def heard(name, given, options, result):
        if name in _QUIET:
            return
        several = result if isinstance(result, (tuple, list)) else (result,)
        made = [x for x in several if type(x) is StrictArray]
        writes = name in ("__setitem__", "copyto", "fill", "at", "set") or "out" in options
        writes = writes or name.startswith("__i")
        if not writes and (not made or all([_shares(x, given) for x in made])):
            return
        first = next((x for x in given if type(x) is StrictArray), None)
        size = made[0].size if made else getattr(first, "size", 0)
        cast = bool(made) and first is not None and first.dtype != made[0].dtype
        if cast and name in ("astype", "asarray", "array", "ascontiguousarray"):
            seen.launches.append(Launch("cupy", name, size, first.dtype, made[0].dtype))
        else:
            seen.launches.append(Launch("cupy", name, size))

    return heard


def _waiting(look):
    """A look at an element, for which the host waits."""

    def waits(self, *place):
        machine.waits.append(look.__name__)
        return look(self, *place)

    return waits


def _function_of_source(self, name):
    """A source's function, which is not kept: sources live longer than the fake device."""
    if name.startswith("__") or name in ("file", "macros", "definitions"):
        return object.__getattribute__(self, name)
    text = launch.text_of(self.file, definitions=self.macros) + self.definitions
    return launch.function_of(text, name)


@contextlib.contextmanager
def launching(*topics, run=False):
    """The device, with launches written down; with `run` kernels compute, on the CPU.

    topics  the overrides in use beside products; without any, all
    """
    seen = Seen()
    made: dict[tuple[str, str], Counted] = {}

    def function_of(source, name):
        if (source, name) not in made:
            made[source, name] = Counted(source, name, seen, run)
        return made[source, name]

    def product(name, size):
        seen.launches.append(Launch("cublas", name, size))

    def new(self, shape, dtype=float, **_options):
        """`cupy.ndarray`: anything may stand in the memory until a kernel has run."""
        device_arrays.put(self, np.full(shape, 77 if run else 0).astype(dtype))

    chosen = (overrides.products, *topics) if topics else overrides._TOPICS
    patched = [
        (launch, "function_of", function_of),
        (launch.Quick, "module", None),
        (launch, "connect", lambda cupy: None),  # of a machine that has a device
        (launch.Source, "__getattribute__", _function_of_source),
        (blas.Cublas, "_open", lambda self: Products(product, run)),
        (blas.Cublas, "handle", lambda self: None),
        (overrides, "_TOPICS", chosen),
        (StrictArray, "__init__", new),
        (arrays, "heard", _listener(seen)),
        *[(StrictArray, name, _waiting(getattr(StrictArray, name))) for name in _LOOKS],
    ]
    install = overrides.install
    with contextlib.ExitStack() as stack:
        stack.enter_context(posing())
        for owner, name, value in [*patched, (overrides, "install", install)]:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield seen
