"""The line log: which line of the user's program made an autograd node, found afterwards.

Every node has a number from a counter of its thread. Nothing needs to touch the operations: the
tracer writes down the counter at each line of the user's own files, and the line of a node is found
by bisection when somebody asks. The whole call stack costs one integer: a *chain* stands for
(the chain of the caller, the line of the call, the code that was called).
"""

from __future__ import annotations

import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from retrograd.diagnostics.report import Place

LEAF = 1 << 62
"""Numbers from here on belong to the ends of the graph: they are not counted."""

MOST_ENTRIES = 500_000
"""Beyond this many entries the older half of a log is forgotten."""

MOST_EDGES = 200_000
"""Beyond this many jumps the older half is kept only as counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One frame of a stack: which chain, which activation of it, at which line."""

    chain: int
    activation: int
    line: int


@dataclass(slots=True)
class BackEdge:
    """A jump back to the head of a loop, or any line that runs again in one activation.

    `count` such jumps between which nothing was made and no backward was called are one.
    """

    number: int
    chain: int
    activation: int
    line: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Chain:
    """What a chain stands for."""

    parent: int
    parent_line: int
    code: CodeType


class Chains:
    """All chains of a program; shared by its threads."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[int, int, int], int] = {}
        self.known: list[Chain | None] = [None]

    def number(self, parent: int, line: int, code: CodeType) -> int:
        """The chain of a call."""
        key = (parent, line, id(code))  # code objects are slow to hash
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = len(self.known)
            self.known.append(Chain(parent, line, code))
        return found

    def files(self) -> list[str]:
        """The files whose lines have run, in that order."""
        return list(dict.fromkeys(c.code.co_filename for c in self.known if c is not None))

    def of(self, chain: int) -> Chain:
        """What a chain stands for."""
        found = self.known[chain]
        assert found is not None
        return found

    def file_of(self, chain: int) -> str:
        """The file of the innermost code of a chain."""
        return self.of(chain).code.co_filename

    def stack(self, chain: int, line: int) -> list[tuple[int, Place]]:
        """The chains and lines from the outermost frame to this one."""
        found = []
        while chain:
            known = self.of(chain)
            place = Place(known.code.co_filename, line, known.code.co_qualname)
            found.append((chain, place))
            chain, line = known.parent, known.parent_line
        return found[::-1]


class LineLog:
    """The log of one thread. Entry k: nodes numbered from numbers[k] on were made by sites[k]."""

    def __init__(self, chains: Chains, counter: Callable[[], int]) -> None:
        self.chains = chains
        self.counter = counter
        self.numbers: list[int] = []
        self.sites: list[tuple[int, int, int]] = []  # chain, line, activation
        self.edges: list[BackEdge] = []  # the newest ones; positions count from the very first
        self.sealed = 0  # a backward was called after so many
        self._dropped = 0
        self._dropped_turns: dict[tuple[int, int], int] = {}  # by activation and line
        self.live: dict[FrameType, list[int]] = {}  # frame -> [chain, activation, last line]
        self.activations = 0
        self.forgotten = 0  # nodes below this number have no entry any more
        self.ended = LEAF  # nodes from this number on have none either
        self.is_user_file: Callable[[str], bool] | None = None  # set where nothing is traced
        self.walks = False  # this thread has called backward

    def site_of(self, number: int) -> tuple[int, int, int] | None:
        """Chain, line and activation that made a node; None if it is not known."""
        if number >= self.ended or number < self.forgotten:
            return None
        position = bisect_right(self.numbers, number) - 1
        if position < 0 or not self.sites[position][0]:
            return None
        return self.sites[position]

    def made_between(self, start: int, end: int) -> Iterator[tuple[int, int, tuple[int, int, int]]]:
        """Runs of nodes from `start` to before `end`: first, one behind the last, their site."""
        first = bisect_right(self.numbers, start - 1)
        for position in range(first, len(self.numbers)):
            number = self.numbers[position]
            if number >= end:
                return
            behind = self.numbers[position + 1 : position + 2] or [end]
            yield number, min(behind[0], end), self.sites[position]

    def interrupt(self) -> None:
        """Nodes that are made from now on have no line here, until the next entry."""
        self.live.clear()
        number = self.counter()
        if self.numbers and self.numbers[-1] == number:
            self.sites[-1] = (0, 0, 0)
        else:
            self.numbers.append(number)
            self.sites.append((0, 0, 0))

    def end(self) -> None:
        """Nodes that are made from now on have no line here."""
        self.ended = self.counter()

    def stack_of(self, number: int) -> list[tuple[int, Place]]:
        """The user's stack that made a node, outermost first, each frame with its chain."""
        site = self.site_of(number)
        return [] if site is None else self.chains.stack(site[0], site[1])

    def here(self) -> list[Step]:
        """The user's stack now, outermost first."""
        frame: FrameType | None = sys._getframe(1)
        if self.is_user_file is not None:
            return self._untraced(frame, self.is_user_file)
        found = []
        while frame is not None:
            state = self.live.get(frame)
            if state is not None:
                found.append(Step(state[0], state[1], frame.f_lineno))
            frame = frame.f_back
        return found[::-1]

    def _untraced(self, frame: FrameType | None, is_user: Callable[[str], bool]) -> list[Step]:
        """The stack from the frames alone; an activation is then known by its frame."""
        frames = []
        while frame is not None:
            if is_user(frame.f_code.co_filename):
                frames.append(frame)
            frame = frame.f_back
        found: list[Step] = []
        for inner in reversed(frames):
            outer = found[-1] if found else Step(0, 0, 0)
            chain = self.chains.number(outer.chain, outer.line, inner.f_code)
            found.append(Step(chain, id(inner), inner.f_lineno))
        return found

    def place_of(self, stack: list[Step]) -> Place | None:
        """The innermost line of a stack."""
        if not stack:
            return None
        code = self.chains.of(stack[-1].chain).code
        return Place(code.co_filename, stack[-1].line, code.co_qualname)

    def places_of(self, stack: list[Step]) -> list[Place]:
        """All lines of a stack, outermost first."""
        if not stack:
            return []
        return [place for _, place in self.chains.stack(stack[-1].chain, stack[-1].line)]

    def forget_older_half(self) -> None:
        """Keep memory bounded in very long runs."""
        half = len(self.numbers) // 2
        self.forgotten = self.numbers[half]
        del self.numbers[:half], self.sites[:half]

    # -------------------------------------------------------------------- turns of loops

    def go_back(self, number: int, chain: int, activation: int, line: int) -> None:
        """A jump back to a line."""
        edges = self.edges
        if edges and self._dropped + len(edges) > self.sealed:
            last = edges[-1]
            if last.number == number and last.line == line and last.activation == activation:
                last.count += 1
                return
        edges.append(BackEdge(number, chain, activation, line))
        if len(edges) > MOST_EDGES:
            self._drop_older_edges()

    def seal(self) -> int:
        """The position in the jumps, now that a backward is called: later ones are later."""
        self.sealed = self._dropped + len(self.edges)
        return self.sealed

    def edges_between(self, first: int, second: int) -> list[BackEdge]:
        """The jumps between two positions, as far as they are remembered."""
        return self.edges[max(0, first - self._dropped) : max(0, second - self._dropped)]

    def position_at(self, number: int) -> int:
        """The position of the first jump at which nodes up to a number had been made."""
        for position, edge in enumerate(self.edges):
            if edge.number >= number:
                return self._dropped + position
        return self._dropped + len(self.edges)

    def turns_before(self, position: int, activation: int, line: int) -> int:
        """How often an activation has jumped back to a line before a position."""
        return self._dropped_turns.get((activation, line), 0) + sum(
            edge.count
            for edge in self.edges_between(0, position)
            if edge.activation == activation and edge.line == line
        )

    def _drop_older_edges(self) -> None:
        half = len(self.edges) // 2
        running = {state[1] for state in self.live.values()}
        turns = {key: n for key, n in self._dropped_turns.items() if key[0] in running}
        for edge in self.edges[:half]:
            if edge.activation in running:
                key = edge.activation, edge.line
                turns[key] = turns.get(key, 0) + edge.count
        self._dropped_turns = turns
        del self.edges[:half]
        self._dropped += half


