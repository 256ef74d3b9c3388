"""Checks the labels in `cases/cases_*.json` against real PyTorch.

For each case: the script ends with the labelled exception on the labelled line (or, if it is
a silent one, runs through and shows the symptom of its probe), the fixed script ends well and
without the symptom, a healthy one ends well. `retain_everywhere` is checked by running the script
with every graph kept; a run that ends well may be labelled "runs" or "wrong".

`python tests/doctor/check_labels.py [a01 b02 ...]` checks some (or all) and prints what is wrong;
`test_labels.py` does the same as tests.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doctor.observe_case import Observer
from tests.doctor.patches import repaired

CASES = Path(__file__).parent / "cases"
KINDS = {
    "recompute-forward", "detach", "reset-state", "no-grad", "combine-losses", "retain-graph",
    "remove-extra-backward", "reorder-step", "create-graph", "item-for-logging", "drop-retain",
    "zero-grad", "clone-before-inplace", "clone", "keep-graph", "enable-grad", "reduce-loss",
    "make-leaf", "retain-grad", "rebuild-optimizer", "register-modules", "drop-requires-grad",
    "fix-checkpoint-call",
}  # fmt: skip
CATEGORIES = {
    "same-loss-twice", "shared-subgraph", "stale-state-carried", "precomputed-outside-loop",
    "accumulated-history", "freed-by-grad-call", "inplace-after-save",
    "param-updated-before-backward", "leaf-inplace", "broken-graph", "no-grad-scope", "non-scalar",
    "missing-create-graph", "zero-grad-misuse", "needless-retain", "stale-optimizer-params",
    "nonleaf-grad", "healthy",
}  # fmt: skip
PROBES = {
    "expr", "graph-growth", "warning", "unreleased-nodes", "gradients-used-again", "no-gradient",
    "not-in-optimizer",
}  # fmt: skip


def load_cases() -> list[dict[str, Any]]:
    """The entries of all label files, in order."""
    cases: list[dict[str, Any]] = []
    for path in sorted(CASES.glob("cases_*.json")):
        cases += json.loads(path.read_text())["cases"]
    return cases


def label_problems(case: dict[str, Any]) -> list[str]:
    """What is wrong with a label by itself: unknown words, lines that do not exist or are blank."""
    problems = []
    for category in [case["category"], *case["category_also"]]:
        if category not in CATEGORIES:
            problems.append(f"unknown category {category}")
    if case["category"] == "healthy":
        return problems
    for fix in case["fixes"]:
        if fix["kind"] not in KINDS:
            problems.append(f"unknown kind of fix {fix['kind']}")
        if not fix["lines"]:
            problems.append(f"no lines for {fix['kind']}")
    places = [*case["culprit"], *case["culprit_also"], *case["freed_also"]]
    places += [place for fix in case["fixes"] for place in fix["lines"]]
    places += [place for place in (case["error_line"], case["freed_at"]) if place is not None]
    for place in places:
        path = CASES / place["file"]
        lines = path.read_text().splitlines() if path.is_file() else []
        if not 1 <= place["line"] <= len(lines) or not lines[place["line"] - 1].strip():
            problems.append(f"no code at {place['file']}:{place['line']}")
    if not case["fixes"] or not case["culprit"]:
        problems.append("no fix or no culprit")
    if case["error"] == "silent" and "probe" not in case:
        problems.append("a silent case without probe")
    if "probe" in case and case["probe"]["kind"] not in PROBES:
        problems.append(f"unknown probe {case['probe']['kind']}")
    return problems


def run_problems(case: dict[str, Any], observer: Observer) -> list[str]:
    """What real PyTorch does differently from the label."""
    probe = case.get("probe")
    seen = observer.run(CASES / case["script"], probe=probe)
    problems = []
    if case["error"] in ("healthy", "silent"):
        if seen["status"] != "ok":
            problems.append(f"the script fails: {described(seen)}")
        elif case["error"] == "silent" and not seen["symptom"]:
            problems.append(f"no symptom: probe {probe}, live nodes {seen['nodes']}")
    else:
        if seen["status"] != "error":
            problems.append(f"the script does not fail: {described(seen)}")
        elif seen["type"] != case["error"]["type"]:
            problems.append(f"another exception: {described(seen)}")
        elif not seen["message"].startswith(case["error"]["startswith"]):
            problems.append(f"another message: {described(seen)}")
        elif seen["lines"][-1:] != [case["error_line"]]:
            problems.append(f"another line: {described(seen)}")
    if case["fixed"] is not None:
        fixed = observer.run(repaired(CASES / case["fixed"]), probe=probe)
        if fixed["status"] != "ok":
            problems.append(f"the fixed script fails: {described(fixed)}")
        elif fixed["symptom"]:
            problems.append(f"the fixed script has the symptom, live nodes {fixed['nodes']}")
    if "retain_everywhere" in case:
        kept = observer.run(CASES / case["script"], retain=True)
        if retained(kept) != case["retain_everywhere"].replace("wrong", "runs"):
            problems.append(f"with every graph kept: {described(kept)}")
    return problems


def retained(seen: dict[str, Any]) -> str:
    """The word for a run with every graph kept."""
    if seen["status"] == "ok":
        return "runs"
    in_place = "modified by an inplace operation" in seen.get("message", "")
    return "version-error" if in_place else "other error"


def described(seen: dict[str, Any]) -> str:
    where = ", ".join(f"{each['file']}:{each['line']}" for each in seen["lines"])
    if seen["status"] != "error":
        return str(seen["status"])
    return f"{seen['type']}: {seen['message'].splitlines()[0][:120]} ({where})"


def main() -> None:
    wanted = set(sys.argv[1:])
    observer = Observer()
    wrong = 0
    cases = [case for case in load_cases() if not wanted or case["id"] in wanted]
    for case in cases:
        for problem in label_problems(case) + run_problems(case, observer):
            wrong += 1
            print(f"{case['id']} {case['script']}: {problem}")
    observer.close()
    print(f"{len(cases)} cases, {wrong} problems")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
