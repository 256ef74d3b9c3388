"""What does not run on a device that is not the CPU.

`CANNOT` is what is bound to the CPU, each with the reason. `not_yet.txt` names what will run once
its kernel is written for any array library: an op that runs must leave that list.
"""

from pathlib import Path

CANNOT: dict[str, str] = {}
NOT_YET = set((Path(__file__).parent / "not_yet.txt").read_text().split())
