"""`python -m benchmarks.sites`: what the recording of call sites costs in a small training step.

Three retrograd workers run the same rounds: one records the line of every operation, as always,
two do not (RETROGRAD_SITES=0). The second of those is the control. PyTorch is not needed.
"""

import argparse
import contextlib
import json
import sys
from dataclasses import asdict

from benchmarks.runner import Worker, WorkerError, measure

BUDGET = 1.10
"""Recording may cost a tenth of a small step."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sites", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=31, help="rounds per workload (31)")
    options = parser.parse_args()
    results = []
    try:
        with contextlib.ExitStack() as stack:
            workers = [
                stack.enter_context(Worker(label, "retrograd", {"RETROGRAD_SITES": setting}))
                for label, setting in [("without", "0"), ("with", "1"), ("control", "0")]
            ]
            for name in ("mlp_adam", "regression", "chain"):
                measurement = measure(name, workers, options.rounds, target_seconds=0.05)
                cost = measurement.ratio("with", "without")
                control = measurement.ratio("control", "without")
                results.append({"workload": name, "cost": asdict(cost), "control": asdict(control)})
                if not options.json:
                    verdict = "within" if cost.median <= BUDGET else "OVER"
                    print(
                        f"{name:<12} with / without call sites {cost.median:.3f}  "
                        f"({cost.low:.3f}-{cost.high:.3f})  control {control.median:.3f}  "
                        f"{verdict} the budget of {BUDGET:.2f}",
                        flush=True,
                    )
    except WorkerError as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(
            json.dumps({"budget": BUDGET, "rounds": options.rounds, "results": results}, indent=2)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
