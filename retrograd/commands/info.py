"""`retrograd info`: what is installed here and in use, for a person or a bug report."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from typing import Any

from retrograd.diagnostics.layout import HelpFormatter

OPTIONAL = {
    "torch": "retrograd doctor runs programs on it",
    "libcst": "retrograd lint --fix",
    "safetensors": "retrograd.interchange",
    "tensorboard": "torch.utils.tensorboard",
}
"""Packages that something here can use, and what for."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SETTINGS = tuple(
    f"RETROGRAD_{name}"
    for name in ("REPORT", "SITES", "NOTICES", "KERNELS", "CORE", "KEEP_MEMORY", "GROWTH")
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "info",
        help="versions, backends, compiled parts and threads",
        description="Say what is installed here and in use.",
        epilog="example:\n  retrograd info --json",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print data for programs")
    parser.set_defaults(run=info)


def info(options: argparse.Namespace) -> int:
    """Print the facts."""
    facts = collect()
    if options.json:
        print(json.dumps(facts, indent=2))
        return 0
    for title, entries in facts.items():
        print(title)
        width = max(len(name) for name in entries)
        for name, value in entries.items():
            print(f"  {name:<{width}}  {value}")
    return 0


def collect() -> dict[str, dict[str, Any]]:
    """The facts, by topic."""
    import numpy as np

    import retrograd
    from retrograd import core
    from retrograd.backend import MEMORY_KEPT, cpu_rows, kernels, threads
    from retrograd.replay.chains import STATUS
    from retrograd.torch_version import TORCH_VERSION

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "versions": {
            "retrograd": retrograd.__version__,
            "names of PyTorch": TORCH_VERSION.partition("+")[0],
            "Python": f"{platform.python_version()} ({sys.executable})",
            "system": platform.platform(),
            **{name: _version(name) for name in ("numpy", "ml_dtypes", "rich")},
        },
        "backends": {
            "cpu": f"NumPy, products by {blas['name']} {blas.get('version', '')}".rstrip(),
            "cuda": "none: tensors live on the CPU",
            "compiled kernels": "in use" if kernels.AVAILABLE else kernels.status(),
            "compiled kernels for rows": cpu_rows.STATUS["rows"],
            "compiled kernels for windows": cpu_rows.STATUS["windows"],
            "compiled core": "in use" if core.AVAILABLE else core.status(),
            "compiled machine for replay": STATUS,
            "freed memory": "kept for reuse" if MEMORY_KEPT else "left to the allocator",
        },
        "threads": {
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "compiled kernels": retrograd.get_num_threads() if kernels.AVAILABLE else 1,
            "products": threads.of_blas() or "as NumPy's BLAS says",
            **{name: os.environ.get(name, "not set") for name in THREAD_VARIABLES},
        },
        "settings": {name: os.environ.get(name, "not set") for name in SETTINGS},
        "optional packages": {
            name: f"{_version(name)}: {purpose}" for name, purpose in OPTIONAL.items()
        },
    }


def _version(package: str) -> str:
    """The version of a package, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
