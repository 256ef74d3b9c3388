"""What the ways of keeping a graph cost: bytes of arrays and time, on a transformer.

    python -m benchmarks.retention            the tables of docs/graph/retention.md
    python -m benchmarks.retention --quick    a small model, to see that it runs

Two losses stand on one trunk. The first backward call keeps the graph in one of several ways, the
second one walks it again. Each way runs in processes of its own: one counts arrays, as
``python -m benchmarks --memory`` does, the others take processor time, the least of a few. All
give the same gradients, which is checked.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.memory import CountedArrays

WAYS = ("True", "[trunk]", "'recompute'", "scope")
LABELS = {
    "True": "`retain_graph=True`",
    "[trunk]": "`retain_graph=[trunk]`",
    "'recompute'": '`retain_graph="recompute"`',
    "scope": "`with graph.recompute():` around the forward, then `True`",
}
ROUNDS = 3


def model_of(torch: Any, quick: bool) -> tuple[Any, Any]:
    torch.manual_seed(0)
    width, depth, batch, length = (32, 2, 2, 16) if quick else (256, 6, 8, 128)
    layer = torch.nn.TransformerEncoderLayer
    layers = [layer(width, 4, 4 * width, dropout=0.1, batch_first=True) for _ in range(depth)]
    return torch.nn.Sequential(*layers), torch.randn(batch, length, width)


def run(way: str, quick: bool, counted: bool) -> dict[str, Any]:
    """One forward and two backward calls; what they held and took."""
    import retrograd as torch
    from retrograd import graph

    torch.set_num_threads(1)
    arrays = CountedArrays()
    if counted:
        arrays.start()
    model, x = model_of(torch, quick)
    with graph.recompute():  # once before, small: functions are made at their first call
        loss = model(x[:1, :4]).pow(2).mean()
    loss.backward(retain_graph="recompute")
    loss.backward()
    del loss
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    torch.manual_seed(1)
    facts: dict[str, Any] = {}
    begun = time.process_time()
    base = arrays.peak = arrays.live

    def note(name: str) -> None:
        nonlocal begun
        facts[name] = {
            "seconds": time.process_time() - begun,
            "held": arrays.live - base,
            "peak": arrays.peak - base,
        }
        arrays.peak = arrays.live
        begun = time.process_time()

    if way == "scope":
        with graph.recompute():
            trunk = model(x)
    else:
        trunk = model(x)
    first, second = trunk.pow(2).mean(), trunk.tanh().mean()
    note("forward")
    keep = {"[trunk]": [trunk], "'recompute'": "recompute"}.get(way, True)
    del trunk
    first.backward(retain_graph=keep)
    del keep, first
    note("first")
    second.backward()
    note("second")
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.grad.numpy().tobytes())
    facts["gradients"] = digest.hexdigest()
    return facts


def in_a_process(way: str, quick: bool, counted: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.retention", "--one", way]
    command += ["--quick"] * quick + ["--counted"] * counted
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(quick: bool) -> list[str]:
    rows = [
        "| | after the forward | peak of it | after backward 1 | peak of it | peak of backward 2 | "
        "forward | backward 1 | backward 2 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    gradients = set()
    for way in WAYS:
        facts = in_a_process(way, quick, counted=True)
        gradients.add(facts["gradients"])
        timed = [in_a_process(way, quick, counted=False) for _ in range(ROUNDS)]
        sizes = [
            facts["forward"]["held"],
            facts["forward"]["peak"],
            facts["first"]["held"],
            facts["first"]["peak"],
            facts["second"]["peak"],
        ]
        times = [
            min(one[part]["seconds"] for one in timed) for part in ("forward", "first", "second")
        ]
        cells = [f"{size / 1e6:.1f} MB" for size in sizes] + [f"{1e3 * t:.0f} ms" for t in times]
        rows.append("| " + " | ".join([LABELS[way], *cells]) + " |")
    rows.append("")
    same = "the same to the bit" if len(gradients) == 1 else "NOT the same"
    rows.append(f"Gradients of the {len(WAYS)} ways: {same}.")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retention", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--counted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.one, options.quick, options.counted)))
        return
    print("\n".join(table(options.quick)))


if __name__ == "__main__":
    main()
