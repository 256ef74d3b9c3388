"""The library that is watched: where its counter and its one way into the backward engine are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Original = Callable[[], Any]
Watcher = Callable[[Sequence[Any], bool, bool, Sequence[Any], bool, Original], Any]
"""Called as (outputs, retain, create, inputs, accumulates, run) around each backward call."""


class Engine(Protocol):
    """What the recorder needs of PyTorch or retrograd."""

    torch: Any  # the module

    def counter(self) -> int:
        """The number that the next node of this thread will have."""

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Put `watcher` around every backward call; the result takes it away again."""


class TorchEngine:
    """Real PyTorch."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        self.counter: Callable[[], int] = torch._C._autograd._get_sequence_nr

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """`Tensor.backward`, `autograd.backward`, `autograd.grad` and checkpoints all go here."""
        autograd = self.torch.autograd
        original = autograd._engine_run_backward

        def run(t_outputs: Any, *args: Any, **keywords: Any) -> Any:
            # args: grad_tensors, retain_graph, create_graph, inputs, allow_unreachable
            outputs = t_outputs if isinstance(t_outputs, (tuple, list)) else [t_outputs]
            inputs = args[3] if len(args) > 3 and args[3] else ()
            accumulates = keywords.get("accumulate_grad", True)
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

    def __init__(self) -> None:
        import retrograd
        from retrograd.autograd.state import last_sequence

        self.torch: Any = retrograd
        self.counter: Callable[[], int] = last_sequence

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """`backward` and `grad` both hand the engine their edges in `api`."""
        raise NotImplementedError
