"""From a recording to a plan: a Python function that binds tensors, runs segments and makes calls.

The function is written out as text, so that what it looks at costs no more than an attribute. It
checks first, and answers `MISS` before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Protocol

from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.node import Node, dressed
from retrograd.replay.assembly import MachineExecutor
from retrograd.replay.chains import machine
from retrograd.replay.execute import PythonExecutor
from retrograd.replay.program import Buffer, Executor, Instruction, Program, Slot
from retrograd.replay.reading.effects import Nest, Outside, rebuilt
from retrograd.replay.recorder import Adopted, Done, Read, Recorder
from retrograd.replay.recording import Recorded, flat
from retrograd.replay.segments import cell_at, made, segment
from retrograd.tensor import Tensor, cell_of, meta_of

MISS: Any = object()
# the last one is used
EXECUTORS: list[type[Executor]] = [PythonExecutor, *([] if machine is None else [MachineExecutor])]


class Reading(Protocol):
    """What came out of reading a step once."""

    leaving: Any  # what the function returned, in the form of `reading.effects`
    effects: Sequence[tuple[Callable[..., object], tuple[object, ...]]]  # done at each replay
    check: Callable[..., Sequence[Tensor] | None]  # (args, kwargs) -> tensors by place, or None


class Unbindable(Exception):
    """No plan can be made of a recording; the reason."""


# --------------------------------------------------------------- what the function calls


def is_like(tensor: Any, slot: Slot) -> bool:
    """Whether a tensor without history lies in memory as the recorded one did."""
    if not isinstance(tensor, Tensor) or tensor.grad_fn is not None:
        return False
    array = tensor._array
    if array.shape != slot.shape or array.dtype is not slot.dtype or tensor._level:
        return False
    return array.strides == slot.strides or array.size < 2


def expect(tensor: Any, slot: Slot) -> Any:
    """What a call returned, which the instructions after it take in the recorded layout."""
    if not is_like(tensor, slot):
        raise RuntimeError("replay: a call returned a tensor of another shape than when recorded")
    return tensor


# ------------------------------------------------------------------------------- the plan


class Plan:
    """What a recording does, as one function: ``run(args, kwargs)``.

    `text` and `programs` are compared with another recording's: see `agrees`.
    """

    __slots__ = (
        *(
            "_anchors",
            "_bound",
            "_cells",
            "_lines",
            "_made",
            "_named",
            "_read",
            "_slots",
            "_tensors",
        ),
        *("busy", "guards", "names", "programs", "recorder", "run", "text"),
    )

    def __init__(self, recorder: Recorder, reading: Reading) -> None:
        self.recorder = recorder
        self.guards = getattr(reading, "guards", reading)
        self.names: dict[str, Any] = {
            "MISS": MISS, "made": made, "cell_at": cell_at, "is_like": is_like,
            "expect": expect, "rebuilt": rebuilt, "check": reading.check, "cell_of": cell_of,
        }  # fmt: skip
        self.programs: list[Program] = []
        self._lines: list[str] = []
        self._tensors: dict[int, str] = {}  # made by the step or a call: the variable, by identity
        self._slots: dict[int, Slot] = {}  # that segments give
        self._read: set[int] = set()  # those that the function uses
        self._cells: dict[int, str] = {}  # by buffer: the first tensor that has its memory
        self._made: dict[str, tuple[Slot, Any, int]] = {}  # by variable: what a segment makes it of
        self._named: set[str] = set()  # variables of these that the function uses
        self._anchors: dict[int, tuple[int, Slot]] = {}  # by own buffer: who makes it, and which
        self._bound: dict[int, Adopted] = {}  # by input buffer
        for number, instruction in enumerate(recorder.tape.instructions):
            for slot in instruction.results:
                if slot is not None:
                    self._anchors.setdefault(slot.buffer.index, (number, slot))
        for taken in recorder.adopted.values():
            first = self._bound.setdefault(taken.slot.buffer.index, taken)
            first.shared = first is not taken
        self._guards()
        guards = len(self._lines)
        for done in recorder.done:
            self._call(done) if done.call is not None else self._after(done)
        for function, args in reading.effects:
            self._lines.append(self._called(function, args, {}))
        self._lines.append(f"return {self.express(reading.leaving)}")
        for done in recorder.done:
            if done.call is None:
                self._segment(done)
        self.text = _function("run", self._lines)
        fits = _function("fits", [*self._lines[:guards], "return True"])
        exec(compile(f"{self.text}\n{fits}", "<retrograd replay>", "exec"), self.names)
        self.run: Callable[[Any, Any], Any] = self.names["run"]
        self.busy = False  # its memory serves one call at a time
        del self.recorder, self._bound, self._anchors  # and with them the arrays of the recording

    def fits(self, args: Any, kwargs: Any) -> bool:
        """Whether the plan would serve a call."""
        return self.names["fits"](args, kwargs) is not MISS

    def agrees(self, other: Plan) -> bool:
        """Whether another recording gave the same plan."""
        mine, theirs = self.names, other.names
        return (
            self.text == other.text
            and all(
                mine[name] is theirs[name] or same(mine[name], theirs[name])
                for name in mine
                if name[0] == "c" and name[1:].isdigit()
            )
            and same([_listing(x) for x in self.programs], [_listing(x) for x in other.programs])
        )

    def constant(self, value: object, prefix: str = "c") -> str:
        """A name for an object that the function uses."""
        for name, known in self.names.items():
            if known is value and name[0] == prefix and name[1:].isdigit():
                return name
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    # ---- guards

    def _guards(self) -> None:
        """What `check` does not look at: gradients, and where memory lies that tensors share."""
        self._lines += ["found = check(args, kwargs)", "if found is None: return MISS"]
        for taken in self.recorder.adopted.values():
            if taken.owner is None and (taken.place is None or taken.place >= 0):
                tests = self._grad_tests(taken) if taken.required else []
                if self._bound[taken.slot.buffer.index] is not taken or taken.shared:
                    held = self.constant(taken.held, "a")
                    tests.append(f"{self.outside(taken)}._array is not {held}")
                if tests:
                    self._lines.append(f"if {' or '.join(tests)}: return MISS")

    def _grad_tests(self, taken: Adopted) -> list[str]:
        """What must not be so of the gradient of a leaf."""
        before = next((x for x in self.recorder.adopted.values() if x.owner is taken), None)
        meta = f"{self.outside(taken)}._meta"
        tests = [f"{meta} is None"]
        if taken.place is None:
            meta, tests = self.constant(meta_of(taken.tensor), "m"), []
        if self._is_reset(taken, before):
            return tests
        if taken.first_grad is None:
            return [*tests, f"{meta}.grad is not None"]
        if before is None or before.tensor is not taken.first_grad:
            raise Unbindable("a .grad is exchanged during the step")
        like = f"is_like({meta}.grad, {self.constant(before.slot, 'l')})"
        return [*tests, f"not {like} or {meta}.grad._requires_grad"]

    def _is_reset(self, taken: Adopted, before: Adopted | None) -> bool:
        """Whether a call takes the `.grad` of a leaf away before anything depends on it."""
        for done in self.recorder.done:
            if id(taken.tensor) in done.resets:
                return True
            used = _buffers_used(self.recorder.tape.instructions[done.start : done.stop])
            if before is not None and before.slot.buffer.index in used:
                return False
            if any(x is taken for x, _ in done.grads):
                return before is not None  # the step itself takes it away, and sets another
        return False

    # ---- expressions

    def outside(self, taken: Adopted) -> str:
        """A tensor from outside."""
        if taken.owner is not None:
            return f"{self.outside(taken.owner)}._meta.grad"
        if taken.place is None:
            return self.constant(taken.tensor)
        return f"found[{taken.place}]" if taken.place >= 0 else self._tensors[id(taken.tensor)]

    def slot(self, slot: Slot) -> str:
        """The variable that has the array of a slot, which a segment gives."""
        self._keep(slot)
        self._read.add(slot.index)
        return f"s{slot.index}"

    def _keep(self, slot: Slot) -> None:
        """An array that a segment gives, perhaps only to make a tensor of it."""
        if slot.buffer.kind != "own":
            raise Unbindable("a view of a tensor from outside leaves the step")
        self._slots[slot.index] = slot

    def express(self, value: Any) -> str:
        """Python text for a value that leaves the step, or goes into a call."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        kind = type(value)
        if kind is Read:
            if value.slot is None:
                raise Unbindable("a number leaves the step that was read from a tensor outside")
            return f"{self.slot(value.slot)}.{value.name}()"
        if kind is Nest:
            return f"rebuilt({self.constant(value.kind)}, {self.express(value.parts)})"
        if kind is Outside:
            return self.constant(value.value)
        if kind is tuple or kind is list:
            inside = "".join([f"{self.express(item)}, " for item in value])
            return f"({inside})" if kind is tuple else f"[{inside}]"
        if kind is dict:
            pairs = [f"{self.express(k)}: {self.express(x)}, " for k, x in value.items()]
            return "{" + "".join(pairs) + "}"
        return repr(value) if kind in (bool, int, str, type(None)) else self.constant(value)

    def _called(self, function: object, args: Sequence[object], kwargs: dict[str, object]) -> str:
        given = [self.express(x) for x in args]
        given += [f"{name}={self.express(x)}" for name, x in kwargs.items()]
        return f"{self.constant(function)}({', '.join(given)})"

    def _tensor(self, tensor: Tensor) -> str:
        taken = self.recorder.adopted.get(id(tensor))
        if taken is not None:
            return self.outside(taken)
        name = self._tensors.get(id(tensor))
        if name is not None:
            self._named.add(name)
            return name
        name = self._new(tensor)
        self._named.add(name)
        return name

    def _new(self, tensor: Tensor) -> str:
        """A variable for a tensor of the step, which its segment makes."""
        array: Any = tensor._array
        if type(array) is not Recorded or array.slot is None:
            raise Unbindable("a tensor leaves the step that is not of it")
        check_leaving(tensor)
        self._keep(array.slot)
        self._tensors[id(tensor)] = name = f"t{len(self._tensors)}"
        version = 0 if tensor._cell is None else tensor._cell.version
        other = self._cells.setdefault(array.slot.buffer.index, name)
        facts = tensor._requires_grad, tensor._grad_fn, tensor._output_nr, tensor._cut
        if other == name:
            self._made[name] = (array.slot, facts, version)
        else:  # two tensors in one memory count writes together
            self._named.add(other)
            given = f"{self.slot(array.slot)}, {self.constant(facts, 'n')}, cell_of({other})"
            self._lines.append(f"{name} = made({given})")
        return name

    def why_not(self, args: Any, kwargs: Any) -> str:
        """Why this plan does not serve a call."""
        why_not = getattr(self.guards, "why_not", None)
        found = None if why_not is None else why_not(args, kwargs)
        return found or "a gradient is there that was not, or the other way round"

    # ---- what is done

    def _call(self, done: Done) -> None:
        assert done.call is not None
        function, args, kwargs, result = done.call
        name = f"r{len(self._lines)}"
        self._lines.append(f"{name} = {self._called(function, args, kwargs)}")
        for path, tensor in _paths(result, name):
            taken = self.recorder.adopted.get(id(tensor))
            if taken is not None and (taken.place or 0) < 0:
                self._tensors[id(tensor)] = made = f"t{len(self._tensors)}"
                slot = self.constant(taken.slot, "l")
                self._lines.append(f"{made} = expect({path}, {slot})")

    def _after(self, done: Done) -> None:
        """A segment runs here: a line for it, written when all uses are known; what it leaves."""
        self._lines.append("")
        done.line = len(self._lines) - 1
        for taken, grad in done.grads:
            name = None if grad is None else self._gradient(grad)
            if name is None or name in self._made:
                done.sets.append((taken, name))
            else:
                self._lines.append(f"{self.outside(taken)}._meta.grad = {name}")

    def _gradient(self, grad: Tensor) -> str:
        """The variable of a tensor that becomes a gradient, which its segment may set."""
        known = id(grad) in self.recorder.adopted or id(grad) in self._tensors
        return self._tensor(grad) if known else self._new(grad)

    def _segment(self, done: Done) -> None:
        instructions = self.recorder.tape.instructions
        if done.start == done.stop and not done.sets and not done.writes:
            return
        inside = range(done.start, done.stop)
        later = _buffers_used(instructions[done.stop :])
        leaving = [s for s in self._slots.values() if self._anchors[s.buffer.index][0] in inside]
        for maker, slot in self._anchors.values():
            if maker in inside and slot.buffer.index in later:
                self.slot(slot)
                leaving.append(slot)
        leaving = list(dict.fromkeys(leaving))
        part = instructions[done.start : done.stop]
        operands = Operands(self)
        taken: list[Slot] = []
        inputs: list[int] = []
        for index in _buffers_used(part):
            if index in self._bound:
                taken.append(self._bound[index].slot)
                inputs.append(operands.tensor(self._bound[index]))
            elif index in self._anchors and self._anchors[index][0] < done.start:
                taken.append(self._anchors[index][1])
                inputs.append(operands.given(self.slot(taken[-1])))
        program = extract(part, taken, leaving)
        self.programs.append(program)
        run = EXECUTORS[-1](program).run
        self._lines[done.line] = self._segment_line(done, run, operands, tuple(inputs), leaving)

    def _segment_line(
        self, done: Done, run: Any, operands: Operands, inputs: tuple[int, ...], slots: list[Slot]
    ) -> str:
        """What calls a segment, and the variables that others use of what it gives."""
        outputs = {slot.index: number for number, slot in enumerate(slots)}
        names = [name for name, (slot, _, _) in self._made.items() if slot.index in outputs]
        found = [self._made[name] for name in names]
        made = tuple([(outputs[s.index], facts, version) for s, facts, version in found])
        writes = []
        for taken, count in done.writes:
            cell = cell_of(taken.tensor)
            writes.append((operands.tensor(taken), count, (cell.writer, cell.code, cell.lasti)))
        grads = tuple(
            [(operands.tensor(x), -1 if n is None else names.index(n)) for x, n in done.sets]
        )
        leaving = {f"s{s.index}": outputs[s.index] for s in slots if s.index in self._read}
        leaving |= {n: -1 - number for number, n in enumerate(names) if n in self._named}
        parts = tuple(operands.fixed), inputs, tuple(writes), made, grads, tuple(leaving.values())
        name = self.constant(segment(run, *parts), "x")
        targets = "".join(f"{variable}, " for variable in leaving)
        counted = [(number, count) for number, count, _ in writes]
        told = f"{operands.names} {inputs} {counted} {[x[::2] for x in made]} {grads}"
        given = ", ".join(operands.variables)
        return f"{targets}{'= ' if targets else ''}{name}({given})  # {told}"


