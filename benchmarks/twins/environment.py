"""The environment of its own that JAX is measured in, and how it is held to one thread."""

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.runner import ROOT, WorkerError

PINNED = ("jax==0.10.2", "jaxlib==0.10.2")
FOLDER = ROOT / "build" / "jax"

ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    # the pool of XLA's CPU client, and the products of Eigen inside of a program
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    # programs run in the thread that calls them: handing them over costs more than it hides
    "JAX_CPU_ENABLE_ASYNC_DISPATCH": "false",
}


def interpreter(folder: Path = FOLDER) -> Path:
    """The Python that has JAX; its environment is made where it is not there as wanted."""
    python = folder / "bin" / "python"
    wanted, installed = " ".join(PINNED), folder / "installed"
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        print(
            f"making an environment for JAX in {folder} ({wanted}, about 620 MB)",
            file=sys.stderr,
            flush=True,
        )
        venv.create(folder, clear=True, with_pip=True)
        # what pip says goes where notes go: a table or JSON is on the other stream
        install = [str(python), "-m", "pip", "install", *PINNED]
        ended = subprocess.run(install, stdout=sys.stderr, check=False)
        if ended.returncode != 0:
            raise WorkerError(f"pip could not install {wanted}: exit code {ended.returncode}")
        installed.write_text(wanted, encoding="utf-8")
    return python
