"""A table of a model's layers: shapes, parameters, and the memory that backward needs.

>>> import retrograd as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
>>> print(torch.summary(model, (2, 4)))
layer     class       output  parameters  saved
model     Sequential  [2, 8]           0    0 B
model[0]  Linear      [2, 8]          40   32 B
model[1]  Tanh        [2, 8]           0   64 B
<BLANKLINE>
parameters: 40 (40 trainable), 160 B
saved for backward: 96 B of activations
"""

from __future__ import annotations

import copy
import json
import random
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.dtypes import dtype as DType
from retrograd.engine.grad_mode import enable_grad, inference_mode
from retrograd.engine.state import next_sequence
from retrograd.lifecycle.layers import step
from retrograd.model_summary.saved_memory import graph_nodes, saved_arrays
from retrograd.nn.module import Module
from retrograd.nn.module_hooks import register_module_forward_hook, register_module_forward_pre_hook
from retrograd.nn.parameter import is_lazy
from retrograd.ops.making.creation import zeros
from retrograd.ops.making.memory import owner_of
from retrograd.random import get_rng_state, set_rng_state
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_NARROW = 72
_WIDTH = 100


@dataclass
class Row:
    """One layer. Sizes are its own, without those of the layers inside it, so columns add up."""

    path: str
    """How the program reaches the layer, such as ``model.layers[2]``."""
    kind: str
    """The name of its class."""
    depth: int
    """How many layers it is inside of."""
    output: object = None
    """Shapes of what the first call returned, in the same tuples and dictionaries."""
    parameters: int = 0
    trainable: int = 0
    saved_bytes: int = 0
    """Memory that is kept for backward only: inputs, results, masks."""
    saved_parameter_bytes: int = 0
    """Memory of parameters and buffers that the graph refers to, which is there anyway."""
    calls: int = 0
    also: tuple[str, ...] = ()
    """Other paths to the same layer."""

    @property
    def short_path(self) -> str:
        """The last part of the path, from the layer around it."""
        found = re.search(r"(\.\w+|\[[^]]*\]|\.get_submodule\(.*\))$", self.path)
        return found.group() if found is not None and self.depth else self.path


@dataclass
class Summary:
    """What `summary` found: rows and totals. `str()` is the table as plain text."""

    rows: list[Row]
    was_run: bool
    total_parameters: int = 0
    trainable_parameters: int = 0
    parameter_bytes: int = 0
    saved_bytes: int = 0
    saved_parameter_bytes: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self, indent: int | None = None) -> str:
        """Everything as JSON text."""
        return json.dumps(asdict(self), indent=indent)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int = _WIDTH) -> str:
        """The table as plain text, at most `width` columns wide."""
        from rich.console import Console

        written = StringIO()
        console = Console(file=written, width=width, color_system=None, force_terminal=False)
        console.print(self)
        lines = [line.rstrip() for line in written.getvalue().splitlines()]
        return "\n".join(lines)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.table import Table
        from rich.text import Text

        narrow = options.max_width < _NARROW
        # Long paths are shortened to their last part; how far it is moved in tells the rest.
        short = narrow or max(len(row.path) for row in self.rows) > options.max_width // 2
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("layer", overflow="fold")
        if not narrow:
            table.add_column("class", overflow="fold")
        if self.was_run:
            table.add_column("output", overflow="fold")
        table.add_column("parameters", justify="right", no_wrap=True)
        if self.was_run:
            table.add_column("saved", justify="right", no_wrap=True)
        for row in self.rows:
            indent = " " * row.depth if short else ""
            name = Text(indent + (row.short_path if short else row.path))
            kind = row.kind if row.calls < 2 else f"{row.kind} x{row.calls}"
            cells: list[Any] = [name]
            if narrow:
                name.append(f"\n{indent} {kind}", style="dim")
            else:
                cells.append(kind)
            for path in row.also:
                name.append(f"\n{indent} also {path}", style="dim")
            cells += self._figures(row)
            table.add_row(*cells)
        yield table
        yield Text("")
        yield from (Text(line) for line in self._totals())

    def _figures(self, row: Row) -> list[str]:
        count = f"{row.parameters:,}"
        if row.parameters != row.trainable:
            count += " frozen" if not row.trainable else f", {row.trainable:,} trained"
        if not self.was_run:
            return [count]
        # Brackets mean markup to rich, unless a backslash is before them.
        output = shape_text(row.output).replace("[", "\\[") if row.calls else "(not called)"
        return [output, count, size_text(row.saved_bytes)]

    def _totals(self) -> Iterator[str]:
        yield (
            f"parameters: {self.total_parameters:,} ({self.trainable_parameters:,} trainable), "
            f"{size_text(self.parameter_bytes)}"
        )
        if self.was_run:
            yield f"saved for backward: {size_text(self.saved_bytes)} of activations"
            if self.saved_parameter_bytes:
                kept = size_text(self.saved_parameter_bytes)
                yield f"and {kept} of parameters and buffers, which are there anyway"
        yield from self.notes