class Operands:
    """The tensors and arrays that a segment takes: those that stay, and those of each call."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fixed: list[Tensor | None] = []
        self.names: list[str] = []
        self.variables: list[str] = []

    def tensor(self, taken: Adopted) -> int:
        """The number of a tensor from outside."""
        name = self.plan.outside(taken)
        if taken.owner is not None or taken.place is not None:
            return self.given(name)
        return self._number(name, taken.tensor)

    def given(self, variable: str) -> int:
        """The number of what each call gives."""
        if variable not in self.names:
            self.variables.append(variable)
        return self._number(variable, None)

    def _number(self, name: str, fixed: Tensor | None) -> int:
        if name not in self.names:
            self.names.append(name)
            self.fixed.append(fixed)
        return self.names.index(name)


def _function(name: str, lines: list[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines if line)
    return f"def {name}(args, kwargs):\n{body}\n"


def extract(part: list[Instruction], inputs: list[Slot], outputs: list[Slot]) -> Program:
    """A program of its own: buffers and slots are numbered anew, in the order of their use."""
    program = Program()
    buffers: dict[int, Buffer] = {}
    slots: dict[int, Slot] = {}
    given = {slot.buffer.index for slot in inputs}

    def moved(value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([moved(item) for item in value])
        if kind is dict:
            return {name: moved(item) for name, item in value.items()}
        if kind is not Slot:
            return value
        old = value.buffer
        if old.index not in buffers:
            form: Any = "input" if old.index in given else old.kind
            buffers[old.index] = Buffer(len(buffers), old.nbytes, form, old.value)
            program.buffers.append(buffers[old.index])
        if value.index not in slots:
            facts = value.offset, value.shape, value.strides, value.dtype
            slots[value.index] = Slot(len(slots), buffers[old.index], *facts)
            program.slots.append(slots[value.index])
        return slots[value.index]

    program.inputs = moved(inputs)
    for x in part:
        operands, keywords, results = moved((x.operands, x.keywords, x.results))
        made = Instruction(x.op, operands, keywords, results, moved(x.target), x.site)
        program.instructions.append(made)
    program.outputs = moved(outputs)
    return program


def _buffers_used(part: Sequence[Instruction]) -> dict[int, None]:
    """The buffers that instructions name, in order."""
    values = [(x.operands, list(x.keywords.values()), x.target) for x in part]
    return {slot.buffer.index: None for slot in flat(values) if type(slot) is Slot}


def _paths(value: object, path: str) -> list[tuple[str, Tensor]]:
    """The tensors in what a call returned, and how to get at them."""
    if isinstance(value, Tensor):
        return [(path, value)]
    items: Any = enumerate(value) if isinstance(value, (tuple, list)) else ()
    if isinstance(value, dict):
        items = value.items()
    return [found for key, item in items for found in _paths(item, f"{path}[{key!r}]")]


def check_leaving(tensor: Tensor) -> None:
    """Raise where a tensor of the step cannot be made anew for somebody outside."""
    if type(tensor) is not Tensor or tensor.__dict__:
        raise Unbindable("a tensor of a class of its own, or with attributes, leaves the step")
    meta = tensor._meta
    if meta is not None and (meta.hooks or meta.grad is not None or meta.retains_grad):
        raise Unbindable("a tensor with hooks or a gradient leaves the step")
    if not tensor._requires_grad:
        return
    if tensor._view is not None or tensor._grad_fn is None:
        raise Unbindable("a view with a history, or a new leaf, leaves the step")
    nodes = [x for x in graph_behind(tensor._grad_fn) if not is_accumulator(x)]
    freed = next((x.freed for x in nodes if x.freed is not None), None)
    if freed is None:
        raise Unbindable("a graph leaves the step that backward() has not freed")
    for node in nodes:  # those of a call that retained the graph lead nowhere any more
        if node.freed is None:
            dressed(node).release(freed)


def graph_behind(root: Node) -> list[Node]:
    """All nodes that a node leads to, and itself."""
    found = {root: None}
    waiting = [root]
    while waiting:
        for node in waiting.pop().edges:
            if node is not None and node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


def same(first: Any, second: Any) -> bool:
    """Whether two recordings have the same value at one place."""
    if first is second:
        return True
    kind = type(first)
    if kind is not type(second):
        return False
    if kind in (tuple, list):
        return len(first) == len(second) and all(map(same, first, second))
    if kind is dict:
        return list(first) == list(second) and same([*first.values()], [*second.values()])
    if kind is FunctionType and first.__code__ is second.__code__:
        inside = [[x.cell_contents for x in f.__closure__ or ()] for f in (first, second)]
        return same([*inside[0], first.__defaults__], [*inside[1], second.__defaults__])
    if isinstance(first, float) and first != first:
        return bool(second != second)
    try:
        return bool(first == second)
    except Exception:
        return False


def _listing(program: Program) -> list[Any]:
    """All of a program, in values that `same` compares."""

    def listed(value: Any) -> Any:
        if type(value) in (tuple, list):
            return [listed(item) for item in value]
        if type(value) is dict:
            return {name: listed(item) for name, item in value.items()}
        return f"slot {value.index}" if type(value) is Slot else value

    buffers = [
        (x.nbytes, x.kind, None if x.value is None else x.value.tobytes()) for x in program.buffers
    ]
    slots = [(x.buffer.index, x.offset, x.shape, x.strides, x.dtype) for x in program.slots]
    parts = [
        (x.op, listed(x.operands), listed(x.keywords), listed(x.results), listed(x.target))
        for x in program.instructions
    ]
    return [buffers, slots, parts, listed(program.inputs), listed(program.outputs)]
