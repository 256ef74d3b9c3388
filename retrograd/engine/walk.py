"""The engine: walks a graph from its roots to its leaves, newest node first.

First every edge is counted, so that a node runs once, after all its consumers. Ready nodes wait in
a heap ordered by sequence number; accumulators, which have the highest, run as soon as they are
complete.
There is no recursion over the graph: a chain of a million nodes is an ordinary case.

`_walk_raw` is the common case: first order, no `inputs=`. `_walk_general` does the rest: Tensors as
gradients, and runs restricted to the paths that lead to given inputs. Gradients are Tensors under
``create_graph``, and inside a function transform, where they may be batched or carry tangents.
"""

from __future__ import annotations

import contextvars
import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heappushpop
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import BACKENDS, backend_of
from retrograd.backend.kernels import add, add_matching, iadd, sum_to
from retrograd.backend.quiet import QUIET, current_mode, enter_quiet, restore_mode
from retrograd.engine import failures
from retrograd.engine.accumulate import ACTIVE
from retrograd.engine.fitting import as_array, as_dtype, cast, fit, fit_raw
from retrograd.engine.grad_mode import SWITCHES
from retrograd.engine.hooked import hook_gradient, run_hooked
from retrograd.engine.node import BackwardCall, GraphRoot, Node, dressed
from retrograd.engine.ownership import ALONE_IN_BUFFER
from retrograd.engine.profiling import PROFILER
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.sparse_gradients import deliver_sparse, run_on_tensors
from retrograd.engine.state import (
    ANOMALY,
    GIL,
    HOT,
    IN_HOOK,
    STATE,
    STRICT,
    TRANSFORMS,
    set_autocast,
    set_grad_mode,
    set_inference,
    set_on_saved,
    set_saved_hooks,
)
from retrograd.engine.strictness import check_unchanged, check_unwalked
from retrograd.tensor import Array, Tensor, wrap

if TYPE_CHECKING:
    from retrograd.engine.node import Gradient, Part

ndarray = np.ndarray
Edge = tuple[Node, int]

_ticks = itertools.count()

# Nested backward calls (from hooks) beyond this depth continue on a fresh thread's stack.
_DEEP = 40


def run_backward(
    roots: Sequence[Edge],
    gradients: Sequence[Tensor],
    call: BackwardCall,
    inputs: Sequence[Edge | None] | None = None,
) -> list[Tensor | None]:
    """Run one backward call; returns what arrived at `inputs` when ``call.kind`` is "grad".

    An exception, even Ctrl-C, leaves no mode behind: what is undone at the end is plain reads and
    writes, which nothing interrupts (see `state.GIL`), and comes before the first call.
    """
    if COMPILED.run_backward is not None:
        done: list[Tensor | None] = COMPILED.run_backward(roots, gradients, call, inputs)
        if done is not NotImplemented:
            return done
    state = STATE
    depth = state.depth + 1
    if depth % _DEEP == 0:
        return _run_in_thread(roots, gradients, call, inputs, depth)
    outer, enabled, cut = state.call, state.grad_enabled, state.cut
    hooks = state.saved_hooks
    call.root_nodes = tuple([node for node, _ in roots])
    call.roots = tuple([node.sequence for node in call.root_nodes])
    call.restricted = inputs is not None or (outer is not None and outer.restricted)
    # rules that run as ops see function transforms, and autocast where it is on around the call
    as_tensors = call.create_graph or TRANSFORMS.active > 0 or state.autocast is not None
    simple = GIL and inputs is None and not as_tensors and not ANOMALY.enabled
    simple = simple and call.kept is None and not (PROFILER.active or STRICT.enabled)
    active, counted = ACTIVE, False
    mode = current_mode()
    try:
        state.call, state.depth = call, depth
        simple = simple and active.calls == 0
        active.calls += 1
        counted = True
        enter_quiet(QUIET)
        if simple:
            found = _walk_raw(roots, gradients, call)
        else:
            found = _walk_general(roots, gradients, call, inputs, as_tensors)
        if call.callbacks is not None:
            _run_callbacks(call)
        return found
    except BaseException as error:
        call.interrupted_by = type(error).__name__
        if simple:
            _forget_buffers(roots)
        elif ANOMALY.enabled and call.node is not None and isinstance(error, Exception):
            failures.tell_forward(error, call.node)
        raise
    finally:
        state.call, state.depth = outer, depth - 1
        if counted:
            active.calls -= 1
        if state.grad_enabled != enabled:
            if GIL:
                state.grad_enabled = enabled
                HOT["NO_GRAD"] += -1 if enabled else 1
            else:
                set_grad_mode(enabled)
        state.cut = cut
        if state.saved_hooks is not hooks:  # an unpack hook opened a context, or closed one
            set_saved_hooks(hooks)
        call.root_nodes = ()
        call.need = call.node = call.recomputed = None
        restore_mode(mode)


