"""The streams of processes: into files, and from there to this terminal with the rank in front."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import IO, TextIO

OUT, ERR = 1, 2


class Streams:
    """Where the output of one process goes."""

    def __init__(
        self, folder: Path | None, prefix: str, redirect: int, tee: int, shown: bool
    ) -> None:
        self._files: list[IO[bytes]] = []
        self._followed: list[Follower] = []
        self.out = self._place(folder, "stdout.log", OUT, prefix, redirect, tee, shown)
        self.err = self._place(folder, "stderr.log", ERR, prefix, redirect, tee, shown)

    def _place(
        self,
        folder: Path | None,
        name: str,
        which: int,
        prefix: str,
        redirect: int,
        tee: int,
        shown: bool,
    ) -> IO[bytes] | int | None:
        if not (redirect | tee) & which:
            if shown:
                return None  # the launcher's own
            return self._kept(open(os.devnull, "wb"))
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        file = self._kept(open(folder / name, "wb"))
        if tee & which and shown:
            to = sys.stdout if which == OUT else sys.stderr
            self._followed.append(Follower(folder / name, prefix, to))
        return file

    def _kept(self, file: IO[bytes]) -> IO[bytes]:
        self._files.append(file)
        return file

    def started(self) -> None:
        """The process has the files now."""
        for file in self._files:
            file.close()

    def end(self) -> None:
        """Show what is still in the files."""
        for follower in self._followed:
            follower.end()


class Follower:
    """A thread that shows the lines of a file as they come."""

    def __init__(self, path: Path, prefix: str, to: TextIO) -> None:
        self._path = path
        self._prefix = prefix
        self._to = to
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="retrograd log", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        rest = ""
        with open(self._path, encoding="utf-8", errors="replace", newline="") as file:
            while True:
                last = self._over.wait(0.05)
                lines = (rest + file.read()).split("\n")
                rest = lines.pop()
                if last and rest:
                    lines.append(rest)
                if lines:
                    self._to.write("".join(f"{self._prefix}{line}\n" for line in lines))
                    self._to.flush()
                if last:
                    return

    def end(self) -> None:
        """Show the rest."""
        self._over.set()
        self._thread.join(10.0)
