"""Per-thread modes, and the two counters that let the hot path skip reading them.

A thread-local read costs about 40 ns, a module global about 7. So every change of mode keeps two
global counts in `HOT`, the namespace in which all compiled op functions run:

`NO_GRAD`   threads whose grad mode is off: ops then ask their own thread;
`UNUSUAL`   rarer modes that are on somewhere (inference mode, saved-tensor hooks, forward mode,
            vmap, anomaly detection, strict mode): ops then take the general path, which looks at
            everything. Autocast is counted in `AUTOCASTS` too: on devices, where only that is
            on, operands are cast and the op takes its usual path.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from retrograd import core
from retrograd.backend.arrays import DType
from retrograd.core import shortcut
from retrograd.lifecycle.site import user_site
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.engine.draws import Draws
    from retrograd.engine.node import BackwardCall, Node
    from retrograd.engine.recompute_scope import Scope
    from retrograd.ops.registry import Op
    from retrograd.transforms.batched import Level
    from retrograd.transforms.forward import DualLevel

# a pack hook, and the unpack hook that takes what it gave
Hooks = tuple[Callable[["Tensor"], object], Callable[..., "Tensor"]]
# The namespace of compiled op functions (`calling.compile` fills it, this module counts in it).
HOT: dict[str, Any] = {
    "NO_GRAD": 0,
    "UNUSUAL": 0,
    "AUTOCASTS": 0,
    "__name__": "retrograd.ops.compiled",
}

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
    asked: bool = False  # the grad mode asked for in inference mode, where nothing is recorded
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
    vmaps: tuple[Level, ...] = ()  # the running calls of vmap, the innermost last
    duals: tuple[DualLevel, ...] = ()  # the open levels of forward mode, the innermost last
    passes_tangents: bool = True  # see forward_ad._set_fwd_grad_enabled
    autocast: DType | None = None  # the NumPy dtype that autocast lowers to, while it is on
    autocast_device: DType | None = None  # the same for operands on accelerators
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


# ------------------------------------------------------------------------------ setting modes

_ON, _OFF, _EACH = range(3)  # a mode is counted when it is on, when it is off, or for each entry
_UNUSUAL = (HOT, "UNUSUAL", _ON)
_LEVELS = ((HOT, "UNUSUAL", _EACH), (TRANSFORMS.__dict__, "active", _EACH))
# By name of a mode, what counts it.
COUNTS: dict[str, tuple[tuple[dict[str, Any], str, int], ...]] = {
    "grad_enabled": ((HOT, "NO_GRAD", _OFF),),
    "vmaps": _LEVELS,
    "duals": (*_LEVELS, (TRANSFORMS.__dict__, "dual_levels", _EACH)),
    **dict.fromkeys(("inference", "saved_hooks", "on_saved", "op_modes"), (_UNUSUAL,)),
    **dict.fromkeys(("scope", "enabled"), (_UNUSUAL,)),
    **dict.fromkeys(("autocast", "autocast_device"), (_UNUSUAL, (HOT, "AUTOCASTS", _ON))),
}
TRANSFORMS.active = TRANSFORMS.dual_levels = 0


def _weight(value: Any, kind: int) -> int:
    """How much a mode of some value adds to a count."""
    if kind == _OFF:
        return int(value is False)
    if type(value) is tuple:
        return len(value) if kind == _EACH else int(value != ())
    return int(value is not None and value is not False)


def _put(holder: object, counts: dict[str, Any], modes: dict[str, object]) -> None:
    """Set modes and their counts; the core does so in one step, which nothing interrupts."""
    with COUNTING:
        for name, value in modes.items():
            counted = counts.get(name, ())
            before = getattr(holder, name)
            for space, key, kind in counted:
                space[key] += _weight(value, kind) - _weight(before, kind)
            holder.__dict__[name] = value
            if counted and name in ("vmaps", "duals") and core.AVAILABLE:
                core.compiled("tell_level")(name, value)


@shortcut("put_modes", STATE, COUNTS)
def put_modes(modes: dict[str, object]) -> None:
    """Set modes of this thread by name, keeping the global counts right."""
    _put(STATE, COUNTS, modes)


class Block:
    """``with`` a block: modes of this thread have other values in it.

    It is entered and left in one step each: wherever Ctrl-C comes, no mode stays behind. What
    `_inside` computes is computed before. `_left` may be called twice, if it was interrupted.
    """

    _before: Any = None  # what the modes were, and `_before` of the block when it was entered
    _entered: Any = None  # what ``as`` is given
    _left: Callable[[bool], None] | None = None  # is called at the end; with True after an error

    def _inside(self) -> dict[str, object]:
        """The modes in the block."""
        raise NotImplementedError

    @shortcut("enter_modes", STATE, COUNTS)
    def __enter__(self) -> Any:
        _enter(self, STATE, COUNTS)
        return self._entered

    @shortcut("leave_modes", STATE, COUNTS)
    def __exit__(self, *exception: object) -> None:
        _leave(self, STATE, COUNTS, exception)


def _enter(block: Any, holder: object, counts: dict[str, Any]) -> None:
    inside = block._inside()
    block._before = ({name: getattr(holder, name) for name in inside}, block._before)
    _put(holder, counts, inside)


def _leave(
    block: Any, holder: object, counts: dict[str, Any], exception: tuple[object, ...]
) -> None:
    before, block._before = block._before
    _put(holder, counts, before)
    if block._left is not None:
        block._left(exception[:1] not in ((), (None,)))


class Modes(Block):
    """``with Modes(saved_hooks=()):`` a block with the modes of these names."""

    def __init__(self, **modes: object) -> None:
        self._modes = modes

    def _inside(self) -> dict[str, object]:
        return self._modes


class AnomalyBlock(Block):
    """A block with other settings of anomaly detection, which are those of all threads."""

    @shortcut("enter_modes", ANOMALY, COUNTS)
    def __enter__(self) -> None:
        _enter(self, ANOMALY, COUNTS)

    @shortcut("leave_modes", ANOMALY, COUNTS)
    def __exit__(self, *exception: object) -> None:
        _leave(self, ANOMALY, COUNTS, exception)


class Unmapped(Block):
    """A block outside of vmap calls that go on around it: they stay counted."""

    def __init__(self, vmaps: tuple[Level, ...], entered: object = None) -> None:
        self.vmaps = vmaps
        self._entered = entered

    def _inside(self) -> dict[str, object]:
        return {"vmaps": self.vmaps}

    @shortcut("enter_modes", STATE, {})
    def __enter__(self) -> Any:
        _enter(self, STATE, {})
        return self._entered

    @shortcut("leave_modes", STATE, {})
    def __exit__(self, *exception: object) -> None:
        _leave(self, STATE, {}, exception)


def count_unusual(change: int) -> None:
    """Take back (negative) what this thread added to the count of rare modes, for a while."""
    if GIL:
        HOT["UNUSUAL"] += change
    else:
        with COUNTING:
            HOT["UNUSUAL"] += change


@shortcut("put_mode", STATE, COUNTS, "saved_hooks")
def set_saved_hooks(pairs: tuple[Hooks, ...]) -> None:
    """Replace this thread's stack of saved-tensor hooks, keeping the global count right."""
    change = bool(pairs) - bool(STATE.saved_hooks)
    _switch(STATE, "saved_hooks", pairs, "UNUSUAL", change)


