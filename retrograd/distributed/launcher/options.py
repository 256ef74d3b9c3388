"""The options of the launcher, which are those of `torchrun`."""

from __future__ import annotations

import argparse
import os
import signal
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
_PORT = 29500
_RUN_PATH = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


class Refused(Exception):
    """An option that cannot be followed; its text says which."""


@dataclass
class Plan:
    """What is to be started, and how."""

    program: list[str]
    entry: str
    processes: int
    nodes: tuple[int, int]  # at least, at most
    node_rank: int | None  # where it is said beforehand
    endpoint: tuple[str, int]
    alone: bool  # one node: the port is chosen
    run: str
    role: str
    restarts: int
    shutdown: float
    signals: list[signal.Signals]
    join_seconds: float
    log_folder: str | None
    redirects: dict[int, int] = field(default_factory=dict)  # by local rank: 1 out, 2 err, 3 both
    tees: dict[int, int] = field(default_factory=dict)
    shown: set[int] | None = None  # local ranks that are; None: all
    rank_at: int | None = None  # where the program gets its local rank as an argument


class _FromEnvironment(argparse.ArgumentParser):
    """Options whose defaults may come from variables: ``PET_NNODES`` for ``--nnodes``."""

    def option(self, *names: str, **how: object) -> None:
        """Add an option; long names may be written with underscores, too."""
        longest = names[-1]
        other = "--" + longest[2:].replace("-", "_")
        told = os.environ.get(f"PET_{other[2:].upper()}")
        if told is not None:
            how["default"] = told == "1" if how.get("action") == "store_true" else told
        every = dict.fromkeys((*names, other))
        self.add_argument(*every, **how)  # type: ignore[arg-type]