def summary(
    model: Module,
    *inputs: object,
    dtype: DType | None = None,
    name: str = "model",
    **kwargs: object,
) -> Summary:
    """Call a model once and tell for each layer what it returns, has, and saves for backward.

    inputs  what the model is called with; a tuple of numbers is the shape of a tensor of zeros, and
            a list as the only one stands for its items. Without any, the model is not called.
    dtype   of tensors made from shapes; that of the first parameter if not given
    name    how paths begin
    kwargs  keyword arguments of the call

    The model stays as it is: its mode, its buffers (those of BatchNorm too), attributes, hooks, and
    the states of the random number generators.
    """
    if any(is_lazy(parameter) for parameter in model.parameters()) and (inputs or kwargs):
        model = copy.deepcopy(model)  # whose parameters the call will make
    paths = _paths(model, name)
    calls = _Calls(paths)
    result: object = None
    with ExitStack() as stack:
        if inputs or kwargs:
            stack.enter_context(_unchanged(model))
            stack.enter_context(inference_mode(False))
            stack.enter_context(enable_grad())
            given = _tensors(model, inputs, dtype)
            state = _owners([*_all(model.modules(), "_buffers")])
            with calls.watching():
                result = model(*given, **kwargs)
            # a forward may have put new tensors in the place of buffers
            state |= _owners([*_all(model.modules(), "_parameters")])
            state |= _owners([*_all(model.modules(), "_buffers")])
        rows = _rows(paths, calls)
        found = Summary(list(rows.values()), bool(inputs or kwargs))
        if found.was_run:
            sizes = {id(owner_of(t._array)): t._array.nbytes for t in _leaves((given, kwargs))}
            _measure(found, rows, calls, _leaves(result), state, sizes)
    _count_parameters(found, rows, paths)
    return found


# --- rows -----------------------------------------------------------------------------------------


def _paths(model: Module, name: str) -> dict[int, tuple[Module, list[str], int]]:
    """Every module with its paths, the first one met first, and its depth."""
    found: dict[int, tuple[Module, list[str], int]] = {}

    def visit(module: Module, path: str, depth: int) -> None:
        known = found.get(id(module))
        if known is not None:
            known[1].append(path)
            return
        found[id(module)] = (module, [path], depth)
        for part, child in module._modules.items():
            if child is not None:
                visit(child, path + step(module, part), depth + 1)

    visit(model, name, 0)
    return found


def _rows(paths: dict[int, tuple[Module, list[str], int]], calls: _Calls) -> dict[int, Row]:
    return {
        key: Row(
            every[0],
            type(module).__name__,
            depth,
            calls.outputs.get(key),
            calls=calls.counts.get(key, 0),
            also=tuple(every[1:]),
        )
        for key, (module, every, depth) in paths.items()
    }


def _count_parameters(
    found: Summary, rows: dict[int, Row], paths: dict[int, tuple[Module, list[str], int]]
) -> None:
    """Parameters at the layer that has them; one that several have, at the first."""
    seen: set[int] = set()
    shared = lazy = False
    for key, (module, _, _) in paths.items():
        for parameter in module._parameters.values():
            if parameter is None:
                continue
            if id(parameter) in seen:
                shared = True
                continue
            seen.add(id(parameter))
            if is_lazy(parameter):
                lazy = True
                continue
            rows[key].parameters += parameter.numel()
            rows[key].trainable += parameter.numel() if parameter.requires_grad else 0
            found.parameter_bytes += parameter._array.nbytes
    found.total_parameters = sum(row.parameters for row in rows.values())
    found.trainable_parameters = sum(row.trainable for row in rows.values())
    if shared:
        found.notes.append("parameters of several layers are counted at the first one")
    if lazy:
        found.notes.append("parameters that have no shape yet are not counted")


# --- the call -------------------------------------------------------------------------------------


