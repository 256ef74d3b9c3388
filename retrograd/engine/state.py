"""Per-thread modes, and the two counters that let the hot path skip reading them.

A thread-local read costs about 40 ns, a module global about 7. So every change of mode keeps two
global counts in `HOT`, the namespace in which all compiled op functions run:

`NO_GRAD`   threads whose grad mode is off: ops then ask their own thread;
`UNUSUAL`   rarer modes that are on somewhere (inference mode, saved-tensor hooks, forward mode,
            vmap, anomaly detection, strict mode): ops then take the general path, which looks at
            everything.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from retrograd.backend.arrays import DType
from retrograd.lifecycle.site import user_site
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.engine.draws import Draws
    from retrograd.engine.node import BackwardCall, Node
    from retrograd.engine.recompute_scope import Scope
    from retrograd.ops.registry import Op

# a pack hook, and the unpack hook that takes what it gave
Hooks = tuple[Callable[["Tensor"], object], Callable[..., "Tensor"]]
# The namespace of compiled op functions (`calling.compile` fills it, this module counts in it).
HOT: dict[str, Any] = {"NO_GRAD": 0, "UNUSUAL": 0, "__name__": "retrograd.ops.compiled"}

# Nodes and backward calls draw from one counter, so that their order in time can be compared.
_numbers = itertools.count(1)
next_sequence = _numbers.__next__


def upcoming_sequence() -> int:
    """The number that will be drawn next; it is not drawn."""
    return int(repr(_numbers)[6:-1])  # "count(17)": nothing else tells it


# With a global interpreter lock, threads and signals take over only where something is called or a
# loop turns round. So a stretch of plain reads and writes is one step: nothing comes between a mode
# and its count, not even Ctrl-C. A lock would be slower, and one that is interrupted right after it
# was acquired stays locked for ever. Without the global lock `COUNTING` has to do.
GIL: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
COUNTING = threading.RLock()


def _switch(holder: object, name: str, value: object, count: str, change: int) -> None:
    """Set a mode and add `change` to its global count, in one step."""
    if GIL:
        places = holder.__dict__
        places[name] = value
        HOT[count] += change
    else:
        with COUNTING:
            holder.__dict__[name] = value
            HOT[count] += change


class Cut:
    """Where a path that could have carried a gradient was cut, for error reports.

    `leaves` are those behind what was cut, where `engine.lineage` has noted them; None or unset
    where it has not.
    """

    __slots__ = ("code", "kind", "lasti", "leaves", "operation")

    leaves: tuple[weakref.ref[Tensor], ...] | None

    def __init__(self, kind: str, operation: str, code: CodeType | None, lasti: int) -> None:
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
    call: BackwardCall | None = None  # the one that is running
    depth: int = 0  # nested backward calls in this thread
    saved_hooks: tuple[Hooks, ...] = ()  # (pack, unpack) pairs, the innermost last
    pack_site: tuple[CodeType | None, int] = (
        None,
        0,
    )  # of the node whose value a pack hook is given
    saved_hooks_refused: str | None = None  # the message of disable_saved_tensors_hooks
    op_watcher: Callable[[Op, tuple[object, ...]], None] | None = None  # sees ops; needs UNUSUAL
    op_modes: tuple[Any, ...] = ()  # what runs ops in the kernels' place, the innermost last
    on_saved: Callable[[Node], None] | None = None  # is told of each new node that saved values
    scope: Scope | None = None  # the open `graph.recompute`, which every op tells of its node
    draws: Draws | None = None  # is told of random numbers, by those who look for it
    mutation: Any = None  # the open context of allow_mutation_on_saved_tensors
    transforms: int = 0  # calls of func.grad, vjp, jvp, vmap that are running in this thread
    autocast: DType | None = None  # the NumPy dtype that autocast lowers to, while it is on
    autocast_cache: bool = True  # whether autocast keeps its casts of weights


STATE = _State()


class _Anomaly:
    """Anomaly detection; like PyTorch's it is one setting for all threads."""

    enabled: bool = False
    check_nan: bool = True


ANOMALY = _Anomaly()


