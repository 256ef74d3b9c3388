"""Loading a hostile file takes memory in proportion to its size, whatever it asks for."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT
from tests.serialization.hostile import archive, name, number, program, storage, tensor, text

_LIMITED = """
import resource, sys
import retrograd
base = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (base + (400 << 20),) * 2)
for path in sys.argv[1:]:
    try:
        retrograd.load(path)
    except Exception as error:
        print(type(error).__name__)
    else:
        print("loaded")
"""


def greedy() -> dict[str, bytes]:
    """Files that ask for far more than they are; to pack them takes a while."""
    return {
        "size": archive(program(tensor((2**40,), (0,))), {"0": bytes(16)}),
        "count": archive(program(tensor(count=2**40)), {"0": bytes(16)}),
        "text": archive(program(b"\x8d" + (1 << 40).to_bytes(8, "little"))),
        "memo": archive(program(b"Nr\xff\xff\xff\x7f")),
        "bytearray": archive(program(name("builtins", "bytearray"), number(1 << 40), b"\x85R")),
        "sets": archive(program(b"(" + b"\x8f" * 600_000 + b"t")),
        "dicts": archive(program(b"(" + b"}" * 600_000 + b"t")),
        "marks": archive(program(b"(" * 600_000)),
        "tensors": archive(
            program(b"(" + storage() + b"q\x00" + b"(h\x00K\x00)){t" * 100_000 + b"t"),
            {"0": bytes(16)},
        ),
        "bomb": archive(program(tensor((1 << 28,), count=1 << 28)), {"0": bytes(1 << 28)}, 8),
        "old": b"".join(
            pickle.dumps(value, 2)
            for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
        )
        + program(
            name("torch._utils", "_rebuild_tensor_v2") + b"((" + text("storage"),
            name("torch", "FloatStorage") + text("0") + text("cpu") + number(1 << 40) + b"NtQ",
            number(0) + number(1 << 40) + b"\x85" + number(1) + b"\x85\x89}tR",
        ),
    }


EXPECTED = {"size": "loaded", "memo": "loaded", "dicts": "loaded", "text": "EOFError"}
EXPECTED |= {"count": "RuntimeError", "bomb": "RuntimeError", "old": "RuntimeError"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc for its memory")
def test_memory_stays_bounded(tmp_path: Path) -> None:
    paths, files = [], greedy()
    for case, content in files.items():
        paths.append(tmp_path / case)
        paths[-1].write_bytes(content)
    command = [sys.executable, "-c", _LIMITED, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert run.returncode == 0, run.stderr
    found = dict(zip(files, run.stdout.split(), strict=True))
    assert found == {case: EXPECTED.get(case, "UnpicklingError") for case in files}
