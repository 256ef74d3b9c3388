"""Watches a running program and writes down the lives of its graph's nodes.

Nothing of the graph is changed or kept: nodes get a tag, backward calls, optimizer steps, modules
and `detach` are heard of through the hooks and patches that `watching` has for both libraries, and
lines come from the line log. Saved values are read raw, never unpacked.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Any, NamedTuple

from retrograd.diagnostics.report import Place
from retrograd.graph.calling import said_at
from retrograd.graph.detaching import Cut
from retrograd.graph.lives import MOST_NODES, Life, Lives, Marks, Position, Write, memory_key
from retrograd.graph.pacing import Pace
from retrograd.graph.schema import EventKind
from retrograd.graph.steps import KEPT, Sample, Steps
from retrograd.graph.writing import shown, watch_writes
from retrograd.watching.engines import Engine, Original, RetrogradEngine, TorchEngine
from retrograd.watching.graph import INPLACE, TWICE, Overwritten, on_a_path_to, state_of, walk
from retrograd.watching.lines import LEAF, Tracer
from retrograd.watching.modules import ModuleLog
from retrograd.watching.reading import Node, Reader, RetrogradReader, TorchReader
from retrograd.watching.replacing import replaced
from retrograd.watching.variables import named_tensors

ALWAYS = 8  # looks at the variables of the program that are always taken, unless they are slow
SLOW = 0.3  # seconds for these
SHARE = 0.05  # of the time that later ones may take
MOST_NAMES = 100  # of variables at one look
SOME = "retain_graph=[...]"
MOST_ROWS = 2_000  # of calls, events and looks each; beyond it steps are left out, or the oldest


@dataclass(eq=False, slots=True)
class RecordedCall:
    """A backward call."""

    number: int
    kind: str
    start: Position
    roots: list[int]
    of: str
    retain: bool
    how: str
    places: list[Place]  # outermost first
    walked: int = 0
    end: Position | None = None
    message: str = ""  # of its error
    failed_at: int | None = None
    code: str = ""

    @property
    def keeps_all(self) -> bool:
        """Whether what it walks can be walked again, also what has nothing saved."""
        return self.retain and self.how != SOME


class Passed(NamedTuple):
    """A node on the way of a backward call."""

    node: Node
    number: int
    life: Life | None  # None: it was left out


@dataclass(eq=False, slots=True)
class RecordedEvent:
    """A detach, or an error that ended the program."""

    position: Position
    kind: EventKind
    label: str
    place: Place | None
    cut: Cut | None = None


@dataclass(eq=False, slots=True)
class Look:
    """The variables of the program that held a graph."""

    position: Position
    held: list[tuple[str, int]]


@dataclass
class Variables:
    """Variables by their names, where a frame is expected."""

    f_locals: dict[str, Any]


@dataclass(eq=False)
class Recorder:
    """Everything that was written down. `install` begins, `remove` ends."""

    engine: Engine
    tracer: Tracer
    keep: int = KEPT
    wanted: frozenset[int] = frozenset()
    calls: list[RecordedCall] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    count: int = 0  # of backward calls
    pace: Pace | None = None  # None: every step is recorded

    def __post_init__(self) -> None:
        real = isinstance(self.engine, TorchEngine)
        self.reader: Reader = (
            TorchReader(self.engine.torch, self.tracer) if real else RetrogradReader()
        )
        self.modules = ModuleLog(self.engine)
        self.lives = Lives(self.reader, self.engine.counter, self.modules)
        self.steps = Steps(self.keep, self.wanted)
        self.enabled = True
        self.asleep = False  # in a step that is passed over
        self.slept = False  # ever
        self._local = threading.local()
        self._lock = threading.RLock()
        self._undo: list[Callable[[], None]] = []
        self._asleep_undo: list[Callable[[], None]] = []  # what is not in place while asleep
        self._step_hook: Any = None
        self._wake_undo: Callable[[], None] = lambda: None
        self.crowded_out: dict[str, int] = {}  # rows that were left out inside of a step
        self._names: dict[int, tuple[Any, str]] = {}  # while variables are looked at
        self._looked = 0
        self._spent = 0.0
        self._started = time.perf_counter()

    # --------------------------------------------------------------------------- patches

    def install(self) -> None:
        """Put the patches in place."""
        optimizers = import_module(f"{self.engine.torch.__name__}.optim.optimizer")
        handle = optimizers.register_optimizer_step_post_hook(self._after_step)
        self._undo.append(lambda: self._step_hook.remove())
        self._step_hook = handle
        if isinstance(self.engine, TorchEngine):  # costs next to nothing
            self._undo.append(self.engine.watch(self._around_backward))
        self._watch()
        self._event()
        self.tracer.at_thread_end = self._at_thread_end

    def _watch(self) -> None:
        """What is in place in recorded steps alone."""
        undo = self._asleep_undo
        if not isinstance(self.engine, TorchEngine):
            undo.append(self.engine.watch(self._around_backward))
        if isinstance(self.engine, RetrogradEngine):
            self.engine.let_go = self._after_release
        undo.append(self.modules.start())
        for name in ("detach", "detach_"):
            self._watch_detach(name)
        undo.append(
            watch_writes(self.engine.torch, self.tracer, self.engine.counter, self._after_write)
        )

    def _unwatch(self) -> None:
        while self._asleep_undo:
            self._asleep_undo.pop()()

    def remove(self) -> None:
        """Take the patches away; what was written stays."""
        if not self.enabled and not self._undo:
            return
        self.enabled = False
        if self.asleep:
            self.asleep = False
            self._wake_undo()
        self._unwatch()
        while self._undo:
            self._undo.pop()()
        self.tracer.at_thread_end = None
        self.lives.stop()
        if self.steps.called_since or not self.steps.by_optimizer:
            self.steps.close()
        self._leave_out()

    def _watch_detach(self, name: str) -> None:
        kind = self.reader.tensor
        original = getattr(kind, name)
        recorder = self

        def detach(tensor: Any) -> Any:
            node = tensor.grad_fn if recorder.enabled else None
            result = original(tensor)
            if node is not None:
                frame = sys._getframe(1)
                if recorder._is_user(frame):
                    recorder._safely(recorder._note_detach, node, result, frame)
            return result

        self._asleep_undo.append(replaced(kind, name, detach))

    def _is_user(self, frame: FrameType) -> bool:
        return self.tracer.is_user_file(frame.f_code.co_filename)

    def _safely(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the recorder: untraced, and a mistake in it is not the program's."""
        trace = sys.gettrace()
        if trace is not None:
            sys.settrace(None)
        try:
            with self._lock:
                return function(*args)
        except Exception as error:
            self.enabled = False
            self.unseen.append(
                f"what came later: the recorder failed: {type(error).__name__}: {error} "
                f"(in {function.__name__})"
            )
            return None
        finally:
            if trace is not None:
                sys.settrace(trace)

    # ------------------------------------------------------------------------------ events

    @property
    def _marks(self) -> Marks:
        """The events of this thread."""
        found: Marks | None = getattr(self._local, "marks", None)
        if found is None:
            found = self._local.marks = Marks()
        return found

    @property
    def _depth(self) -> int:
        """Backward calls of this thread that run now, one in another."""
        return getattr(self._local, "depth", 0)

    def _event(self) -> Position:
        """Something happens now."""
        slot = self.lives.clock.slot
        self._marks.add(self.engine.counter(), slot)
        self.lives.clock.slot += 1
        return Position(slot, 1, 0)

    def _stack(self) -> list[Place]:
        log = self.tracer.log
        return log.places_of(log.here())

    def _after_step(self, optimizer: object, args: object, keywords: object) -> None:
        if not self.enabled:
            return
        if self.asleep:
            ended = self._pass_over(optimizer)
        else:
            ended = self._safely(self._note_step, optimizer)
        if ended and self.pace is not None and self.enabled and len(self.tracer.logs) == 1:
            awake = self.pace.turn(not self.asleep) or self.steps.number in self.steps.wanted
            if awake == self.asleep:
                self._wake() if awake else self._sleep(optimizer)
                self.pace.changed()

    def _sleep(self, optimizer: object) -> None:
        """Record nothing until the end of a step; nodes of retrograd know their lines anyway."""
        self.asleep = self.slept = True
        self._unwatch()
        if not isinstance(self.engine, TorchEngine):
            self.tracer.pause()
            self._count_steps_cheaply(optimizer)

    def _wake(self) -> None:
        """Record again."""
        self.asleep = False
        self._wake_undo()
        self._wake_undo = lambda: None
        if not isinstance(self.engine, TorchEngine):
            self.tracer.resume(sys._getframe(1))
        self._watch()

    def _count_steps_cheaply(self, optimizer: object) -> None:
        """With any hook retrograd's optimizers leave their compiled way: replace `step` instead."""
        optimizers = import_module("retrograd.optim.optimizer")
        kind: Any = optimizers.Optimizer
        if "step" in {name for base in type(optimizer).__mro__[:-2] for name in vars(base)}:
            return  # a step of its own
        original = kind.__dict__["step"]
        bound = original.__get__
        after = self._after_step
        self._step_hook.remove()

        def step(optimizer: Any, *args: Any, **keywords: Any) -> Any:
            result = bound(optimizer, kind)(*args, **keywords)
            after(optimizer, args, keywords)
            return result

        kind.step = step

        def undo() -> None:
            kind.step = original
            self._step_hook = optimizers.register_optimizer_step_post_hook(after)

        self._wake_undo = undo

    def _pass_over(self, optimizer: object) -> bool:
        closed = self.steps.after_optimizer(optimizer, self._event())
        if closed:
            self.steps.pass_over()
        return closed

    def _note_step(self, optimizer: Any) -> bool:
        self.lives.settle()
        places = self._stack()
        how = f"{type(optimizer).__name__}.step()"
        number = self.engine.counter()
        position = self._event()
        write = Write(position, number, places[-1] if places else None, how)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self.lives.note_write(parameter, write)
        closed = self.steps.after_optimizer(optimizer, position)
        if closed:
            self._leave_out()
        return closed

    def _after_write(self, tensor: Any, name: str, number: int, frame: FrameType) -> None:
        if self.enabled:
            self._safely(self._note_write, tensor, name, number, frame)

    def _note_write(self, tensor: Any, name: str, number: int, frame: FrameType) -> None:
        position = Position(self.lives.clock.slot, 0, self.engine.counter() - 0.3)
        self.lives.note_write(tensor, Write(position, number, _place_in(frame), shown(name)))

    def _note_detach(self, node: Node, result: Any, frame: FrameType) -> None:
        position = self._event()
        cut = self.lives.cut(node, position)
        if result.grad_fn is None:
            self.lives.note_detached(result, cut)
            state = self.tracer.log.live.get(frame)
            if state is not None:
                site = state[0], frame.f_lineno, state[1]
                self.lives.uses.note(cut, self.engine.counter(), site)
        self.events.append(RecordedEvent(position, "detach", "", _place_in(frame), cut))
        self._keep_few()

    def note_error(self, message: str, place: Place | None) -> None:
        """An error has ended the program."""
        self.events.append(RecordedEvent(self._event(), "error", message, place))

    # ----------------------------------------------------------------------- backward calls

    def _around_backward(
        self,
        outputs: Sequence[Any],
        retain: bool,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
        run: Original,
    ) -> Any:
        if not self.enabled:
            return run()
        if self.asleep:
            return self._unrecorded((outputs, retain, create, inputs, accumulates), run)
        noted = self._safely(self._before, outputs, retain, create, inputs, accumulates)
        if noted is None:
            return run()
        self._local.depth = self._depth + 1
        error: BaseException | None = None
        try:
            return run()
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._local.depth -= 1
            self._safely(self._after, *noted, error)
            del error, noted

    def _unrecorded(self, asked: tuple[Any, ...], run: Original) -> Any:
        """A call in a step that is passed over, unless it fails."""
        self.count += 1
        try:
            return run()
        except Exception as error:
            if self.asleep:
                self._wake()
                self._safely(self._note_failed, asked, error)
            raise

    def _note_failed(self, asked: tuple[Any, ...], error: Exception) -> None:
        """A call has failed in a step that was passed over: what can still be seen is noted."""
        self.count -= 1
        call, walked, _ = self._before(*asked)
        self._after(call, walked, False, error)

    def _before(
        self,
        outputs: Sequence[Any],
        retain: object,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
    ) -> tuple[RecordedCall, list[Passed], bool]:
        if isinstance(self.engine, RetrogradEngine) and self.engine.retain is not None:
            retain = self.engine.retain
        tensors: list[Any] = [t for t in outputs if isinstance(t, self.reader.tensor)]
        nodes = walk(tensor.grad_fn for tensor in tensors)
        self.tracer.log.walks = True
        names = self._before_events(tensors)
        self._add(tensor.grad_fn for tensor in tensors)
        passed = {node: n for node, n in nodes.items() if n < LEAF}
        if inputs:
            ends = {id(node.variable): node for node in nodes if hasattr(node, "variable")}
            targets = [t.grad_fn if t.grad_fn is not None else ends.get(id(t)) for t in inputs]
            passed = on_a_path_to(nodes, [target for target in targets if target is not None])
        order = sorted(
            ((n, place) for place, n in enumerate(passed.values())), reverse=True
        )  # as the engines take them
        inside = list(passed)
        walked = [Passed(inside[place], n, self.lives.life_of(inside[place])) for n, place in order]
        roots = [self.lives.index_of(t.grad_fn) for t in tensors if t.grad_fn is not None]
        self.steps.sample(
            Sample(Position(self.lives.clock.slot, 0, 0), self.lives.bytes, self.lives.nodes)
        )
        self.count += 1
        call = RecordedCall(
            number=self.count,
            kind="backward" if accumulates else "grad",
            start=self._event(),
            roots=[root for root in roots if root is not None],
            of=self._said(tensors, names),
            retain=bool(retain),
            how=_how(retain, create, inputs if accumulates else ()),
            places=self._stack(),
        )
        self.calls.append(call)
        self._keep_few()
        return call, walked, isinstance(retain, bool)

    def _said(self, tensors: list[Any], names: dict[int, str]) -> str:
        """What a call is about, as the program says it: a variable, or what stands in the text."""
        found = [names.get(id(tensor), "") for tensor in tensors]
        if all(found):
            return ", ".join(found)
        if self._depth:
            return ""
        found = [name or self._local_name(t) for name, t in zip(found, tensors, strict=True)]
        frames = self._frames()
        if all(found) or not frames:
            return ", ".join(name for name in found if name)
        return said_at(frames[0])

    def _before_events(self, tensors: list[Any]) -> dict[int, str]:
        """Whether a loop has turned, and what the variables of the program hold."""
        log = self.tracer.log
        stack = log.here()
        if not self._depth and stack:
            edge = self.steps.before_call((stack[-1].chain, stack[-1].line), stack, log)
            if edge is not None:
                start = self._marks.birth(edge.number, self.lives.clock.slot)
                self.steps.begin(start._replace(number=edge.number - 0.75))
                self._leave_out()
        return {} if self._depth else self._look(self._frames())

    def _after(
        self,
        call: RecordedCall,
        walked: list[Passed],
        plainly: bool,
        error: BaseException | None,
    ) -> None:
        """What the call has done: by its arguments if it is plain, else as the nodes say."""
        stopped = -1
        if error is not None:
            failed = self._failed_at(walked, error)
            stopped = LEAF if failed is None else failed.number
            if failed is not None:
                call.failed_at = self.lives.index_of(failed.node)
            call.message = str(error).partition(" Saved intermediate")[0] or type(error).__name__
            call.code = str(getattr(error, "code", ""))
        pace = 1 if len(walked) < 40 else 8
        known = plainly and error is None
        for place, (node, number, life) in enumerate(walked):
            state = "" if known else self.reader.state(node)
            if number <= stopped and not (state == "freed" and life is not None and life.holds):
                continue
            call.walked += 1
            if life is not None:
                position = Position(call.start.slot + 1, -1, place // pace)
                if state == "freed" or (state != "held" and not call.keeps_all):
                    self.lives.free(life, position, call.number)
                elif life.kept is None and life.freed is None:
                    life.kept = position
        call.end = self._event()
        if error is not None and not self._depth:
            self._look(self._frames())

    def _after_release(self, roots: Sequence[Node]) -> None:
        if self.enabled:
            self._safely(self._let_go, roots)

    def _let_go(self, roots: Sequence[Node]) -> None:
        """A call has kept the graph, but not the values that can be computed again."""
        if not self.calls:
            return
        call = self.calls[-1]
        position = call.end = self._event()
        for node in walk(roots):
            life = self.lives.life_of(node)
            if life is None or not life.saved:
                continue
            if not any(saved.bytes for saved in self.reader.saved(node)):  # recipes have none
                self.lives.free(life, position, call.number)

    def _failed_at(self, walked: list[Passed], error: BaseException) -> Passed | None:
        """The node at which a call failed, where that is certain: nodes run by their numbers."""
        if TWICE in str(error):
            return next((each for each in walked if self._was_freed(each)), None)
        if INPLACE in str(error):
            return next((p for p in walked if isinstance(state_of(p.node), Overwritten)), None)
        return None

    def _was_freed(self, passed: Passed) -> bool:
        """Before this call. A node may have saved numbers alone, which are no values in memory."""
        life = passed.life
        if life is None or life.freed is None:
            return False
        return life.is_freed or self.reader.state(passed.node) == "freed"

    # -------------------------------------------------------------------- what is looked at

    def _add(self, roots: Iterable[Node | None]) -> None:
        tracer = self.tracer
        others: list[tuple[int, int]] = []
        if len(tracer.logs) > 1:  # threads of retrograd count together
            own = isinstance(self.reader, RetrogradReader)
            others = [(0, LEAF)] if own else tracer.others_making()
        leaves = self.lives.add(roots, tracer.log, self._marks, others)
        if leaves:
            self._name_leaves(leaves)

    def _name_leaves(self, leaves: list[Life]) -> None:
        names = self._names or self._search(self._frames()) or {}
        for life, tensor in self.lives.leaf_tensors(leaves):
            entry = names.get(id(tensor))
            name = self._local_name(tensor) if entry is None else entry[1]
            if name:
                self.lives.name_leaf(life, tensor, name)

    def _local_name(self, tensor: Any) -> str:
        """The name of a variable in one of the innermost functions; "" if there is none."""
        for frame in self._frames()[:2]:
            for name, value in frame.f_locals.items():
                if value is tensor:
                    return name
        return ""

    def _search(self, scopes: list[Any]) -> dict[int, tuple[Any, str]] | None:
        """All tensors that variables lead to; None where looking has taken its share of time."""
        elapsed = time.perf_counter() - self._started
        if self._spent > (SHARE * elapsed if self._looked > ALWAYS else SLOW):
            return None
        now = time.thread_time()
        found = named_tensors(scopes, self.reader.tensor)
        self._spent += time.thread_time() - now
        return found

    def _frames(self) -> list[FrameType]:
        """The user's functions that run now, innermost first."""
        return list(self.tracer.log.live)[::-1]

    def _at_thread_end(self, frame: FrameType) -> None:
        """What a thread has made is written down in it: only its own log knows the lines."""
        if self.enabled:
            self._safely(self._add_from, frame)

    def _add_from(self, frame: FrameType) -> None:
        names = frame.f_code.co_names
        used = {name: frame.f_globals[name] for name in names if name in frame.f_globals}
        found = named_tensors([Variables({**used, **frame.f_locals})], self.reader.tensor).values()
        self._add(tensor.grad_fn for tensor, _ in found)

    def _look(self, scopes: list[Any]) -> dict[int, str]:
        """Find the tensors with history in the program's variables; gives their names by id."""
        self._looked += 1
        self.lives.inputs.clear()
        searched = self._search(scopes)
        if searched is None:
            return {}
        found = self._names = searched
        holding = []
        for tensor, name in found.values():
            if tensor.grad_fn is not None:
                holding.append((tensor, name))
            elif not tensor.requires_grad:
                self.lives.inputs[memory_key(self.reader, tensor)] = name
        self._add(tensor.grad_fn for tensor, _ in holding)
        self._names = {}  # it holds tensors
        held = [(name, self.lives.index_of(tensor.grad_fn)) for tensor, name in holding]
        position = Position(self.lives.clock.slot, 0, self.engine.counter() - 0.2)
        rows = [(name, index) for name, index in held if index is not None]
        self.looks.append(Look(position, rows[:MOST_NAMES]))
        return {id(tensor): name for tensor, name in found.values()}

    def mark(self, label: str) -> None:
        """The program itself marks a moment."""
        if self.enabled:
            self._looked = 0
            self._safely(self._mark, label)

    def _mark(self, label: str) -> None:
        self._look(self._frames())
        places = self._stack()
        place = places[-1] if places else None
        self.events.append(RecordedEvent(self._event(), "mark", label, place))

    def look_at(self, scopes: list[Any]) -> None:
        """Look at variables once more, at the end: frames, or things with `f_locals`."""
        if self.enabled:
            self._looked = 0
            self._safely(self._look, scopes)

    # --------------------------------------------------------------------------- leaving out

    def _leave_out(self) -> None:
        """Keep no more than was asked for, and than fits."""
        while True:
            rows = max(len(self.calls), len(self.events), len(self.looks))
            crowded = len(self.lives.known) > MOST_NODES // 2 or rows > MOST_ROWS
            span = self.steps.victim(crowded)
            if span is None:
                return
            start, end = self.steps.extent(span)
            self.calls = [c for c in self.calls if not start <= c.start < end]
            self.events = [e for e in self.events if not start <= e.position < end]
            self.looks = [look for look in self.looks if not start <= look.position < end]
            self.lives.forget(start, end)
            self.steps.drop(span)

    def _keep_few(self) -> None:
        """One step may have more calls, detaches and looks than can be kept: the oldest go."""
        for name in ("calls", "events", "looks"):
            rows = getattr(self, name)
            if len(rows) > 2 * MOST_ROWS:
                del rows[: len(rows) - MOST_ROWS]
                self.crowded_out[name] = self.crowded_out.get(name, 0) + MOST_ROWS


def _place_in(frame: FrameType) -> Place:
    code = frame.f_code
    return Place(code.co_filename, frame.f_lineno, code.co_qualname)


def _how(retain: object, create: bool, inputs: Sequence[Any]) -> str:
    """The arguments of a backward call that matter for the graph."""
    words = []
    if isinstance(retain, str):
        words.append(f"retain_graph={retain!r}")
    elif isinstance(retain, (list, tuple)):
        words.append(SOME)
    elif create:
        words.append("create_graph=True")
    elif retain:
        words.append("retain_graph=True")
    if inputs:
        words.append("inputs=...")
    return ", ".join(words)
