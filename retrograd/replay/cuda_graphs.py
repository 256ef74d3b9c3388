"""CUDA graphs: the work of some lines, recorded once, and launched again as one.

While a graph is captured, kernels are noted down and not run, in memory of a pool that the graph
keeps. Random numbers come from an offset that each replay sets: they go on as in eager code.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias, TypeVar

from retrograd.backend.cuda import cuda_backend, why_missing
from retrograd.backend.cuda.launch import Source, launch
from retrograd.notices import explained, runtime_error
from retrograd.random.cuda import CudaGenerator
from retrograd.random.philox import Position

Handle: TypeAlias = tuple[int, int]

_PHILOX = Source("philox")
_numbers = itertools.count(1)
_POOLS: weakref.WeakValueDictionary[Handle, Pool] = weakref.WeakValueDictionary()
_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}


class Pool:
    """Memory that graphs share: blocks stay where they are while a graph may write them."""

    def __init__(self, backend: Any, handle: Handle) -> None:
        self.handle = handle
        self.memory = backend.cupy.cuda.MemoryPool()
        weakref.finalize(self, _let_go, self.memory, backend.unseen).atexit = False
        _POOLS[handle] = self


def _let_go(pool: Any, unseen: list[Callable[[int], None]]) -> None:
    """Tell what is in use in a pool that ends: CuPy frees it later, and tells no hook of it."""
    for tell in unseen:
        tell(pool.used_bytes())


def _cupy() -> Any:
    backend = cuda_backend()
    if backend is None:
        missing = why_missing()
        assert missing is not None
        raise explained(missing.error(), code="RG302")
    return backend.cupy


def graph_pool_handle() -> Handle:
    """A name for memory that several graphs may share: an argument for `graph`."""
    return (0, next(_numbers))


def is_current_stream_capturing() -> bool:
    """Whether the work of the current stream is being recorded into a graph."""
    return bool(_cupy().cuda.get_current_stream().is_capturing())


class _Numbers:
    """What a graph knows of a generator: how far it moves, and where in memory the seed is."""

    def __init__(self, generator: CudaGenerator, cupy: Any) -> None:
        self.generator = generator
        self.increment = 0
        self.place = cupy.zeros(2, cupy.uint64)  # the seed, and what is added to the offset

    def begin(self) -> None:
        self.increment = 0
        self.generator.recorder = self

    def take(self, generator: CudaGenerator, increment: int) -> Position:
        """Where a launch in the graph reads: so far behind the offset of a replay."""
        begin = self.increment
        self.increment += increment
        return Position(0, begin, generator.grid, self.place.data.ptr)

    def end(self) -> None:
        self.generator.recorder = None

    def go_on(self) -> None:
        """Before a replay: the numbers of this one, and the generator beyond them."""
        if self.increment:
            at = self.generator.take(self.increment)
            signed = [(x + 2**63) % 2**64 - 2**63 for x in (at.seed, at.offset)]
            launch(_PHILOX.put_position, 1, (self.place.data.ptr, *signed), 1)


class CUDAGraph:
    """Work of the device that was recorded, and can be launched again.

    keep_graph  accepted: the recording is kept in any case
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._cupy = _cupy()
        self._backend: Any = cuda_backend()
        self._graph: Any = None
        self._pool: Pool | None = None
        self._numbers: list[_Numbers] = []
        self.before: list[Callable[[], None]] = []  # what each replay does first
        self._begun: Any = None
        self._debug = False

    def register_generator_state(self, generator: CudaGenerator) -> None:
        """Let the graph draw from a generator other than the device's default one."""
        if all(numbers.generator is not generator for numbers in self._numbers):
            self._numbers.append(_Numbers(generator, self._cupy))

    def capture_begin(self, pool: Handle | None = None, capture_error_mode: str = "global") -> None:
        """Record the current stream's work from here on; it must not be the default stream."""
        if self._graph is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, "
                "create a new instance."
            )
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        stream = self._cupy.cuda.get_current_stream()
        if stream.ptr == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        handle = graph_pool_handle() if pool is None else pool
        self._pool = _POOLS.get(handle) or Pool(self._backend, handle)
        self.register_generator_state(CudaGenerator.default())
        if self._backend.blas is not None and self._backend.blas.usable():
            self._backend.blas.handle()  # it cannot be made while a stream is captured
        self._begun = self._capturing(stream)
        self._begun.__enter__()

    @contextmanager
    def _capturing(self, stream: Any) -> Iterator[None]:
        assert self._pool is not None
        with self._cupy.cuda.using_allocator(self._pool.memory.malloc):
            for numbers in self._numbers:
                numbers.begin()
            # memory may be asked of the driver meanwhile, so the mode has to be the relaxed one
            stream.begin_capture(self._cupy.cuda.runtime.streamCaptureModeRelaxed)
            self._backend.recording = self
            try:
                yield
            finally:
                self._backend.recording = None
                for numbers in self._numbers:
                    numbers.end()
                self._graph = stream.end_capture()

    def capture_end(self) -> None:
        """End the recording."""
        begun, self._begun = self._begun, None
        if begun is None:
            raise _accelerator_error("the operation cannot be performed in the present state")
        begun.__exit__(None, None, None)
        self._numbers = [numbers for numbers in self._numbers if numbers.increment]

    def memory(self, count: int) -> Any:
        """Memory for numbers that a replay sets first; for those who record.

        It is none of the graph's own: there an earlier part of the graph would write it again.
        """
        with self._cupy.cuda.using_allocator(self._cupy.get_default_memory_pool().malloc):
            return self._cupy.ndarray((count,), self._cupy.float64)

    def replay(self) -> None:
        """Launch the recorded work on the current stream."""
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        for numbers in self._numbers:
            numbers.go_on()
        for function in self.before:
            function()
        self._graph.launch(self._cupy.cuda.get_current_stream())

    def reset(self) -> None:
        """Forget the recording, and its memory where no other graph shares it."""
        self._graph = self._pool = None
        self._numbers, self.before = [], []

    def pool(self) -> Handle:
        """The name of the graph's memory, for a graph that may use the same."""
        if self._graph is None or self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool.handle

    def enable_debug_mode(self) -> None:
        """Let `debug_dump` write."""
        self._debug = True

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph as a drawing in the language of Graphviz."""
        if self._graph is None or not self._debug:
            return
        with open(debug_path, "w", encoding="utf-8") as file:
            file.write(self._graph.debug_dot_str(0))


def _accelerator_error(text: str) -> Exception:
    return runtime_error(f"CUDA error: {text}", code="RG302")


class graph:
    """The lines that a `CUDAGraph` records.

    stream  where they are recorded; by default one of the class
    """

    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: Handle | None = None,
        stream: Any = None,
        capture_error_mode: str = "global",
    ) -> None:
        cupy = _cupy()
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = cupy.cuda.Stream(non_blocking=True)
            stream = graph.default_capture_stream
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_stream = stream
        self.capture_error_mode = capture_error_mode
        self._cupy = cupy
        self._stream = cupy_stream(stream)

    def __enter__(self) -> None:
        self._cupy.cuda.runtime.deviceSynchronize()
        gc.collect()
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._stream.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self._stream.__exit__(None, None, None)
            raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        try:
            self.cuda_graph.capture_end()
        except Exception as ending:
            if error is None:
                raise _accelerator_error(str(ending)) from ending
            # what ended the recording is the error that is on its way
        finally:
            self._stream.__exit__(None, None, None)


def cupy_stream(stream: Any) -> Any:
    """CuPy's stream behind a stream of `torch.cuda`."""
    return getattr(stream, "_stream", stream)


# ------------------------------------------------------------------------ graphed callables


_Callables = TypeVar("_Callables")  # a module, a function, or a tuple of them


def make_graphed_callables(
    callables: _Callables,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Handle | None = None,
) -> _Callables:
    """Modules and functions whose forward and backward work is launched from graphs.

    sample_args  for each a tuple of tensors like those of the calls to come; what requires a
                 gradient there gets one later
    """
    from retrograd.replay.graphed import Graphed

    single = not isinstance(callables, tuple)
    chosen: Any = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    shared = graph_pool_handle() if pool is None else pool
    made = [
        Graphed(c, s, num_warmup_iters, allow_unused_input)
        for c, s in zip(chosen, samples, strict=True)
    ]
    # forward passes in the order of the calls, backward passes in the reverse order, so that they
    # can share memory as they do in eager code
    for one in made:
        one.capture_forward(shared)
    for one in reversed(made):
        one.capture_backward(shared)
    found = [one.published() for one in made]
    result: Any = found[0] if single else tuple(found)
    published: _Callables = result
    return published