@shortcut("put_mode", STATE, COUNTS, "on_saved")
def set_on_saved(told: Callable[[Node], None] | None) -> None:
    """Have a function told of the nodes that this thread makes, keeping the global count right."""
    change = (told is not None) - (STATE.on_saved is not None)
    _switch(STATE, "on_saved", told, "UNUSUAL", change)


@shortcut("put_mode", STATE, COUNTS, "op_modes")
def set_op_modes(modes: tuple[object, ...]) -> None:
    """Replace this thread's op modes (`calling.op_modes`), keeping the global count right."""
    change = bool(modes) - bool(STATE.op_modes)
    _switch(STATE, "op_modes", modes, "UNUSUAL", change)


@shortcut("put_mode", STATE, COUNTS, "scope")
def set_scope(scope: Scope | None) -> None:
    """Open or close this thread's scope of `graph.recompute`."""
    change = (scope is not None) - (STATE.scope is not None)
    _switch(STATE, "scope", scope, "UNUSUAL", change)


class _Autocast:
    """What the general path asks of autocast; its module puts the functions here when imported."""

    cast_arguments: Callable[[Op, tuple[Any, ...]], tuple[Any, ...]]  # (op, args) -> args


AUTOCAST = _Autocast()


@shortcut("put_mode", STATE, COUNTS, "autocast")
def set_autocast(lower: DType | None) -> None:
    """Turn autocast on for this thread (the NumPy dtype that it lowers to) or off (None)."""
    _put(STATE, COUNTS, {"autocast": lower})


@shortcut("put_mode", STATE, COUNTS, "autocast_device")
def set_autocast_device(lower: DType | None) -> None:
    """The same for operands on accelerators."""
    _put(STATE, COUNTS, {"autocast_device": lower})


@shortcut("set_grad_mode")
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


@shortcut("put_mode", STATE, COUNTS, "inference")
def set_inference(enabled: bool) -> None:
    """Switch this thread's inference mode, keeping the global count right."""
    if STATE.inference != enabled:
        _switch(STATE, "inference", enabled, "UNUSUAL", 1 if enabled else -1)