def set_anomaly(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly detection, keeping the global count right."""
    if ANOMALY.enabled != enabled:
        _switch(ANOMALY, "enabled", enabled, "UNUSUAL", 1 if enabled else -1)
    ANOMALY.check_nan = check_nan


class _Strict:
    """Strict mode, `graph.strict`; one setting for all threads. `engine.strictness` does it."""

    enabled: bool = False


STRICT = _Strict()


def set_strict(enabled: bool) -> None:
    """Switch strict mode, keeping the global count right."""
    if STRICT.enabled != enabled:
        _switch(STRICT, "enabled", enabled, "UNUSUAL", 1 if enabled else -1)


class _Transforms:
    """Function transforms that are running in any thread, and what the general path asks of them.

    While `active` is not 0, gradients travel as Tensors, since they may be batched or carry
    tangents. The modules of forward mode and of vmap put their functions here when imported: the
    general path must not import them.
    """

    active: int = 0  # dual levels and vmap calls
    dual_levels: int = 0
    # vmap: (level, op, args, tensors) -> results of an op, and the in-place op's target
    batched: Callable[..., list[Tensor]]
    batched_inplace: Callable[..., None]
    # (op, plan, args) -> result or None; see `calling.shortcut`
    batched_shortcut: Callable[..., Any]
    # forward mode: whether an operand carries a tangent; (op, args, tensors, outputs) sets those of
    # the outputs; (target, result) moves them to the target of an in-place op; (tensor, view op,
    # options) changes their geometry with the tensor's
    has_tangents: Callable[..., bool]
    set_tangents: Callable[..., None]
    write_tangent: Callable[..., None]
    relay_tangents: Callable[..., None]
    # both: (level, args, tensors) -> args and tensors, batched where they must be
    lifted: Callable[..., tuple[Any, Any]]
    # forward mode, quickly: (op, args, tensors, output), (op, plan, args), see `calling.shortcut`
    set_elementwise: Callable[..., bool]
    dual_shortcut: Callable[..., Any]


TRANSFORMS = _Transforms()


def count_transform(change: int, *, dual: bool) -> None:
    """A dual level (`dual`) or a vmap call begins (1) or ends (-1)."""
    with COUNTING:
        TRANSFORMS.active += change
        if dual:
            TRANSFORMS.dual_levels += change
        HOT["UNUSUAL"] += change


def count_unusual(change: int) -> None:
    """Take back (negative) what this thread added to the count of rare modes, for a while."""
    if GIL:
        HOT["UNUSUAL"] += change
    else:
        with COUNTING:
            HOT["UNUSUAL"] += change


def set_saved_hooks(pairs: tuple[Hooks, ...]) -> None:
    """Replace this thread's stack of saved-tensor hooks, keeping the global count right."""
    change = bool(pairs) - bool(STATE.saved_hooks)
    _switch(STATE, "saved_hooks", pairs, "UNUSUAL", change)


def set_on_saved(told: Callable[[Node], None] | None) -> None:
    """Have a function told of the nodes that this thread makes, keeping the global count right."""
    change = (told is not None) - (STATE.on_saved is not None)
    _switch(STATE, "on_saved", told, "UNUSUAL", change)


def set_op_modes(modes: tuple[object, ...]) -> None:
    """Replace this thread's op modes (`calling.op_modes`), keeping the global count right."""
    change = bool(modes) - bool(STATE.op_modes)
    _switch(STATE, "op_modes", modes, "UNUSUAL", change)


def set_scope(scope: Scope | None) -> None:
    """Open or close this thread's scope of `graph.recompute`."""
    change = (scope is not None) - (STATE.scope is not None)
    _switch(STATE, "scope", scope, "UNUSUAL", change)


class _Autocast:
    """What the general path asks of autocast; its module puts the functions here when imported."""

    cast_arguments: Callable[[Op, tuple[Any, ...]], tuple[Any, ...]]  # (op, args) -> args


AUTOCAST = _Autocast()


def set_autocast(lower: DType | None) -> None:
    """Turn autocast on for this thread (the NumPy dtype that it lowers to) or off (None)."""
    change = (lower is not None) - (STATE.autocast is not None)
    _switch(STATE, "autocast", lower, "UNUSUAL", change)


def set_grad_mode(enabled: bool, cut: Cut | None = None) -> None:
    """Switch this thread's grad mode, keeping the global count right."""
    state = STATE
    if state.grad_enabled != enabled:
        if GIL:  # `_switch`, written out: every block of no_grad comes here twice
            state.grad_enabled = enabled
            HOT["NO_GRAD"] += -1 if enabled else 1
        else:
            _switch(state, "grad_enabled", enabled, "NO_GRAD", -1 if enabled else 1)
    state.cut = cut


def set_inference(enabled: bool) -> None:
    """Switch this thread's inference mode, keeping the global count right."""
    if STATE.inference != enabled:
        _switch(STATE, "inference", enabled, "UNUSUAL", 1 if enabled else -1)
