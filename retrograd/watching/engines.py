"""The library that is watched: where its counter and its one way into the backward engine are."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from retrograd.watching.torch_types import TensorLike

Original = Callable[[], object]
Watcher = Callable[[Sequence[Any], bool, bool, Sequence[Any], bool, Original], object]
"""Called as (outputs, retain, create, inputs, accumulates, run) around each backward call."""


class Engine(Protocol):
    """What the recorder needs of PyTorch or retrograd."""

    torch: Any  # the module
    name: str  # "torch" or "retrograd"

    def counter(self) -> int:
        """The number that the next node of this thread will have."""

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Put `watcher` around every backward call; the result takes it away again."""


class TorchEngine:
    """Real PyTorch."""

    name = "torch"

    def __init__(self) -> None:
        # by name: type checkers run where PyTorch is not installed
        self.torch: Any = importlib.import_module("torch")
        self.counter: Callable[[], int] = self.torch._C._autograd._get_sequence_nr

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """`Tensor.backward`, `autograd.backward`, `autograd.grad` and checkpoints all go here."""
        autograd = self.torch.autograd
        original = autograd._engine_run_backward

        def run(t_outputs: object, *args: Any, **keywords: object) -> object:
            # args: grad_tensors, retain_graph, create_graph, inputs, allow_unreachable
            outputs = t_outputs if isinstance(t_outputs, (tuple, list)) else [t_outputs]
            inputs = args[3] if len(args) > 3 and args[3] else ()
            accumulates = bool(keywords.get("accumulate_grad", True))
            return watcher(
                *(outputs, bool(args[1]), bool(args[2]), inputs, accumulates),
                lambda: original(t_outputs, *args, **keywords),
            )

        autograd._engine_run_backward = run
        autograd.graph._engine_run_backward = run

        def undo() -> None:
            autograd._engine_run_backward = original
            autograd.graph._engine_run_backward = original

        return undo


class RetrogradEngine:
    """retrograd itself. Its counter is one for all threads, and its calls draw from it too."""

    name = "retrograd"

    def __init__(self) -> None:
        import retrograd
        from retrograd.engine.state import upcoming_sequence

        self.torch: Any = retrograd
        self.counter: Callable[[], int] = upcoming_sequence
        self.let_go: Callable[[Sequence[Any]], None] | None = None
        """Called with the roots of a call that has kept the graph without its values."""
        self._asked = _Asked()

    @property
    def retain(self) -> object:
        """`retain_graph` of the call of this thread, where it is not a truth value."""
        return self._asked.retain

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """`backward` and `grad` turn roots and inputs into edges, then run the engine with them.

        The functions that do so are replaced, so that calls nobody watches pay nothing.
        """
        import retrograd.autograd.api as module
        from retrograd.engine.growth import DUE
        from retrograd.engine.walk import COMPILED

        api: Any = module
        take_back = COMPILED.put_aside()
        DUE.paused += 1  # who watches tells what grows
        names = ("_root_edges", "_filled_edge", "_captured_edge", "run_backward", "retaining")
        originals = {name: getattr(api, name) for name in names}
        asked = _Asked()  # of this watcher: another may be around it, or inside

        def root_edges(roots: Any, gradients: object) -> object:
            asked.roots, asked.inputs = roots, []
            try:
                return originals["_root_edges"](roots, gradients)
            except Exception as error:
                # PyTorch finds this inside its engine
                accumulates = sys._getframe(1).f_code.co_name == "backward"
                return watcher(roots, False, False, (), accumulates, _raising(error))

        def edge(name: str) -> Callable[[Any], object]:
            def found(target: TensorLike) -> Any:
                asked.inputs.append(target)
                return originals[name](target)

            return found

        def run_backward(edges: object, gradients: object, call: Any, wanted: object) -> object:
            def run() -> object:
                return originals["run_backward"](edges, gradients, call, wanted)

            accumulates = call.kind == "backward"
            modes = call.retain_graph, call.create_graph
            roots, inputs = asked.roots, asked.inputs
            asked.roots, asked.inputs = (), []  # nothing is held longer than without a watcher
            return watcher(roots, *modes, inputs, accumulates, run)

        def retaining(call: Any, retain: object, nodes: Any, run: Original) -> object:
            nodes, self._asked.retain = tuple(nodes), retain
            try:
                found = originals["retaining"](call, retain, nodes, run)
            finally:
                self._asked.retain = None
            if isinstance(retain, str) and self.let_go is not None:
                self.let_go(nodes)
            return found

        api.retaining = retaining
        api._root_edges = root_edges
        api._filled_edge, api._captured_edge = edge("_filled_edge"), edge("_captured_edge")
        api.run_backward = run_backward

        def undo() -> None:
            for name, original in originals.items():
                setattr(api, name, original)
            take_back()
            DUE.paused -= 1

        return undo


def choose_engine(name: str | None) -> Engine:
    """The engine of a name, "torch" or "retrograd"; by default PyTorch if it has been imported."""
    if name not in (None, "torch", "retrograd"):
        raise ValueError(f"engine must be 'torch' or 'retrograd', not {name!r}")
    real = "torch" in sys.modules and sys.modules["torch"] is not sys.modules["retrograd"]
    wanted = name or ("torch" if real else "retrograd")
    return TorchEngine() if wanted == "torch" else RetrogradEngine()


class _Asked(threading.local):
    """What the call of this thread is about."""

    roots: Sequence[Any] = ()
    retain: object = None

    def __init__(self) -> None:
        self.inputs: list[TensorLike] = []


def _raising(error: Exception) -> Original:
    def run() -> object:
        raise error

    return run
