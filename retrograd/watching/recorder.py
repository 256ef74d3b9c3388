"""The recorder: a few patches around PyTorch's backward engine, optimizers and grad modes."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import FrameType
from typing import Any

from retrograd.watching.engines import Engine, Original
from retrograd.watching.flat import Flat, flat_steps
from retrograd.watching.frozen import Frozen
from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.graph import (
    Node,
    in_ranges,
    leaves_above,
    on_a_path_to,
    ranges_of,
    walk,
)
from retrograd.watching.growth import Growth
from retrograd.watching.heap import Heap
from retrograd.watching.hooks import Hooks
from retrograd.watching.iterators import groups_used_up
from retrograd.watching.late_clips import LateClips
from retrograd.watching.lines import LEAF, LineLog, Step, Tracer
from retrograd.watching.loss_forms import LossForm, loss_forms
from retrograd.watching.modes import Modes
from retrograd.watching.outside import Outside
from retrograd.watching.ownership import Ownership
from retrograd.watching.places import OWN_FOLDERS
from retrograd.watching.received import Course, Received
from retrograd.watching.records import Call, Failure, Scope
from retrograd.watching.regrown import Regrown
from retrograd.watching.replacing import replaced
from retrograd.watching.samples import Samples
from retrograd.watching.scaling import Scaling
from retrograd.watching.shared_memory import SharedMemory
from retrograd.watching.snapshots import Snapshots
from retrograd.watching.sums import (
    added_terms,
    cancelled,
    leaves_of_outputs,
    leaves_of_terms,
    one_sided,
    terms_of,
    weighted_terms,
)
from retrograd.watching.switches import Switches
from retrograd.watching.targets import Ratio, Target, own_targets, ratios_of_one
from retrograd.watching.teachers import Teachers
from retrograd.watching.torch_types import OptimizerLike, TensorLike
from retrograd.watching.variables import named_tensors
from retrograd.watching.windowed import Windowed

REMEMBERED_RESULTS = 64
DECORATED = {"decorate_context": "func", "decorated": "function"}
"""How PyTorch's and retrograd's grad modes call a decorated function, and what they call it."""

DIRECT = frozenset("backward grad handle_torch_function __torch_function__".split())
"""What the public calls are named; other functions of the library choose arguments themselves."""

THINNED_EVERY = 1_000  # calls
LEAVES_SOUGHT = 60  # in so many calls all leaves are collected, then in every 50th
LEAVES_AFTER = 3  # and in so many after there is something new: a parameter, an optimizer
FORMS_SOUGHT = 12  # in so many calls the forms of sums and differences are looked at


class _Globals:
    """The variables of a frame's module."""

    def __init__(self, frame: FrameType) -> None:
        self.f_locals = frame.f_globals


