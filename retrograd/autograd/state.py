"""Per-thread modes, and the two counters that let the hot path skip reading them.

A thread-local read costs about 40 ns, a module global about 7. So every change of mode keeps two
global counts in `HOT`, the namespace in which all compiled op functions run:

`NO_GRAD`   threads whose grad mode is off: ops then ask their own thread;
`UNUSUAL`   rarer modes that are on somewhere (inference mode, saved-tensor hooks, forward mode,
            anomaly detection): ops then take the general path, which looks at everything.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from retrograd.lifecycle.site import user_site

# The namespace of compiled op functions (ops/compile.py fills it, this module counts in it).
HOT: dict[str, Any] = {"NO_GRAD": 0, "UNUSUAL": 0, "__name__": "retrograd.ops.compiled"}

# Nodes and backward calls draw from one counter, so that their order in time can be compared.
next_sequence = itertools.count(1).__next__

_count_lock = threading.Lock()
_acquire, _release = _count_lock.acquire, _count_lock.release  # half the cost of a with block


def count_mode(name: str, change: int) -> None:
    """Add `change` to a global mode count; exact under threads."""
    _acquire()
    HOT[name] += change
    _release()


class Cut:
    """Where a path that could have carried a gradient was cut, for error reports."""

    __slots__ = ("code", "kind", "lasti", "operation")

    def __init__(self, kind: str, operation: str, code: Any, lasti: int) -> None:
        self.kind = kind  # "detach", "data", "no_grad", "inference", "nondifferentiable"
        self.operation = operation
        self.code = code
        self.lasti = lasti

    @staticmethod
    def here(kind: str, operation: str) -> Cut:
        """A cut at the user's line that is running now."""
        code, lasti = user_site(2)
        return Cut(kind, operation, code, lasti)


# Hooks run without recording, unless the backward call has create_graph=True.
IN_HOOK = Cut("hook", "hook", None, 0)


class _State(threading.local):
    grad_enabled: bool = True
    cut: Cut | None = None  # the context that turned gradients off
    inference: bool = False
    call: Any = None  # the running BackwardCall
    depth: int = 0  # nested backward calls in this thread
    saved_hooks: tuple[tuple[Any, Any], ...] = ()  # (pack, unpack) pairs, the innermost last
    saved_hooks_refused: str | None = None  # the message of disable_saved_tensors_hooks


STATE = _State()


class _Transforms:
    """Function transforms that are running in any thread, and what the general path asks of them.

    While `active` is not 0, gradients travel as Tensors, since they may be batched or carry
    tangents. The modules of forward mode and of vmap put their functions here when imported: the
    general path must not import them.
    """

    active: int = 0  # dual levels and vmap calls
    dual_levels: int = 0
    # vmap: (level, op, args, tensors) -> results of an op, and the in-place op's target
    batched: Callable[..., list[Any]]
    batched_inplace: Callable[..., Any]
    # forward mode: (op, args, tensors, outputs) sets the tangents of the outputs
    set_tangents: Callable[..., None]
    write_tangent: Callable[..., None]


TRANSFORMS = _Transforms()


def count_transform(change: int, *, dual: bool) -> None:
    """A dual level (`dual`) or a vmap call begins (1) or ends (-1)."""
    _acquire()
    TRANSFORMS.active += change
    if dual:
        TRANSFORMS.dual_levels += change
        HOT["UNUSUAL"] += change
    _release()


def set_saved_hooks(pairs: tuple[tuple[Any, Any], ...]) -> None:
    """Replace this thread's stack of saved-tensor hooks, keeping the global count right."""
    before = bool(STATE.saved_hooks)
    STATE.saved_hooks = pairs
    if before != bool(pairs):
        count_mode("UNUSUAL", 1 if pairs else -1)


def set_grad_mode(enabled: bool, cut: Cut | None = None) -> None:
    """Switch this thread's grad mode, keeping the global count right."""
    state = STATE
    if state.grad_enabled != enabled:
        state.grad_enabled = enabled
        _acquire()
        HOT["NO_GRAD"] += -1 if enabled else 1
        _release()
    state.cut = cut


def set_inference(enabled: bool) -> None:
    """Switch this thread's inference mode, keeping the global count right."""
    if STATE.inference != enabled:
        STATE.inference = enabled
        count_mode("UNUSUAL", 1 if enabled else -1)
