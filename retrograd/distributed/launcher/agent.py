"""The launcher of one machine: meets those of the others, starts processes, and watches them."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import FrameType

from retrograd.distributed.launcher.failures import ChildFailedError
from retrograd.distributed.launcher.options import Plan
from retrograd.distributed.launcher.workers import Workers
from retrograd.distributed.names import DistError, DistNetworkError
from retrograd.distributed.store import Store
from retrograd.distributed.tcp_store import TCPStore

_LAST_CALL = 30.0  # seconds that more machines have to come, once there are enough
_EXIT = 300.0  # seconds that a machine waits for the others to end


class Interrupted(Exception):
    """The launcher was told to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Agent:
    """The launcher of one machine."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._attempt = 0
        self._node = 0
        self._counts: list[int] = []  # of processes, by machine
        self._store, self._address = self._meet()
        self._base = self._folder()

    # ------------------------------------------------------------------ meet

    def _meet(self) -> tuple[Store, tuple[str, int]]:
        """The store of all machines: one of them serves it."""
        plan, (host, port) = self._plan, self._plan.endpoint
        limit = timedelta(seconds=plan.join_seconds)
        serves = plan.alone or plan.node_rank == 0
        if plan.node_rank is None and not plan.alone:
            serves = _is_here(host)
        if serves:
            try:
                found = TCPStore(host, port, is_master=True, timeout=limit)
                return found, (host, found.port)
            except DistNetworkError:
                if plan.alone or plan.node_rank is not None:
                    raise
                # another launcher on this machine may serve it already
        return TCPStore(host, port, timeout=limit), (host, port)

    def _join(self) -> None:
        """Wait until enough machines are there; the number of this one, and all their counts."""
        plan, store = self._plan, self._store
        least, most = plan.nodes
        where = f"{plan.run}/attempt {self._attempt}"
        # Who keeps its number from the first attempt on keeps its ranks, too.
        if plan.node_rank is not None:
            self._node = plan.node_rank
        elif self._attempt == 0:
            self._node = store.add(f"{where}/here", 1) - 1
        if self._node >= most:
            raise DistError(f"there are {most} machines already, as many as --nnodes says")
        store.set(f"{where}/count {self._node}", str(plan.processes))
        if least == most or self._attempt:
            count = most if least == most else len(self._counts)
        else:
            count = self._decided(where, least, most)
        keys = [f"{where}/count {node}" for node in range(count)]
        store.wait(keys, timedelta(seconds=plan.join_seconds))
        self._counts = [int(each) for each in store.multi_get(keys)]

    def _decided(self, where: str, least: int, most: int) -> int:
        """How many machines take part: the first decides, some time after there are enough."""
        store, until = self._store, time.monotonic() + self._plan.join_seconds
        if self._node == 0:
            enough = None
            while True:
                here = store.add(f"{where}/here", 0)
                if here >= least and enough is None:
                    enough = time.monotonic()
                if here >= most or (enough and time.monotonic() - enough > _LAST_CALL):
                    break
                if time.monotonic() > until:
                    raise DistError(f"{here} of at least {least} machines came in time")
                time.sleep(0.1)
            store.set(f"{where}/nodes", str(min(here, most)))
        store.wait([f"{where}/nodes"], timedelta(seconds=self._plan.join_seconds))
        return int(store.get(f"{where}/nodes"))

    # ------------------------------------------------------------------ processes

    def _folder(self) -> Path:
        folder = self._plan.log_folder
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=f"{self._plan.run}_", dir=folder))
        return Path(tempfile.mkdtemp(prefix="torchelastic_")) / self._plan.run

    def _variables(self, local: int) -> Mapping[str, str]:
        plan, counts = self._plan, self._counts
        rank, world = sum(counts[: self._node]) + local, sum(counts)
        told = {
            "LOCAL_RANK": local,
            "RANK": rank,
            "GROUP_RANK": self._node,
            "ROLE_RANK": rank,
            "ROLE_NAME": plan.role,
            "LOCAL_WORLD_SIZE": plan.processes,
            "WORLD_SIZE": world,
            "GROUP_WORLD_SIZE": len(counts),
            "ROLE_WORLD_SIZE": world,
            "MASTER_ADDR": self._address[0],
            "MASTER_PORT": self._address[1],
            "TORCHELASTIC_RESTART_COUNT": self._attempt,
            "TORCHELASTIC_MAX_RESTARTS": plan.restarts,
            "TORCHELASTIC_RUN_ID": plan.run,
            "TORCHELASTIC_USE_AGENT_STORE": True,
            "TORCHELASTIC_SIGNALS_TO_HANDLE": ",".join(each.name for each in plan.signals),
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1),
        }
        if "OMP_NUM_THREADS" not in os.environ and plan.processes > 1:
            told["OMP_NUM_THREADS"] = 1
        return {name: str(value) for name, value in told.items()}

    def run(self) -> None:
        """Start all, watch them, start them anew as often as is allowed; an error if that fails."""
        while True:
            self._join()
            failed = self._once()
            if failed is None:
                self._wait_for_others()
                return
            if self._attempt >= self._plan.restarts:
                raise failed
            self._attempt += 1
            _say(f"starting anew ({self._attempt} of at most {self._plan.restarts} times)")

    def _once(self) -> ChildFailedError | None:
        """One attempt; how it failed, if it did."""
        folder = self._base / f"attempt_{self._attempt}"
        old: dict[int, object] = {}
        workers: Workers | None = None

        def told(number: int, frame: FrameType | None) -> None:
            raise Interrupted(number)

        for each in self._plan.signals:
            old[each] = signal.signal(each, told)
        try:
            workers = Workers(self._plan, folder, self._variables)
            since = time.monotonic()
            while workers.wait(0.5):
                if time.monotonic() - since > 1.0:
                    since = time.monotonic()
                    elsewhere = self._failed_elsewhere()
                    if elsewhere is not None:
                        workers.end()
                        return elsewhere
        except Interrupted as interrupted:
            self._ignore()
            if workers is not None:
                workers.end(interrupted.number)
            raise
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
        if not workers.failures:
            workers.end()
            return None
        workers.settle()
        for local, failure in sorted(workers.failures.items()):
            _say(
                f"failed (exitcode: {failure.exitcode}) local_rank: {local} (pid: {failure.pid}) "
                f"of {self._plan.program[0]}; the others are ended"
            )
        workers.end()
        return self._failure(workers)

    def _ignore(self) -> None:
        """A second Ctrl-C does not leave processes behind."""
        for each in self._plan.signals:
            signal.signal(each, signal.SIG_IGN)

    def _failure(self, workers: Workers) -> ChildFailedError:
        base = sum(self._counts[: self._node])
        failures = {base + local: each for local, each in workers.failures.items()}
        if self._plan.log_folder is None:  # the files do not stay
            for failure in failures.values():
                failure.error_file = "<N/A>"
        found = ChildFailedError(self._plan.entry, failures)
        self._tell("failed", json.dumps([socket.gethostname(), min(failures)]))
        return found

    def _tell(self, what: str, text: str) -> None:
        with suppress(DistError, OSError):
            self._store.set(f"{self._plan.run}/attempt {self._attempt}/{what}", text)

    def _failed_elsewhere(self) -> ChildFailedError | None:
        if len(self._counts) == 1:
            return None
        key = f"{self._plan.run}/attempt {self._attempt}/failed"
        try:
            if not self._store.check([key]):
                return None
            host, rank = json.loads(self._store.get(key))
        except DistNetworkError:
            return _Elsewhere("the launcher that serves the store is gone")
        return _Elsewhere(f"rank {rank} failed on {host}")

    def _wait_for_others(self) -> None:
        """The machine that serves the store ends last."""
        if len(self._counts) == 1:
            return
        where = f"{self._plan.run}/attempt {self._attempt}"
        with suppress(DistError, OSError):
            self._store.set(f"{where}/done {self._node}", "")
            keys = [f"{where}/done {node}" for node in range(len(self._counts))]
            self._store.wait(keys, timedelta(seconds=_EXIT))

    def close(self) -> None:
        """Leave no port open and no file of ours behind."""
        close = getattr(self._store, "close", None)
        if close is not None:
            close()
        if self._plan.log_folder is None:
            import shutil

            shutil.rmtree(self._base.parent, ignore_errors=True)


class _Elsewhere(ChildFailedError):
    """Processes of another machine failed."""

    def __init__(self, why: str) -> None:
        Exception.__init__(self, f"\nthe processes of this machine were ended: {why}")
        self.failures = {}


def _is_here(host: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        found = {each[4][0] for each in socket.getaddrinfo(host, None)}
        own = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return host in ("localhost", socket.gethostname())
    return bool(found & own) or any(str(each).startswith(("127.", "::1")) for each in found)


def _say(text: str) -> None:
    print(f"retrograd run: {text}", file=sys.stderr, flush=True)