class Recorder:
    """Writes down every backward call, step and zero_grad of a program that runs."""

    def __init__(self, engine: Engine, tracer: Tracer) -> None:
        self.engine = engine
        self.torch = engine.torch
        self.tracer = tracer
        self.calls: Windowed[Call] = Windowed()
        self.failure: Failure | None = None
        self.gradients = Gradients(self.torch)
        self.scaling = Scaling(self.gradients)
        self.late_clips = LateClips(self.gradients)
        self.snapshots = Snapshots(self.gradients)
        self.shared_memory = SharedMemory(self.gradients)
        self.modes = Modes(self.gradients)
        self.teachers = Teachers(self.torch, self.gradients)
        self.modes.told = self.teachers.switched_on
        self.hooks = Hooks()
        self.samples = Samples()
        self.switches = Switches()
        self.frozen = Frozen(self.gradients.value_of)
        self.outside = Outside(self.gradients.value_of)
        self.received = Received(self.torch)
        self.heap = Heap(self.torch.Tensor, self.torch.nn.Module)
        self.growth = Growth(self.torch.Tensor, self.heap)
        self.regrown = Regrown()
        self.ownership = Ownership(self.torch, self.heap)
        self.ownership.named = self._names
        self.sums: dict[int, list[tuple[int, bool, bool, int]]] = {}  # by call: see `added_terms`
        # see `cancelled`; with the call that went there
        self.cancelled: list[tuple[Call, int]] = []
        self.products: list[tuple[Call, int]] = []  # see `weighted_terms`
        self.one_sided: list[tuple[Call, int]] = []  # see `sums.one_sided`
        self.flat: list[tuple[Call, Flat]] = []
        self.loss_forms: list[tuple[Call, LossForm]] = []
        self.targets: list[tuple[Call, Target]] = []  # with the call that went there
        self.ratios: list[tuple[Call, Ratio]] = []
        self.scopes: list[Scope] = []  # that are open now
        self.last_scope: dict[str, Scope] = {}
        self.leaves: dict[int, TensorLike] = {}  # seen at the end of a graph, by id
        self.grad_results: dict[
            int, tuple[TensorLike, Call]
        ] = {}  # of grad calls without create_graph
        self.built_at: dict[int, list[Any]] = {}  # optimizer id -> stack
        self.groups_used_up: dict[int, int] = {}  # optimizer id -> how many: see `iterators`
        # parameter id -> stack, optimizer steps before
        self.registered_at: dict[int, tuple[list[Any], int]] = {}
        self._registered: dict[int, weakref.ref[Any]] = {}
        self._seek_until = LEAVES_SOUGHT  # index of a call
        self._seeks = LEAVES_SOUGHT  # calls that may be looked at beyond the first ones
        self.enabled = True
        self.pulse: Callable[[], None] | None = None  # called after each backward call
        self._library = os.path.join(os.path.dirname(self.torch.__file__), "")
        self._open: list[Call] = []  # those that run now, the innermost last
        self._undo: list[Callable[[], None]] = []

    # ------------------------------------------------------------------------- patches

    def install(self) -> None:
        """Put the patches in place."""
        torch = self.torch
        self._undo.append(self.engine.watch(self._around_backward))
        self._watch_optimizers()
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self._replace(owner, "zero_grad", self._zero_grad(owner.zero_grad))
        for mode in (torch.no_grad, torch.inference_mode):
            self._replace(mode, "__enter__", self._enter(mode.__enter__, mode.__name__))
            self._replace(mode, "__exit__", self._leave(mode.__exit__))
        register = torch.nn.Module.register_parameter
        self._replace(torch.nn.Module, "register_parameter", self._registering(register))
        switch = torch.set_grad_enabled
        self._replace(switch, "__init__", self._switch(switch.__init__))
        self._undo += self.scaling.install(torch, self.if_enabled, self._here)
        self._undo += self.late_clips.install(torch, self.if_enabled, self._here)
        self._undo += self.snapshots.install(torch, self.if_enabled, self._here)
        self._undo += self.modes.install(
            torch, self.if_enabled, lambda: self.log, self._gradients_are_off
        )
        self._undo += self.teachers.install(self.if_enabled, lambda: self.log)
        self._undo += self.samples.install(torch, self.if_enabled, self._here)
        self._undo += self.switches.install(torch, self.if_enabled, self._here)
        self._undo += self.hooks.install(torch, self.if_enabled, self._here, self._calls_so_far)

    def remove(self) -> None:
        """Take the patches away again."""
        while self._undo:
            self._undo.pop()()
        self.heap.release()

    def _replace(self, owner: object, name: str, function: Callable[..., object]) -> None:
        self._undo.append(replaced(owner, name, function))

    def _watch_optimizers(self) -> None:
        import importlib

        module = importlib.import_module(f"{self.torch.__package__}.optim.optimizer")

        def before(
            optimizer: OptimizerLike, args: object, keywords: object
        ) -> None:  # None: change nothing
            if self.enabled:
                self._safely(self._before_step, optimizer)

        def after(optimizer: OptimizerLike, args: object, keywords: object) -> None:
            if self.enabled:
                self._safely(self._after_step, optimizer)

        for handle in (
            module.register_optimizer_step_pre_hook(before),
            module.register_optimizer_step_post_hook(after),
        ):
            self._undo.append(handle.remove)
        recorder, kind = self, self.torch.optim.Optimizer
        original = kind.__init__

        def __init__(optimizer: OptimizerLike, params: object, defaults: object) -> None:
            gone = groups_used_up(params)
            original(optimizer, params, defaults)
            if gone:
                recorder.groups_used_up[id(optimizer)] = gone
            recorder.gradients.optimizers.append(optimizer)
            recorder.built_at[id(optimizer)] = recorder.log.here()
            recorder.ownership.frozen[id(optimizer)] = recorder._frozen()
            recorder._seek_leaves()

        self._replace(kind, "__init__", __init__)

    def take_in(self) -> None:
        """Watching begins late: the optimizers that are there already, and what they have done."""
        kind = self.torch.optim.Optimizer
        for thing in gc.get_objects():
            if issubclass(type(thing), kind) and hasattr(thing, "param_groups"):
                self._take_in(thing)

    def _take_in(self, optimizer: OptimizerLike) -> None:
        """An optimizer whose making was not seen: made before, copied, or read from a file."""
        self.gradients.optimizers.append(optimizer)
        used = getattr(optimizer, "state", {})
        self.gradients.received.update(
            id(parameter)
            for parameter in parameters_of(optimizer)
            if parameter.grad is not None or parameter in used
        )

    def _before_step(self, optimizer: OptimizerLike) -> None:
        if not any(known is optimizer for known in self.gradients.optimizers):
            self._take_in(optimizer)
        stack = self.log.here()
        self.scaling.before_step(optimizer, stack)
        self.gradients.before_step(optimizer, stack)
        self.late_clips.before_step(optimizer)
        self.modes.before_step(optimizer, stack)
        self.teachers.before_step(optimizer, self._frozen)
        self.received.before_step(optimizer, self.gradients)
        self.frozen.before_step(optimizer)
        self.outside.before_step(optimizer)
        self.shared_memory.before_step(optimizer)
        if self.switches.found:
            self.switches.before_step(optimizer, self.gradients)
        self.ownership.before_step(optimizer, self.gradients, self.leaves)

    def _after_step(self, optimizer: OptimizerLike) -> None:
        log = self.log
        self.gradients.after_step(optimizer, log.here(), log.counter(), len(self.calls))
        self.late_clips.after_step(log.here())
        self.received.after_step(optimizer)
        self.samples.after_step()
        self.frozen.after_step(optimizer, log.here())
        self.outside.after_step(optimizer)

    def _before_zero(self, owner: Any) -> None:
        self.gradients.before_zero(owner, self.log.here(), len(self.calls))

    def _zero_grad(self, original: Callable[..., object]) -> Any:
        recorder = self

        def zero_grad(owner: object, *args: object, **keywords: object) -> object:
            if recorder.enabled:
                recorder._safely(recorder._before_zero, owner)
            return original(owner, *args, **keywords)

        return zero_grad

    def _frozen(self) -> frozenset[int]:
        """The parameters of modules that do not require grad now, by id."""
        alive = {key: reference() for key, reference in self._registered.items()}
        return frozenset(k for k, p in alive.items() if p is not None and not p.requires_grad)

    def _registering(self, original: Callable[..., object]) -> Any:
        recorder = self

        def register_parameter(module: object, name: str, param: object) -> None:
            original(module, name, param)
            known = recorder._registered.get(id(param))
            if known is not None and known() is param:
                return  # `module.scale -= 0.1` assigns what was there before
            if param is not None and recorder.enabled:
                steps = len(recorder.gradients.steps)
                recorder.registered_at[id(param)] = recorder.log.here(), steps
                recorder._registered[id(param)] = weakref.ref(param)
                recorder.ownership.made_after[id(param)] = len(recorder.gradients.optimizers)
                recorder._seek_leaves()

        return register_parameter

    def _enter(self, original: Callable[..., object], name: str) -> Callable[..., object]:
        recorder = self

        def __enter__(mode: object) -> object:
            scope = recorder._scope(name)
            if scope is not None:
                recorder.last_scope[name] = scope
                recorder.modes.gradients_are_off()
                recorder.teachers.search((scope.file, scope.line))
            recorder.scopes.append(scope or Scope(name, "", 0))
            return original(mode)

        return __enter__

    def _leave(self, original: Callable[..., object]) -> Any:
        recorder = self

        def __exit__(mode: object, *exception: object) -> object:
            if recorder.scopes:
                recorder.scopes.pop()
            return original(mode, *exception)

        return __exit__

    def _switch(self, original: Callable[..., object]) -> Any:
        recorder = self

        def __init__(mode: object, enabled: object) -> None:
            # only those in the user's own lines: no_grad itself uses this class
            if not enabled and sys._getframe(1) in recorder.log.live:
                scope = recorder._scope("set_grad_enabled")
                if scope is not None:
                    recorder.last_scope["set_grad_enabled"] = scope
            original(mode, enabled)

        return __init__

    def _scope(self, name: str) -> Scope | None:
        """The line of the `with`, or of the function that is decorated."""
        frame: FrameType | None = sys._getframe(2)
        direct = True
        while frame is not None:
            decorated = DECORATED.get(frame.f_code.co_name)
            if decorated is not None:
                code = getattr(frame.f_locals.get(decorated), "__code__", None)
                if code is not None and self.tracer.is_user_file(code.co_filename):
                    return Scope(name, code.co_filename, code.co_firstlineno)
            if frame in self.log.live:
                return Scope(name, frame.f_code.co_filename, frame.f_lineno, direct)
            direct = direct and not frame.f_code.co_filename.startswith(self._library)
            frame = frame.f_back
        return None

    def name_parameters(self) -> None:
        """Let what is told about the training name parameters as the program reaches them."""

        self.received.names = self._names

    def _names(self) -> dict[int, str]:
        frames = list(self.log.live)
        scopes: list[Any] = [*frames, *(_Globals(frame) for frame in frames[:1])]
        found = named_tensors(scopes, self.torch.Tensor)
        return {key: path for key, (_, path) in found.items()}

    def training(self) -> tuple[list[Course], list[float], int]:
        """What two runs of a program are compared by: see `Received`."""
        failed = None if self.failure is None else self.failure.call
        courses = self.received.finish(self.gradients.optimizers, failed)
        return courses, self.received.losses, self.received.doubled

    # -------------------------------------------------------------------- backward calls

    @property
    def log(self) -> LineLog:
        """The line log of this thread."""
        return self.tracer.log

    def _around_backward(
        self,
        outputs: Sequence[TensorLike],
        retain: bool,
        create: bool,
        inputs: Sequence[TensorLike],
        accumulates: bool,
        run: Original,
    ) -> Any:
        if not self.enabled:
            return run()
        tensors = [t for t in outputs if isinstance(t, self.torch.Tensor)]
        roots = [tensor.grad_fn for tensor in tensors]
        noted = self._safely(
            self._before_backward, tensors, roots, retain, create, inputs, accumulates
        )
        if noted is None:
            return run()
        nodes, call = noted
        self._open.append(call)
        try:
            results = run()
        except BaseException as error:
            call.failed = True
            self._safely(self._note_leaves, call, nodes)
            if self.failure is None or self.failure.error is not error:
                self.failure = Failure(call, error, roots, tensors, nodes, list(inputs))
            raise
        finally:
            self._open.remove(call)
            call.end = call.log.counter()
        self._safely(self._after_backward, call, results, tensors)
        if self.pulse is not None and not self._open:
            self._safely(self.pulse)
        return results

    def _here(self) -> list[Step]:
        return self.log.here()

    def _gradients_are_off(self) -> bool:
        return any(scope.file and scope.direct for scope in self.scopes)

    def _calls_so_far(self) -> int:
        return len(self.calls)

    def if_enabled(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the doctor unless the recorder was switched off."""
        return self._safely(function, *args) if self.enabled else None

    def _safely(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the doctor: untraced, and a mistake in it is not the program's."""
        trace = sys.gettrace()
        if trace is not None:
            sys.settrace(None)  # it would be asked about each call in there
        try:
            return function(*args)
        except Exception as error:
            self.enabled = False
            self.tracer.unseen.append(
                f"the doctor failed here: {type(error).__name__}: {error} (in {function.__name__})"
            )
            return None
        finally:
            if trace is not None:
                sys.settrace(trace)

    def _before_backward(
        self,
        tensors: list[TensorLike],
        roots: list[Node | None],
        retain: bool,
        create: bool,
        inputs: Sequence[TensorLike],
        accumulates: bool,
    ) -> tuple[dict[Node, int], Call]:
        nodes = walk(roots)
        call = self._note(tensors, roots, nodes, retain, create, inputs, accumulates)
        if accumulates and not inputs:
            self.gradients.before_backward()
            self.samples.before_backward(call, nodes)
            self.gradients.before_manual_backward(call, self.leaves.values())
        if accumulates and self.grad_results:
            self.sums[call.index] = added_terms(roots)
        self.received.before_backward(call, tensors, self._open[-1] if self._open else None)
        if not self._open:
            self.growth.before_call(call, nodes, list(call.log.live)[::-1])
            if retain:
                self.regrown.before_call(call, roots, tensors, nodes, list(call.log.live))
        return nodes, call

    def _after_backward(self, call: Call, results: object, tensors: Sequence[TensorLike]) -> None:
        if call.kind == "backward":
            self.gradients.after_backward(call)
            self.scaling.after_backward(call, tensors)
            self.gradients.after_manual_backward(self.leaves.values())
        elif not call.create:
            self._remember_results(results, call)

    def _note(
        self,
        tensors: list[TensorLike],
        roots: list[Node | None],
        nodes: dict[Node, int],
        retain: bool,
        create: bool,
        inputs: Sequence[TensorLike],
        accumulates: bool,
    ) -> Call:
        log = self.log
        passed = nodes
        if inputs and len(self.calls) < LEAVES_SOUGHT:
            above = leaves_above([t.grad_fn for t in inputs if t.grad_fn is not None])
            self.ownership.asked |= above.keys() | {id(t) for t in inputs if t.grad_fn is None}
            ends = {id(node.variable): node for node in nodes if hasattr(node, "variable")}
            targets = [t.grad_fn if t.grad_fn is not None else ends.get(id(t)) for t in inputs]
            passed = on_a_path_to(nodes, [target for target in targets if target is not None])
        numbers = [number for number in passed.values() if number < LEAF]
        start = log.counter()
        call = Call(
            index=len(self.calls),
            kind="backward" if accumulates else "grad",
            log=log,
            stack=log.here(),
            start=start,
            end=start,
            edges=log.seal(),
            steps=len(self.gradients.steps),
            retain=retain,
            create=create,
            has_inputs=bool(inputs),
            roots=[root._sequence_nr() for root in roots if root is not None],
            ranges=ranges_of(numbers),
            nodes=len(numbers),
            root_ids=[(id(tensor), tensor.grad_fn is None) for tensor in tensors],
            versions={},
            nested=bool(self._open),
            direct=not retain or self._is_called_directly(),
        )
        self._note_uses(numbers)
        self.calls.append(call)
        if call.index % THINNED_EVERY == 0:
            self.gradients.forget_with(self.calls)
        if call.index < self._seek_until or call.index % 50 == 0:
            self._note_leaves(call, nodes)
        if accumulates and call.index < LEAVES_SOUGHT:
            self._note_sum(call, tensors)
            call.outputs = leaves_of_outputs(roots)
            if call.users and len(call.terms) > 1:
                call.reached = leaves_of_terms(nodes, call.terms)
        if accumulates and call.index < FORMS_SOUGHT:
            self.cancelled += [(call, number) for number in cancelled(nodes)]
            self.targets += [(call, target) for target in own_targets(nodes)]
            self.ratios += [(call, ratio) for ratio in ratios_of_one(nodes)]
            self.products += [(call, number) for number in weighted_terms(roots)]
            self.flat += [(call, flat) for flat in flat_steps(roots, nodes)]
            self.loss_forms += [(call, form) for form in loss_forms(roots, nodes)]
            self.one_sided += [(call, number) for number in one_sided(roots)]
        return call

    def _seek_leaves(self) -> None:
        """Look at the leaves of the next calls: there may be others."""
        calls = len(self.calls)
        more = calls + LEAVES_AFTER - max(self._seek_until, calls)
        if 0 < more <= self._seeks:
            self._seeks -= more
            self._seek_until = calls + LEAVES_AFTER

    def _is_called_directly(self) -> bool:
        """Whether only the public calls themselves lie between the user's line and the engine."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame not in self.log.live:
            code = frame.f_code
            own = code.co_filename.startswith(OWN_FOLDERS)
            if not own and not (
                code.co_name in DIRECT and code.co_filename.startswith(self._library)
            ):
                return False
            frame = frame.f_back
        return frame is not None

    def _note_leaves(self, call: Call, nodes: dict[Node, int]) -> None:
        for node, number in nodes.items():
            if number >= LEAF and hasattr(node, "variable"):
                leaf = node.variable
                self.leaves.setdefault(id(leaf), leaf)
                call.versions[id(leaf)] = leaf._version
        if len(self.gradients.optimizers) > 1:
            self._note_leaf_users(call, nodes)

    def _note_leaf_users(self, call: Call, nodes: dict[Node, int]) -> None:
        """Between which nodes each leaf is used."""
        for node, number in nodes.items():
            for following, _ in node.next_functions:
                if following is not None and nodes.get(following, 0) >= LEAF:
                    key = id(getattr(following, "variable", None))
                    first, last = call.users.get(key, (number, number))
                    call.users[key] = min(first, number), max(last, number)

    def _note_sum(self, call: Call, tensors: list[TensorLike]) -> None:
        """Of which values the losses are sums."""
        for tensor in tensors:
            if tensor.grad_fn is not None and tensor.numel() == 1:
                for number, by in terms_of(tensor.grad_fn, self._number_of).items():
                    call.terms[number] = call.terms.get(number, 0.0) + by

    def _number_of(self, tensor: Any) -> float:
        """The number in a tensor of one element; a second pass does not take this for a use."""
        internal = getattr(self.torch, "_C", None)
        untold = getattr(internal, "DisableTorchFunction", nullcontext)
        unseen = getattr(internal, "_DisableTorchDispatch", nullcontext)
        # a mode would be given the Python number that PyTorch has made a tensor of, and `sum()` is
        # undefined for it
        with untold(), unseen():
            return float(tensor.detach())

    def _note_uses(self, numbers: list[int]) -> None:
        """Is a graph that an earlier call retained or created used now?"""
        for earlier in self.calls[-40:]:
            if earlier.retain and not earlier.create and not earlier.used_again:
                earlier.used_again = any(in_ranges(earlier.ranges, n) for n in numbers)
            if earlier.create and not earlier.result_used:
                earlier.result_used = any(earlier.start <= n < earlier.end for n in numbers)

    def _remember_results(self, results: Any, call: Call) -> None:
        for result in results:
            if result is not None and not result.requires_grad:
                self.grad_results[id(result)] = (result, call)
        while len(self.grad_results) > REMEMBERED_RESULTS:
            del self.grad_results[next(iter(self.grad_results))]