def parser(name: str) -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = _FromEnvironment(
        prog=name,
        allow_abbrev=False,
        description="Start a program in several processes that can meet by torch.distributed.",
    )
    add_options(made.option)
    made.option("-m", "--module", action="store_true", help="the program is a module")
    made.add_argument("training_script", help="the program")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def add_options(add: Callable[..., object]) -> None:
    """Add those that say how a program is started, not which."""
    add("--nnodes", default="1", help="number of machines, or MIN:MAX")
    add("--nproc-per-node", default="1", help="processes here: a number, auto, cpu or gpu")
    add("--rdzv-backend", default="static", help="how machines meet: static or c10d")
    add("--rdzv-endpoint", default="", help="where they meet: HOST:PORT")
    add("--rdzv-id", default="none", help="the name of the run, the same on all machines")
    add("--rdzv-conf", default="", help="more for the meeting: timeout=SECONDS,...")
    add("--standalone", action="store_true", help="one machine, a free port")
    add("--max-restarts", type=int, default=0, help="how often all are started anew")
    add("--monitor-interval", type=float, default=0.1, help="taken, and not needed")
    add("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="taken")
    add("--role", default="default", help="the name of these processes in their lines")
    add("--no-python", action="store_true", help="the program is not Python")
    add("--run-path", action="store_true", help="the program is run by runpy.run_path")
    add("--log-dir", default=None, help="the folder of log files")
    add("-r", "--redirects", default="0", help="streams into files: 1 out, 2 err, 3 both; 0:1,1:3")
    add("-t", "--tee", default="0", help="streams into files and here, with the rank in front")
    add("--local-ranks-filter", default="", help="the local ranks that are shown here")
    add("--node-rank", type=int, default=0, help="the number of this machine, for static")
    add("--master-addr", default="127.0.0.1", help="the first machine, for static")
    add("--master-port", type=int, default=_PORT, help="its port, for static")
    add("--local-addr", default=None, help="the address of this machine")
    add("--signals-to-handle", default=SIGNALS, help="signals that end all")
    add(
        "--shutdown-timeout",
        type=int,
        default=None,
        help="seconds until those that stay are killed",
    )
    for refused in ("event-log-handler", "logs-specs", "numa-binding"):
        add(f"--{refused}", default=None, help=argparse.SUPPRESS)
    add("--duplicate-stdout-filters", default=None, help=argparse.SUPPRESS)
    add("--duplicate-stderr-filters", default=None, help=argparse.SUPPRESS)
    add("--virtual-local-rank", action="store_true", help=argparse.SUPPRESS)


def planned(found: argparse.Namespace, python: Sequence[str]) -> Plan:
    """What the options say."""
    for name in ("event_log_handler", "logs_specs", "numa_binding", "virtual_local_rank"):
        value = getattr(found, name)
        if value and value != "null":
            raise Refused(f"--{name.replace('_', '-')} is not supported by retrograd")
    for name in ("duplicate_stdout_filters", "duplicate_stderr_filters"):
        if getattr(found, name):
            raise Refused(f"--{name.replace('_', '-')} is not supported by retrograd")
    nodes = _nodes(found.nnodes)
    one = nodes == (1, 1)
    backend = found.rdzv_backend
    if backend not in ("static", "c10d"):
        raise Refused(f"--rdzv-backend {backend} is not supported by retrograd: static or c10d")
    alone = found.standalone or (one and backend == "static" and not found.rdzv_endpoint)
    if (
        alone
        and not found.standalone
        and (found.master_addr != "127.0.0.1" or found.master_port != _PORT)
    ):
        alone = False
    if found.standalone:
        nodes = (1, 1)
    if backend == "static" and nodes[0] != nodes[1]:
        raise Refused("--nnodes MIN:MAX needs --rdzv-backend c10d")
    if backend == "static" and not alone and not 0 <= found.node_rank < nodes[0]:
        raise Refused(f"--node-rank {found.node_rank} is not below --nnodes {nodes[0]}")
    conf: dict[str, str] = dict(
        each.split("=", 1) for each in found.rdzv_conf.split(",") if "=" in each
    )
    processes = _processes(found.nproc_per_node)
    return Plan(
        program=_program(found, python),
        entry=found.training_script,
        processes=processes,
        nodes=nodes,
        node_rank=found.node_rank if backend == "static" and not alone else None,
        endpoint=_endpoint(found, alone),
        alone=alone,
        run=str(uuid.uuid4()) if found.rdzv_id == "none" and alone else found.rdzv_id,
        role=found.role,
        restarts=int(found.max_restarts),
        shutdown=_shutdown(found.shutdown_timeout),
        signals=[_signal(name) for name in found.signals_to_handle.split(",") if name],
        join_seconds=float(conf.get("join_timeout", conf.get("timeout", "600"))),
        log_folder=found.log_dir,
        redirects=_streams(found.redirects, processes),
        tees=_streams(found.tee, processes),
        shown=_ranks(found.local_ranks_filter),
    )


def _shutdown(told: int | None) -> float:
    if told is not None:
        return float(told)
    variable: str = os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30")
    return float(variable)


def _nodes(told: str) -> tuple[int, int]:
    least, _, most = str(told).partition(":")
    try:
        found = int(least), int(most or least)
    except ValueError:
        raise Refused(f"--nnodes {told} is no number, nor MIN:MAX") from None
    if not 1 <= found[0] <= found[1]:
        raise Refused(f"--nnodes {told}: at least one, and MIN not above MAX")
    return found


def _processes(told: str) -> int:
    if told == "gpu" or told == "auto":
        cuda = import_module("retrograd.cuda")  # a row of the table of names
        count = int(cuda.device_count()) if cuda.is_available() else 0
        if count:
            return count
        if told == "gpu":
            raise Refused("Cuda is not available.")
    if told in ("auto", "cpu"):
        return os.cpu_count() or 1
    try:
        count = int(told)
    except ValueError:
        raise Refused(f"Unsupported nproc_per_node value: {told}") from None
    if count < 1:
        raise Refused(f"--nproc-per-node {told}: at least one")
    return count


def _endpoint(found: argparse.Namespace, alone: bool) -> tuple[str, int]:
    if alone:
        return "localhost", 0
    if found.rdzv_backend == "static" and not found.rdzv_endpoint:
        return found.master_addr.strip("[]"), found.master_port
    host, _, port = found.rdzv_endpoint.rpartition(":")
    if not host:
        host, port = found.rdzv_endpoint, str(_PORT if found.rdzv_backend == "static" else 29400)
    if not host or not port.isdigit():
        raise Refused(f"--rdzv-endpoint {found.rdzv_endpoint!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def _program(found: argparse.Namespace, python: Sequence[str]) -> list[str]:
    script = found.training_script
    if found.run_path:
        if not os.path.isabs(script):
            raise Refused("--run-path needs an absolute path")
        return [*python, "-u", "-c", _RUN_PATH, script, *found.training_script_args]
    if found.no_python:
        if found.module:
            raise Refused(
                "Don't use both the '--no-python' flag and the '--module' flag at the same time."
            )
        return [script, *found.training_script_args]
    middle = ["-m"] if found.module else []
    return [*python, "-u", *middle, script, *found.training_script_args]


def _signal(name: str) -> signal.Signals:
    try:
        return signal.Signals[name.strip()]
    except KeyError:
        raise Refused(f"--signals-to-handle: there is no signal {name}") from None


def _streams(told: str, processes: int) -> dict[int, int]:
    """What to do with the streams of each process: 1 for out, 2 for err, 3 for both."""
    if str(told).isdigit():
        return dict.fromkeys(range(processes), _stream(told, told))
    found = dict.fromkeys(range(processes), 0)
    for each in str(told).split(","):
        rank, colon, value = each.partition(":")
        if not colon or not rank.isdigit():
            raise Refused(f"{told} is neither a number nor RANK:NUMBER,...")
        found[int(rank)] = _stream(value, told)
    return found


def _stream(value: str, told: str) -> int:
    if value not in ("0", "1", "2", "3"):
        raise Refused(f"{told}: streams are 0 (none), 1 (out), 2 (err) or 3 (both)")
    return int(value)


def _ranks(told: str) -> set[int] | None:
    if not told:
        return None
    try:
        return {int(each) for each in told.split(",")}
    except ValueError:
        raise Refused(f"--local-ranks-filter {told} is no list of numbers") from None