_latest: weakref.ref[Tracer] | None = None


def latest_tracer() -> Tracer | None:
    """The tracer that was made last, as long as somebody keeps it: its log knows lines of nodes."""
    return None if _latest is None else _latest()


class Tracer:
    """Fills the logs of all threads through `sys.settrace`.

    `counter` gives the number of the next node of the calling thread; `is_user` says whether a
    file belongs to the user (asked once per file).
    """

    def __init__(self, counter: Callable[[], int], is_user: Callable[[str], bool]) -> None:
        self.chains = Chains()
        self.logs: dict[int, LineLog] = {}
        self._counter = counter
        self._is_user = is_user
        self._user: dict[str, bool] = {}
        self._library: set[str] = set()  # files that are not the user's
        self._local = threading.local()
        self._trace: Any = None
        self.running = False
        self.unseen: list[str] = []  # what could not be traced, and why
        self.at_thread_end: Callable[[FrameType], None] | None = None
        """Called as the outermost function of the user returns in another thread than the first."""
        global _latest
        _latest = weakref.ref(self)

    @property
    def log(self) -> LineLog:
        """The log of the calling thread."""
        found: LineLog | None = getattr(self._local, "log", None)
        if found is None:
            found = self._local.log = LineLog(self.chains, self._counter)
            self.logs[threading.get_ident()] = found
        return found

    def others_making(self) -> list[tuple[int, int]]:
        """The numbers of nodes that other threads have made so far, which run and never walk them.

        A node of such a number may be theirs: PyTorch counts in each thread, and a node does not
        tell its thread.
        """
        here = self.log
        return [
            (log.numbers[0], log.numbers[-1])
            for log in list(self.logs.values())
            if log is not here and log.live and not log.walks and log.numbers
            if log.numbers[-1] > log.numbers[0]
        ]

    def is_user_file(self, file: str) -> bool:
        """Whether a file belongs to the user's program."""
        found = self._user.get(file)
        if found is None:
            found = self._user[file] = self._is_user(file)
        return found

    def start(self, frame: FrameType | None = None) -> None:
        """Trace this thread and those that start from now on.

        The user's frames from `frame` outwards run already; they are traced too.
        """
        if sys.gettrace() is not None:
            # a debugger or coverage: it stays, and stacks are read from the frames alone
            self.unseen.append(
                "which lines made the values: another trace function is active "
                "(a debugger, coverage)"
            )
            self.log.is_user_file = self.is_user_file
            return
        self.running = True
        threading.settrace(self._trace_thread)
        self._trace = trace = self._make_trace()
        for running in self.user_frames(frame):
            running.f_trace = trace(running, "call", None)
        sys.settrace(trace)

    def pause(self) -> None:
        """Follow nothing for a while: this thread runs as if nobody watched."""
        if self.running and sys.gettrace() is self._trace:
            sys.settrace(None)
            self.log.interrupt()

    def resume(self, frame: FrameType | None) -> None:
        """Go on after `pause`; the user's frames from one outwards run already."""
        if self.running and sys.gettrace() is None:
            for running in self.user_frames(frame):
                running.f_trace = self._trace(running, "call", None)
            sys.settrace(self._trace)

    def user_frames(self, frame: FrameType | None) -> list[FrameType]:
        """The user's frames from one outwards, outermost first."""
        found = []
        while frame is not None:
            if self.is_user_file(frame.f_code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return found[::-1]

    def stop(self) -> None:
        """End tracing in this thread; others end with their next call."""
        if not self.running:
            return
        self.running = False
        if threading.gettrace() == self._trace_thread:
            threading.settrace(None)
        if sys.gettrace() is self._trace:
            sys.settrace(None)
        else:
            self.unseen.append(
                "lines that ran after the program had put a trace function of its own in place"
            )
        for frame in list(self.log.live):
            frame.f_trace = None
        self.log.end()

    def _trace_thread(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call in a new thread: give it a trace function of its own."""
        if not self.running:
            return None
        trace = self._make_trace()
        sys.settrace(trace)
        return trace(frame, event, arg)

    def _make_trace(self) -> Callable[[FrameType, str, Any], Any]:
        """The trace function of one thread. It runs at every line: everything is a local name."""
        log = self.log
        counter, live = log.counter, log.live
        numbers, sites = log.numbers, log.sites
        chains, user, library = self.chains, self._user, self._library
        is_user_file = self.is_user_file
        first = threading.current_thread() is threading.main_thread()

        def write(chain: int, line: int, activation: int) -> None:
            number = counter()
            if numbers and numbers[-1] == number:
                sites[-1] = (chain, line, activation)
            else:
                numbers.append(number)
                sites.append((chain, line, activation))

        def on_line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                state = live.get(frame)
                if state is None:
                    return on_line
                line = frame.f_lineno
                number = counter()
                if numbers and numbers[-1] == number:
                    sites[-1] = (state[0], line, state[1])
                else:
                    numbers.append(number)
                    sites.append((state[0], line, state[1]))
                    if len(numbers) > MOST_ENTRIES:
                        log.forget_older_half()
                if line <= state[2]:
                    log.go_back(number, state[0], state[1], line)
                state[2] = line
            elif event == "return":
                # The caller's line goes on making nodes: f(x) + g(y).
                live.pop(frame, None)
                outer = frame.f_back
                while outer is not None and outer not in live:
                    outer = outer.f_back
                if outer is not None:
                    state = live[outer]
                    write(state[0], outer.f_lineno, state[1])
                elif not first and self.at_thread_end is not None:
                    self.at_thread_end(frame)
            return on_line

        def on_call(frame: FrameType, event: str, arg: Any) -> Any:
            file = frame.f_code.co_filename
            if file in library:  # nearly all calls
                return None
            if not user.get(file) and not is_user_file(file):
                library.add(file)
                return None
            code = frame.f_code
            outer = frame.f_back
            while outer is not None and outer not in live:
                outer = outer.f_back
            if outer is None:
                chain = chains.number(0, 0, code)
            else:
                chain = chains.number(live[outer][0], outer.f_lineno, code)
            log.activations += 1
            live[frame] = [chain, log.activations, frame.f_lineno]
            return on_line

        return on_call
