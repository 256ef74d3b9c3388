"""The page of figures: what it says follows from what was measured, and from nothing else."""

import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page as module
from benchmarks.page import page, processor

FACTS = {"reference": "2.13", "subject": "retrograd 1", "python": "3.11", "rounds": 3}


def times(**ratios: float) -> dict[str, Any]:
    results = [
        {
            "workload": name,
            "title": f"title of {name}",
            "microseconds": {"reference": 10.0, "subject": 10.0 / ratio, "jax": 5.0},
            "ratio": {"median": ratio},
            "beside_jax": {"median": ratio / 2},
            "control": {"median": 1.0},
            "not_replayed": None,
        }
        for name, ratio in ratios.items()
    ]
    mean = {"ratio": 1.2, "beside_jax": 0.6, "control": 1.0}
    return {**FACTS, "geometric_mean": mean, "results": results, "failures": []}


def test_the_page_says_where_pytorch_is_ahead_the_farthest_first() -> None:
    text = page({"eager": times(slow=0.5, near=0.9, quick=3.0)}, "a machine, 2 cores")
    assert "Measured on a machine, 2 cores." in text
    assert "`python -m benchmarks`, PyTorch 2.13, retrograd 1, Python 3.11, 3 rounds" in text
    assert "PyTorch is ahead in: title of slow (0.50); title of near (0.90)." in text
    assert "| title of quick | 10 us | 3.33 us | 3.00 | 1.00 |" in text
    assert "| geometric mean |  |  | 1.20 | 1.00 |" in text


def test_where_nothing_is_behind_it_says_so_and_what_failed_is_named() -> None:
    found = times(quick=3.0)
    found["failures"] = [{"workload": "broken", "error": "it raised"}]
    text = page({"threads": found}, "a machine")
    assert text.endswith("PyTorch is ahead in: none of them.\n\nNot measured: broken: it raised.\n")


def test_replay_stands_beside_jax_and_what_has_no_plan_is_apart() -> None:
    found = times(quick=3.0, slower=1.5, plain=2.5, alone=4.0)
    found["results"][2]["not_replayed"] = "data is read"
    found["results"][3]["not_replayed"] = "it draws"
    del found["results"][3]["beside_jax"]
    text = page({"replay": found}, "a machine")
    assert "| title of quick | 10 us | 3.33 us | 5 us | 3.00 | 1.50 | 1.00 |" in text
    assert "| geometric mean |  |  |  | 1.20 | 0.60 | 1.00 |" in text
    assert "PyTorch is ahead in: none of them." in text
    assert "jax.jit is ahead in: title of slower (0.75)." in text
    assert "Not replayed: title of plain: data is read (jax / retrograd: 1.25)." in text
    assert "Not replayed: title of alone: it draws (jax / retrograd: no twin)." in text
    assert "| title of plain |" not in text


def test_memory_lists_what_takes_more() -> None:
    peaks = {"reference": {"arrays": 5000}, "subject": {"arrays": 2**21}}
    free = {"reference": {"arrays": 2048}, "subject": {"arrays": 0}}
    rows = [{"workload": "slow", "peaks": peaks}, {"workload": "none", "peaks": free}]
    text = page({"memory": {"results": rows, "failures": []}}, "a machine")
    assert "| slow | 4.9 KiB | 2.0 MiB | 0.00 |" in text
    assert "| none | 2.0 KiB | 0.0 KiB | inf |" in text
    assert text.endswith("PyTorch takes less in: slow (0.00).\n")


def single() -> dict[str, Any]:
    figures = {"reference": 2.0, "subject": 4.0, "ratio": 0.5, "control": 1.0}
    good = {**figures, "subject": 1.0, "ratio": 2.0}
    rows = [
        {"op": "mul", "size": "4x8", "forward": good, "both": figures},
        {"op": "item", "size": "1", "forward": figures},
    ]
    return {
        "results": rows,
        "geometric_mean": {"forward": 1.0, "both": 0.5},
        "failures": [{"op": "view", "size": "4x8", "error": "it raised"}],
    }


def test_single_ops_have_both_forms_or_one() -> None:
    text = page({"ops": single()}, "a machine")
    assert "| mul | 4x8 | 2 us | 1 us | 2.00 | 2 us | 4 us | 0.50 | 1.00, 1.00 |" in text
    assert "| item | 1 | 2 us | 4 us | 0.50 |  |  |  | 1.00 |" in text
    assert "PyTorch is ahead in the call: item 1 (0.50)." in text
    assert "PyTorch is ahead in the call with `backward`: mul 4x8 (0.50)." in text
    assert "Not measured: view 4x8: it raised." in text


def test_tables_have_as_many_cells_in_every_line() -> None:
    widths = {
        len({line.count(" |") for line in part.splitlines() if line.startswith("| ")})
        for part in page({"eager": times(a=2.0), "replay": times(a=2.0)}, "x").split("\n## ")[1:]
    }
    assert widths == {1}


def test_sections_that_are_not_measured_anew_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def measured(command: list[str], quick: bool) -> dict[str, Any]:
        asked.append([*command, str(quick)])
        return times(quick=3.0)

    monkeypatch.setattr(module, "measured", measured)
    path = tmp_path / "performance.md"
    old = page({"eager": times(slow=0.25), "threads": times(slow=0.25), "ops": single()}, "x")
    path.write_text(old)
    monkeypatch.setattr(sys, "argv", ["page", str(path), "--only", "threads", "--quick"])
    module.main()
    assert asked == [["benchmarks", "--threads", "2", "True"]]
    text = path.read_text()
    first, threads = text.split("## Two threads")
    threads, ops = threads.split("## Single ops")
    assert "title of slow (0.25)" in first
    assert "title of quick" in threads and "title of slow" not in threads
    assert ops == old.split("## Single ops")[1]
    assert [entry.name for entry in tmp_path.glob("*.new")] == []


def test_a_benchmark_that_prints_nothing_ends_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="failed with exit code"):
        module.measured(["benchmarks", "--no-such-option"], quick=True)


def test_the_processor_is_named_by_the_system() -> None:
    assert processor("processor : 0\nmodel name\t: Fast One\n") == "Fast One"
    assert processor("") != ""
