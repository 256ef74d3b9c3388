"""A progress bar for training loops that shows losses without keeping their graphs.

>>> import retrograd as torch
>>> bar = torch.progress(range(3), description="train")
>>> for step in bar:
...     bar.set(loss=torch.tensor(1.0) / (step + 1))
>>> bar.text(80)
'train ... 3/3 100% ... loss 0.3333'
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TextIO, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from retrograd.tensor import Tensor

Item = TypeVar("Item")

DRAW_EVERY = 0.1
"""Seconds between two drawings on a terminal, at least."""
PRINT_EVERY = 10.0
"""Seconds between two lines in a file or pipe, at least."""

_NARROWEST_BAR = 10


def _now() -> float:
    return time.monotonic()


def progress(
    iterable: Iterable[Item],
    total: int | None = None,
    description: str = "",
    *,
    show: bool | None = None,
    file: TextIO | None = None,
) -> Progress[Item]:
    """Go through an iterable and show how far it is, how fast, how long it will take, and values.

    total        how many steps there are, if `len(iterable)` does not tell
    description  what the line begins with
    show         on terminals and in notebooks if not given; with True, a file or pipe gets a line
                 now and then too; with False, nothing is shown
    file         where to; the standard error stream if not given

    Loops may be nested: each has a line of its own until it ends. The items are not touched.

    >>> [x for x in torch.progress([1, 2], show=False)]
    [1, 2]
    """
    return Progress(iterable, total, description, show=show, file=file)


class Progress(Generic[Item]):
    """An iterable that shows how far it is; made by `progress`."""

    def __init__(
        self,
        iterable: Iterable[Item],
        total: int | None = None,
        description: str = "",
        *,
        show: bool | None = None,
        file: TextIO | None = None,
    ) -> None:
        if not hasattr(type(iterable), "__iter__") and not hasattr(type(iterable), "__getitem__"):
            raise TypeError(f"'{type(iterable).__name__}' object is not iterable")
        self.iterable = iterable
        self.total = _length(iterable) if total is None else total
        self.description = description
        self.steps = 0
        self._show = show
        self._file = file
        self._values: dict[str, object] = {}
        self._started = self._stepped = self._stopped = _now()
        self._running = 0

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError(f"object of type '{type(self.iterable).__name__}' has no len()")
        return self.total

    def __iter__(self) -> Iterator[Item]:
        # A loop that ends by `break` or an error lets go of this generator, which then ends too.
        self.steps = 0
        self._started = self._stepped = _now()
        self._running += 1
        screen = _SCREENS.screen(self._file, self._show)
        screen.add(self)
        try:
            for item in self.iterable:
                yield item
                self.steps += 1
                self._stepped = _now()
                screen.update(self._stepped)
        finally:
            self._running -= 1
            self._stopped = _now()
            screen.remove(self)

    # ------------------------------------------------------------------ values

    def set(self, **values: object) -> None:
        """Show these values, each a tensor with one element, a number, or anything with a text.

        Of a tensor only the number is kept, never its graph. It is read when it is shown.
        """
        for name, value in values.items():
            self._values[name] = _without_graph(name, value)

    def show(self, **values: object) -> None:
        """The same as `set`."""
        self.set(**values)

    @property
    def values(self) -> dict[str, object]:
        """The values that are shown, numbers as Python numbers.

        >>> bar = torch.progress([])
        >>> bar.set(loss=torch.tensor(0.5), epoch=3)
        >>> bar.values
        {'loss': 0.5, 'epoch': 3}
        """
        for name, value in self._values.items():
            if hasattr(value, "item"):
                number = value.item()
                # A number of a small dtype is still one of NumPy's then.
                self._values[name] = float(number) if hasattr(number, "dtype") else number
        return dict(self._values)

    # ------------------------------------------------------------------ text

    @property
    def seconds(self) -> float:
        """How long the loop has run."""
        return (_now() if self._running else self._stopped) - self._started

    def text(self, width: int = 80) -> str:
        """The line as it is shown in a given number of columns."""
        pieces = self._pieces()
        # What does not fit goes, the least important first; then the bar fills what is left.
        while len(pieces) > 1 and cell_len(_joined(pieces)) > width:
            del pieces[max(pieces, key=lambda place: _IMPORTANCE[place])]
        room = width - cell_len(_joined(pieces)) - 1
        if self.total and room >= _NARROWEST_BAR:
            pieces["bar"] = _bar(self.steps / self.total, min(room, 40))
        line = _joined(pieces)
        return line if cell_len(line) <= width else set_cell_size(line, max(width, 1))

    def _pieces(self) -> dict[str, str]:
        pieces: dict[str, str] = {}
        if self.description:
            pieces["description"] = self.description
        # The step that is under way has no part in the rate.
        seconds = self._stepped - self._started
        rate = self.steps / seconds if seconds > 0 else 0.0
        if self.total is None:
            pieces["count"] = f"{self.steps}"
        else:
            pieces["count"] = f"{self.steps}/{self.total}"
            if self.total > 0:
                pieces["percent"] = f"{min(100, 100 * self.steps // self.total)}%"
        pieces["rate"] = _rate_text(rate) if rate else "-"
        if self.total is not None and self._running and self.steps < self.total and rate:
            left = (self.total - self.steps) / rate - (_now() - self._stepped)
            pieces["time"] = f"{_time_text(max(left, 0.0))} left"
        else:
            pieces["time"] = _time_text(self.seconds)
        values = [f"{name} {_value_text(value)}" for name, value in self.values.items()]
        if values:
            pieces["values"] = ", ".join(values)
        return pieces


# In which order the pieces of a line stand, and which go first where there is no room.
_ORDER = ("description", "bar", "count", "percent", "rate", "time", "values")
_IMPORTANCE = {"count": 0, "values": 1, "time": 2, "description": 3, "rate": 4, "percent": 5}


def _joined(pieces: dict[str, str]) -> str:
    return " ".join(pieces[place] for place in _ORDER if place in pieces)


def _bar(share: float, width: int) -> str:
    done = int(width * min(max(share, 0.0), 1.0))
    return "━" * done + "─" * (width - done)


def _rate_text(rate: float) -> str:
    return f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s/step"


def _time_text(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _value_text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _length(iterable: Any) -> int | None:
    try:
        return len(iterable)
    except (TypeError, NotImplementedError):
        return None


def _without_graph(name: str, value: Any) -> Any:
    """The number behind a value: an array of one element, or the value itself."""
    if isinstance(value, Tensor):
        value = value._array  # not `detach()`: a view knows its base, which knows the graph
    elif callable(getattr(value, "detach", None)):
        value = value.detach()
    size = getattr(value, "size", 1)
    if isinstance(size, int) and size != 1:
        raise ValueError(
            f"a progress bar shows single numbers, but {name} has {size} elements: "
            f"pass {name}.mean() or another number"
        )
    return value


# --- where lines are shown ------------------------------------------------------------------------


class _Screen:
    """Shows nothing; the base of those that do. Bars that run are in `bars`, outermost first."""

    every = float("inf")

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bars: list[Progress[Any]] = []
        self._lock = threading.RLock()
        self._drawn = 0.0
        self._broken = False

    def add(self, bar: Progress[Any]) -> None:
        """A loop begins."""
        with self._lock:
            self.bars.append(bar)
            if len(self.bars) == 1:
                self._safely(self.begin)
            self._drawn = _now()

    def update(self, now: float) -> None:
        """A step was done."""
        if now - self._drawn >= self.every:
            with self._lock:
                self._drawn = now
                self._safely(self.draw)

    def remove(self, bar: Progress[Any]) -> None:
        """A loop ends, by itself or not."""
        with self._lock:
            self._broken = False  # try once more: a terminal must be given back
            self._safely(lambda: self.end(bar))
            self.bars.remove(bar)

    def _safely(self, function: Callable[[], None]) -> None:
        """A stream that cannot be written any more ends the showing, not the training."""
        if self._broken:
            return
        try:
            function()
        except (OSError, ValueError):
            self._broken = True

    def begin(self) -> None:
        """The first loop begins."""

    def draw(self) -> None:
        """Show how things are now."""

    def end(self, bar: Progress[Any]) -> None:
        """One loop ends; it is still among `bars`."""


class _Lines(_Screen):
    """A line now and then, for files and pipes."""

    every = PRINT_EVERY

    def draw(self) -> None:
        self._write(self.bars[-1])

    def end(self, bar: Progress[Any]) -> None:
        self._write(bar)

    def _write(self, bar: Progress[Any]) -> None:
        outer = [around.text(24) for around in self.bars if around is not bar]
        print("  ".join([*outer, bar.text(76)]), file=self.console.file, flush=True)


class _Notebook(_Screen):
    """One line that is written again and again, for notebooks."""

    every = 2 * DRAW_EVERY

    def begin(self) -> None:
        self._length = 0

    def draw(self) -> None:
        line = "  ".join([*(bar.text(24) for bar in self.bars[:-1]), self.bars[-1].text(76)])
        print("\r" + line.ljust(self._length), end="", file=self.console.file, flush=True)
        self._length = len(line)

    def end(self, bar: Progress[Any]) -> None:
        self.draw()
        if len(self.bars) == 1:
            print(file=self.console.file, flush=True)


class _Terminal(_Screen):
    """A line for each loop at the bottom of a terminal, below what the program prints."""

    every = DRAW_EVERY
    live: Live

    def begin(self) -> None:
        # Drawn by the loop itself: a thread would be in the way of processes that are forked.
        self.live = Live(self, console=self.console, auto_refresh=False)
        self.live.start(refresh=True)

    def draw(self) -> None:
        self.live.refresh()

    def end(self, bar: Progress[Any]) -> None:
        if len(self.bars) == 1:
            self.live.stop()  # draws the last state, and gives the terminal back

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for bar in self.bars:
            line = bar.text(options.max_width)
            yield Text(_encodable(line, console.encoding), no_wrap=True, overflow="crop")


def _encodable(line: str, encoding: str) -> str:
    """The line with plain characters where the stream cannot write the drawn ones."""
    try:
        line.encode(encoding)
    except (UnicodeError, LookupError):
        return line.replace("━", "#").replace("─", "-").encode("ascii", "replace").decode()
    return line


class _Screens:
    """The screen of each stream while loops run there, so that nested loops share it."""

    def __init__(self) -> None:
        self.open: list[_Screen] = []
        self.lock = threading.Lock()

    def screen(self, file: TextIO | None, show: bool | None) -> _Screen:
        """The screen for a stream: the one of the loops around, or a new one."""
        with self.lock:
            self.open = [screen for screen in self.open if screen.bars]
            for screen in self.open:
                around = screen.bars[0]
                if show is not False and around._file is file and type(screen) is not _Screen:
                    return screen
            console = Console(file=file or sys.stderr)
            screen = _kind(console, show)(console)
            self.open.append(screen)
            return screen


_SCREENS = _Screens()


def _kind(console: Console, show: bool | None) -> type[_Screen]:
    if show is False:
        return _Screen
    if console.is_jupyter:
        return _Notebook
    if console.is_terminal and not console.is_dumb_terminal:
        return _Terminal
    return _Lines if show else _Screen
