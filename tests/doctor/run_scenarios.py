"""Runs the doctor on every script of a folder and prints its findings, a line of JSON for each.

python -m tests.doctor.run_scenarios FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.doctor import in_forks


def main(folder: str) -> None:
    in_forks.prepare()
    for script in sorted(Path(folder).glob("*.py")):
        print(json.dumps({"name": script.stem, **in_forks.examine_here(script)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