class _Compiled:
    """What the compiled core does in place of this module, where there is one.

    They say if it is not a case for them, before they have done anything: `run_backward` and `grad`
    answer NotImplemented, `backward` (a method call's arguments) False.
    """

    run_backward: Callable[..., Any] | None = None
    backward: Callable[..., bool] | None = None
    grad: Callable[..., Any] | None = None

    def put_aside(self) -> Callable[[], None]:
        """Let Python do it, where somebody watches what it does; returns what takes that back."""
        held = (self.run_backward, self.backward, self.grad)
        self.run_backward = self.backward = self.grad = None

        def take_back() -> None:
            self.run_backward, self.backward, self.grad = held

        return take_back


COMPILED = _Compiled()


def breathe() -> None:
    """Called by the compiled walk now and then: entering it, Python sees to signals and threads."""


def _run_callbacks(call: BackwardCall) -> None:
    """What `queue_callback` collected, in the grad mode of the hooks; more may come meanwhile."""
    call.node = None
    set_grad_mode(call.create_graph, None if call.create_graph else IN_HOOK)
    while call.callbacks:
        call.callbacks.pop(0)()


class ExecutionEngine:
    """The engine as `torch.autograd.Variable._execution_engine` shows it."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call a function at the end of the backward call that is running.

        >>> engine = torch.autograd.Variable._execution_engine
        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> handle = y.register_hook(lambda g: engine.queue_callback(lambda: print("done")))
        >>> y.backward()
        done
        """
        call = STATE.call
        if call is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        if call.callbacks is None:
            call.callbacks = []
        call.callbacks.append(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether no running backward call is restricted to some inputs."""
        call = STATE.call
        return call is None or not call.restricted


ENGINE = ExecutionEngine()


def _run_in_thread(
    roots: Sequence[Edge],
    gradients: Sequence[Tensor],
    call: BackwardCall,
    inputs: Sequence[Edge | None] | None,
    depth: int,
) -> list[Tensor | None]:
    """Continue on a new stack, with this thread's modes and context variables."""
    outcome: list[list[Tensor | None] | BaseException] = []
    finished = threading.Lock()  # Thread.join() gives up for good when it is interrupted
    finished.acquire()
    state = STATE
    modes = (state.grad_enabled, state.cut)
    hooks, refused = state.saved_hooks, state.saved_hooks_refused
    inference, outer, switches = state.inference, state.call, dict(SWITCHES.__dict__)
    asked = state.asked
    autocast, cached, told = state.autocast, state.autocast_cache, state.on_saved

    def work() -> None:
        STATE.call, STATE.depth, STATE.saved_hooks_refused = outer, depth, refused
        SWITCHES.__dict__.update(switches)
        try:
            set_inference(inference)
            set_saved_hooks(hooks)
            set_autocast(autocast)
            set_on_saved(told)
            STATE.autocast_cache, STATE.asked = cached, asked
            set_grad_mode(*modes)
            outcome.append(run_backward(roots, gradients, call, inputs))
        except BaseException as error:
            outcome.append(error)
        finally:
            try:
                set_grad_mode(True)
                set_autocast(None)
                set_on_saved(None)
                set_saved_hooks(())
                set_inference(False)
            finally:
                finished.release()

    run_in_context = contextvars.copy_context().run
    thread = threading.Thread(target=run_in_context, args=(work,), name="retrograd-backward")
    try:
        thread.start()
        finished.acquire()
    except BaseException as error:
        if thread.ident is None:
            raise
        # Ctrl-C comes to the main thread: pass it on, since the walk must not go on unseen
        identifier = ctypes.c_ulong(thread.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(identifier, ctypes.py_object(type(error)))
        finished.acquire()
        if not outcome or not isinstance(outcome[0], BaseException):
            raise
    found = outcome.pop() if outcome else RuntimeError("a backward thread was interrupted")
    if isinstance(found, BaseException):
        try:
            raise found
        finally:
            del found  # its traceback holds this frame: no cycle
    return found


def _start(roots: Sequence[Edge], gradients: list[Part]) -> tuple[Node, Any]:
    """The node to start from and its gradient (a list for a node with several outputs)."""
    if len(roots) > 1:
        edges = tuple(node for node, _ in roots)
        root: Node = GraphRoot(edges, tuple(number for _, number in roots), tuple(gradients))
        return root, ()
    root, number = roots[0]
    if isinstance(root.shape, list):
        start: list[Part] = [None] * len(root.shape)
        start[number] = gradients[0]
        return root, start
    return root, gradients[0]


def _count(root: Node) -> dict[Node, int]:
    """How many edges lead to each node reachable from `root`."""
    counts: dict[Node, int] = {}
    stack = [root]
    pop, push, get = stack.pop, stack.append, counts.get
    while stack:
        for target in pop().edges:
            if target is not None:
                seen = get(target)
                if seen is None:
                    counts[target] = 1
                    push(target)
                else:
                    counts[target] = seen + 1
    return counts


# ----------------------------------------------------------------------------- the common case


def _walk_raw(
    roots: Sequence[Edge], gradients: Sequence[Tensor], call: BackwardCall
) -> list[Tensor | None]:
    """First order, no `inputs=`, alone: counts and gradients wait in slots of the nodes.

    The slots belong to the call whose number is in `visit`. That is safe because only one call at a
    time walks this way: another thread's, or one started by a hook, sees that it is not alone and
    takes `_walk_general`.
    """
    freeing = None if call.retain_graph else call
    node, gradient = _start(roots, [g._array for g in gradients])
    call.nodes_run = _visit(node, call.number)
    ready: list[tuple[int, int, Node]] = []  # the middle number keeps ties in order
    pushed = 0
    while True:
        if node.extra is None:
            results = node.run(node, gradient, None, freeing)
        else:
            alone, gradient = [gradient], None
            results = run_hooked(node, alone, call, None, raw=True)
        gradient = following = None
        for position, target in enumerate(node.edges):
            if target is None:
                continue
            part = results[position]
            if part is not None:
                held = target.buffer
                if held is None and type(part) is ndarray and part.shape == target.shape:
                    target.buffer = part
                elif held is None or not target.owned or not add_matching(held, part):
                    _deliver(node, position, target, part)
            left = target.pending - 1
            if left:
                target.pending = left
                continue
            if target.freed is None:
                target._reached_code = node.code
                target._reached_lasti = node.lasti
            if following is None:
                following = target
            else:
                pushed += 1
                heappush(ready, (-target.sequence, pushed, target))
        # references that would look like further owners of an array
        results = part = held = None
        if following is None:
            if not ready:
                return []
            node = heappop(ready)[2]
        elif ready and -ready[0][0] > following.sequence:
            pushed += 1
            node = heappushpop(ready, (-following.sequence, pushed, following))[2]
        else:
            node = following
        gradient = node.buffer
        node.buffer = None
        if type(gradient) is ndarray:
            if gradient.dtype is not node.dtype:
                gradient = cast(gradient, node.dtype)
        elif gradient is None:
            if isinstance(node.shape, list):
                gradient = [None] * len(node.shape)
        elif type(gradient) in BACKENDS and gradient.dtype is not node.dtype:  # of a device
            gradient = cast(gradient, node.dtype)


def _visit(root: Node, number: int) -> int:
    """Count the edges that lead to each node behind `root`; returns how many nodes there are."""
    stack = [root]
    pop, push = stack.pop, stack.append
    count = 1
    while stack:
        for target in pop().edges:
            if target is not None:
                if target.visit == number:
                    target.pending += 1
                else:
                    target.visit = number
                    target.pending = 1
                    target.buffer = None
                    target.owned = False
                    count += 1
                    push(target)
    return count


def _forget_buffers(roots: Sequence[Edge]) -> None:
    """After a failed walk: drop the gradients that were under way."""
    stack = [node for node, _ in roots]
    seen = set(stack)
    while stack:
        node = stack.pop()
        node.buffer = None
        for target in node.edges:
            if target is not None and target not in seen:
                seen.add(target)
                stack.append(target)


def _deliver(node: Node, position: int, target: Node, part: Any) -> None:
    """Add a part to what waits at a target, summed to its shape, for one of its outputs."""
    if type(part) is not ndarray:
        if type(part) is SPARSE_ARRAY:
            deliver_sparse(node, position, target, part)
            return
        part = as_array(part)
    elif type(target.buffer) is SPARSE_ARRAY:
        deliver_sparse(node, position, target, part)
        return
    shape = target.shape
    if type(shape) is list:
        _deliver_to_output(node, position, target, part)
        return
    if type(part) is not ndarray:
        _deliver_elsewhere(node, position, target, part)
        return
    if part.shape == shape:
        fitted = part
    else:
        summed: Array | None = sum_to(part, shape)
        fitted = fit_raw(node, position, part, shape) if summed is None else summed
    held = target.buffer
    if held is None:
        target.buffer = fitted
        target.owned = fitted is not part
    # alone: referenced by the node, by the walk's local, by ours and by getrefcount's argument
    elif target.owned or (getrefcount(held) <= ALONE_IN_BUFFER and held.base is None):
        target.owned = True
        if held.dtype is fitted.dtype:
            iadd(held, fitted)
        else:
            target.buffer = add(held, fitted)
    else:
        target.buffer = add(held, fitted)
        target.owned = True


def _deliver_elsewhere(node: Node, position: int, target: Node, part: Array) -> None:
    """The same for an array of another device than the CPU."""
    fitted = part if part.shape == target.shape else fit_raw(node, position, part, target.shape)
    held = target.buffer
    target.buffer = fitted if held is None else _sum(held, fitted, False)


def _deliver_to_output(node: Node, position: int, target: Node, part: Array) -> None:
    number = 0 if node.edge_numbers is None else node.edge_numbers[position]
    if part.shape != target.shape[number]:
        part = fit_raw(node, position, part, target.shape[number])
    dtype = target.dtype[number]
    if part.dtype is not dtype:
        part = cast(part, dtype)
    held = target.buffer
    if held is None:
        held = target.buffer = [None] * len(target.shape)
    known = held[number]
    held[number] = part if known is None else _sum(known, part, False)


# ---------------------------------------------------------------------------------- everything


def _walk_general(
    roots: Sequence[Edge],
    gradients: Sequence[Tensor],
    call: BackwardCall,
    inputs: Sequence[Edge | None] | None,
    as_tensors: bool,
) -> list[Tensor | None]:
    create = call.create_graph
    start: list[Part] = list(gradients) if as_tensors else [g._array for g in gradients]
    node, gradient = _start(roots, start)
    counts = _count(node)
    captured: list[Any] = [] if inputs is None else [None] * len(inputs)
    captures: dict[Node, list[tuple[int, int]]] = {}
    need: set[Node] | None = None
    if inputs is not None:
        targets = {edge[0] for edge in inputs if edge is not None}
        running = call.kind == "backward"  # grad() only looks at its inputs, backward() fills them
        need = _needed(node, targets, running)
        if not running:
            for index, edge in enumerate(inputs):
                if edge is not None:
                    captures.setdefault(edge[0], []).append((index, edge[1]))
        call.need = need | set(captures)
    live = None if need is None else need | set(captures)
    if STRICT.enabled:
        check_unwalked((node, *counts) if need is None else need, call)
    ready: list[tuple[int, int, Node]] = []
    waiting: dict[Node, Any] = {}
    call.nodes_run = 0
    while True:
        call.node = node
        set_grad_mode(create, None if create else IN_HOOK)
        runs = need is None or node in need or isinstance(node, GraphRoot)
        wanted = captures.get(node)
        results: Sequence[Part] | None = None
        if not runs:
            # captured only: after the tensor hooks, since the node itself will not run them
            gradient = hook_gradient(node, gradient, as_tensors)
        if wanted is not None:
            several = isinstance(node.shape, list)
            for index, number in wanted:
                captured[index] = gradient[number] if several else gradient
        if runs:
            call.nodes_run += 1
            if STRICT.enabled:
                check_unchanged(node)
            run = PROFILER.run_node if PROFILER.active else run_general
            results = run(node, gradient, call, live, as_tensors)
            gradient = None
            if ANOMALY.enabled and ANOMALY.check_nan:
                _check_nan(node, results)
        _pass_on(node, results, counts, waiting, ready, live, as_tensors)
        results = None
        if not ready:
            break
        node = heappop(ready)[2]
        gradient = waiting.pop(node, None)
        if gradient is None and isinstance(node.shape, list):
            gradient = [None] * len(node.shape)
        elif gradient is not None and not isinstance(node.shape, list):
            gradient = as_dtype(gradient, node.dtype, as_tensors)
    if as_tensors:
        return captured
    return [None if part is None else as_captured(part) for part in captured]


def as_captured(part: object) -> Tensor:
    """A gradient as `grad()` returns it."""
    return wrap(as_array(part))


def _check_nan(node: Node, results: Sequence[Part]) -> None:
    """In anomaly mode: no gradient may have a nan."""
    for index, (part, edge) in enumerate(zip(results, node.edges, strict=False)):
        if part is None or edge is None:
            continue
        array: Any = part._elements() if isinstance(part, Tensor) else as_array(part)
        if type(array) is SPARSE_ARRAY:
            array = array.values
        if array.dtype in dtypes.DIFFERENTIABLE and backend_of(array).xp.isnan(array).any():
            raise failures.nan_result(node, index)


def _needed(root: Node, targets: set[Node], including: bool) -> set[Node]:
    """The nodes on a path from the root to a target, found without recursion."""
    needed: set[Node] = set(targets) if including else set()
    seen = {root}
    stack = [(root, iter(root.edges))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target is not None and target not in seen:
                seen.add(target)
                stack.append((target, iter(target.edges)))
                break
        else:
            stack.pop()
            for target in node.edges:
                if target is not None and (target in needed or target in targets):
                    needed.add(node)
                    break
    return needed


def run_general(
    node: Node, gradient: Gradient, call: BackwardCall, live: set[Node] | None, as_tensors: bool
) -> Sequence[Part]:
    freeing = call if call.frees(node) else None
    if node.extra is None:
        if as_tensors:
            return dressed(node).run_recorded(gradient, live, freeing)
        found: Sequence[Part] = node.run(node, gradient, live, freeing)
        return found
    return run_hooked(node, [gradient], call, live, raw=not as_tensors)


def gathered(
    held: Any, node: Node, position: int, target: Node, part: Any, as_tensors: bool
) -> Any:
    """What waits for a target after another part has arrived, in its shape, for its output."""
    shape, dtype = target.shape, target.dtype
    if type(part) is SPARSE_ARRAY or type(held) is SPARSE_ARRAY:
        run_on_tensors(target)
    if not isinstance(shape, list):
        part = fit(node, position, part, shape, as_tensors)
        return part if held is None else _sum(held, part, as_tensors)
    number = 0 if node.edge_numbers is None else node.edge_numbers[position]
    part = fit(node, position, part, shape[number], as_tensors)
    part = as_dtype(part, dtype[number], as_tensors)
    if held is None:
        held = [None] * len(shape)
    held[number] = part if held[number] is None else _sum(held[number], part, as_tensors)
    return held


def _sum(held: Any, part: Any, as_tensors: bool) -> Any:
    """Two parts of a gradient together, on a device by its own kernel."""
    if as_tensors or type(held) is ndarray or type(part) is not type(held):
        return held + part
    if type(held) is SPARSE_ARRAY:
        return held + part
    return backend_of(held).raw.add(held, part)


def _pass_on(
    node: Node,
    results: Sequence[Part] | None,
    counts: dict[Node, int],
    waiting: dict[Node, object],
    ready: list[tuple[int, int, Node]],
    live: set[Node] | None,
    as_tensors: bool,
) -> None:
    for position, target in enumerate(node.edges):
        if target is None:
            continue
        part = None if results is None else results[position]
        wanted = live is None or target in live
        if part is not None and wanted:
            held = waiting.get(target)
            waiting[target] = gathered(held, node, position, target, part, as_tensors)
        left = counts[target] - 1
        counts[target] = left
        if left == 0 and wanted:
            if target.freed is None:
                target._reached_code, target._reached_lasti = node.code, node.lasti
            heappush(ready, (-target.sequence, next(_ticks), target))
        elif left == 0:
            # not on a path to an input: never runs, but its own consumers' counts are unaffected
            waiting.pop(target, None)
