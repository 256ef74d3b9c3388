"""What watching costs over very many iterations: `python -m benchmarks.long_runs [ITERATIONS]`.

Prints, for a program with and without the doctor, the time of an iteration and the memory of the
process at the end of each fifth of the run. The memory of the watched one must not go on rising.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """\
import time
import torch

count = {count}
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], 1e-9)
begun = time.process_time()
for i in range(1, count + 1):
    optimizer.zero_grad()
    (weight * weight).sum().backward()
    optimizer.step()
    if i % (count // 5) == 0:
        now = time.process_time()
        pages = int(open("/proc/self/statm").read().split()[1])
        each = (now - begun) / (count // 5) * 1e6
        print(f"{{i:>9}}  {{each:7.0f}} us  {{pages * 4096 / 2**20:6.0f}} MB", flush=True)
        begun = now
"""


def main(count: int) -> None:
    """Both runs, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(PROGRAM.format(count=count))
        doctor = ["-m", "retrograd", "doctor", "--no-verify"]
        for name, words in (("alone", []), ("under the doctor", doctor)):
            print(name, flush=True)
            subprocess.run([sys.executable, *words, str(program)], check=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