class _Calls:
    """What happened in one call of a model: outputs, and when which layer ran."""

    def __init__(self, paths: dict[int, tuple[Module, list[str], int]]) -> None:
        self.outputs: dict[int, object] = {}
        self.counts: dict[int, int] = {}
        # From each of these sequence numbers on, nodes belong to the layer beside it.
        self._starts: list[int] = [0]
        self._layers: list[int | None] = [None]
        self._running: list[int | None] = [None]
        self._paths = paths
        self._thread = threading.get_ident()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the calls of modules in this thread, by hooks of all modules for a while."""
        handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: object, args: tuple[object, ...]) -> None:
        if id(module) in self._paths and threading.get_ident() == self._thread:
            self._running.append(id(module))
            self._switch()

    def _leave(self, module: object, args: tuple[object, ...], output: object) -> None:
        key = id(module)
        if key in self._paths and threading.get_ident() == self._thread:
            while self._running.pop() != key:
                pass  # calls inside that ended with an error
            self._switch()
            self.counts[key] = self.counts.get(key, 0) + 1
            self.outputs.setdefault(key, _shapes(output))

    def _switch(self) -> None:
        self._starts.append(next_sequence())
        self._layers.append(self._running[-1])

    def layer_at(self, sequence: int) -> int | None:
        """The layer that ran when a node was made."""
        return self._layers[bisect_right(self._starts, sequence) - 1]


@contextmanager
def _unchanged(model: Module) -> Iterator[None]:
    """Leave modules and random numbers as they are, whatever the calls inside do.

    Calls get copies of the buffers, so not even the version of the real ones moves.
    """
    modules = list(model.modules())
    before = [dict(module.__dict__) for module in modules]
    tables = [[dict(own[name]) for name in _TABLES] for own in before]
    copies: dict[int, Tensor] = {}
    for module in modules:
        _put_copies(module._buffers, copies)
        if getattr(module, "max_norm", None) is not None:  # an embedding that shortens its rows
            _put_copies(module._parameters, copies)
    numbers = get_rng_state(), random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        for module, own, held in zip(modules, before, tables, strict=True):
            module.__dict__.clear()
            module.__dict__.update(own)
            for name, table in zip(_TABLES, held, strict=True):
                own[name].clear()
                own[name].update(table)
        set_rng_state(numbers[0])
        random.setstate(numbers[1])
        np.random.set_state(numbers[2])


_TABLES = ("_parameters", "_buffers", "_modules")


def _put_copies(table: dict[str, Any], copies: dict[int, Tensor]) -> None:
    for name, tensor in table.items():
        if tensor is not None:
            if id(tensor) not in copies:
                copies[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
            table[name] = copies[id(tensor)]


def _tensors(model: Module, inputs: tuple[object, ...], dtype: DType | None) -> list[Any]:
    """The inputs, with tensors in the place of shapes."""
    given: list[Any] = list(inputs)
    if len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    if dtype is None:
        floats = (p.dtype for p in model.parameters() if not is_lazy(p) and p.is_floating_point())
        dtype = next(floats, None)
    return [zeros(tuple(item), dtype=dtype) if _is_shape(item) else item for item in given]


def _is_shape(value: object) -> bool:
    return isinstance(value, tuple) and all(type(size) is int for size in value)


# --- memory ---------------------------------------------------------------------------------------


def _measure(
    found: Summary,
    rows: dict[int, Row],
    calls: _Calls,
    results: list[Tensor],
    state: dict[int, object],
    inputs: dict[int, int],
) -> None:
    """Add the bytes that the results keep for backward to the rows whose layers saved them.

    state   arrays of parameters and buffers, by identity
    inputs  bytes of the model's inputs, by the identity of their memory: they may be small parts of
            something large that is there anyway
    """
    seen: dict[int, object] = {}
    beside = 0
    for node in graph_nodes([result._grad_fn for result in results]):
        key = calls.layer_at(node.sequence)
        for array in saved_arrays(node):
            owner = owner_of(array)
            if id(owner) in seen:
                continue
            seen[id(owner)] = owner
            if id(owner) in state:
                found.saved_parameter_bytes += array.nbytes
                if key is not None:
                    rows[key].saved_parameter_bytes += array.nbytes
                continue
            size = inputs.get(id(owner), owner.nbytes)
            found.saved_bytes += size
            if key is None:
                beside += size
            else:
                rows[key].saved_bytes += size
    if beside:
        found.notes.append(f"{size_text(beside)} of it was saved outside of the layers")


def _owners(tensors: list[Tensor]) -> dict[int, object]:
    owners = [owner_of(t._array) for t in tensors if not is_lazy(t)]
    return {id(owner): owner for owner in owners}


def _all(modules: Iterator[Module], table: str) -> Iterator[Tensor]:
    for module in modules:
        yield from (t for t in module.__dict__[table].values() if t is not None)


# --- results of any form --------------------------------------------------------------------------


def _leaves(value: object) -> list[Tensor]:
    """The tensors in tuples, lists, dictionaries and data classes."""
    if isinstance(value, Tensor):
        return [value]
    return [tensor for item in _items(value) for tensor in _leaves(item)]


def _items(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if hasattr(type(value), "__dataclass_fields__"):
        return [getattr(value, name) for name in type(value).__dataclass_fields__]
    return []


def _shapes(value: object) -> object:
    """Shapes in place of tensors, in the same tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        return list(value._array.shape)
    if isinstance(value, dict):
        return {str(key): _shapes(item) for key, item in value.items()}
    if isinstance(value, tuple | list) or _items(value):
        return tuple(_shapes(item) for item in _items(value))
    return None if value is None else type(value).__name__


def shape_text(shapes: object) -> str:
    """Shapes as one line.

    >>> shape_text(([2, 3], {"state": [4]}, None))
    '([2, 3], state: [4], None)'
    """
    if isinstance(shapes, dict):
        return ", ".join(f"{key}: {shape_text(item)}" for key, item in shapes.items())
    if isinstance(shapes, tuple):
        return "(" + ", ".join(shape_text(item) for item in shapes) + ")"
    return str(shapes)


_UNITS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("GiB", lambda count: count / 2**30),
    ("MiB", lambda count: count / 2**20),
    ("KiB", lambda count: count / 2**10),
)


def size_text(count: int) -> str:
    """A number of bytes, short.

    >>> size_text(96), size_text(1536)
    ('96 B', '1.5 KiB')
    """
    for unit, convert in _UNITS:
        if convert(count) >= 1:
            return f"{convert(count):.1f} {unit}"
    return f"{count} B"
