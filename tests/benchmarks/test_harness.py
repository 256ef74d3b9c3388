"""The benchmark harness: its arithmetic, and that every workload runs on retrograd."""

import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import retrograd
from benchmarks.memory import peaks
from benchmarks.runner import ROOT, Measurement, Ratio, Worker, WorkerError, difference, spread
from benchmarks.size import rooms, total
from benchmarks.start import start, table
from benchmarks.tables import mean_row, means, row
from benchmarks.worker import answer, values_after_steps
from benchmarks.workloads import EVERY, WORKLOADS
from benchmarks.workloads.loading import LOADING
from benchmarks.workloads.single import OPS, SINGLE_OPS, forms, named


def test_ratio_is_the_median_over_paired_rounds() -> None:
    measurement = Measurement("add", 10, {"PyTorch": [2.0, 6.0, 3.0], "subject": [1.0, 2.0, 3.0]})
    assert measurement.ratio("PyTorch", "subject") == Ratio(2.0, 1.5, 2.5)
    assert measurement.microseconds("PyTorch") == pytest.approx(3.0 / 10 * 1e6)


def results(**ratios: float) -> list[dict[str, Any]]:
    """Rows as the benchmark gives them: PyTorch takes 10 us, JAX 5."""
    return [
        {
            "workload": name,
            "title": f"title of {name}",
            "microseconds": {"reference": 10.0, "subject": 10.0 / ratio, "jax": 5.0},
            "ratio": {"median": ratio, "low": ratio, "high": ratio},
            "beside_jax": {"median": ratio / 2, "low": ratio / 2, "high": ratio / 2},
            "control": {"median": 1.0, "low": 0.9, "high": 1.1},
            "not_replayed": None,
        }
        for name, ratio in ratios.items()
    ]


def test_a_row_has_its_figures_below_the_columns() -> None:
    (found,) = results(chain=4.0)
    lines = [
        "chain                  10 us    2.5 us      5 us   4.00   4.00-4.00    2.00   2.00-2.00"
        "     1.00  0.90-1.10",
        "chain                  10 us    2.5 us   4.00   4.00-4.00     1.00  0.90-1.10",
    ]
    assert [row(found, jax=True), row(found, jax=False)] == lines
    mean = mean_row(means([found]), jax=True)
    assert [mean[end - 4 : end] for end in (55, 75, 96)] == ["4.00", "2.00", "1.00"]


def test_what_is_not_replayed_says_so_and_is_not_in_the_mean() -> None:
    found = results(one=4.0, two=1.0)
    found[1]["not_replayed"] = "data is read"
    assert row(found[1], jax=False).endswith("0.90-1.10  not replayed: data is read")
    assert means(found)["ratio"] == pytest.approx(4.0)


def test_a_worker_says_why_a_workload_is_not_replayed() -> None:
    reply = answer(retrograd, {"do": "replay", "workload": "chain"})
    assert reply == {"reason": None}
    assert answer(retrograd, {"do": "replay", "workload": "policy"})["reason"]


def test_spread_of_one_round() -> None:
    assert spread([1.25]) == Ratio(1.25, 1.25, 1.25)


def test_a_baseline_worker_takes_the_library_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "retrograd").mkdir()
    (tmp_path / "retrograd" / "__init__.py").write_text("__version__ = 'older'")
    with Worker("baseline", "retrograd", folder=tmp_path) as worker:
        assert worker.version == "older"


def test_a_folder_without_the_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="not from"):
        Worker("baseline", "retrograd", folder=tmp_path)


def test_start_measures_a_fresh_process() -> None:
    found = start("retrograd", ROOT)
    assert found["modules"] > 10
    assert 0 < found["import"] <= found["seconds"]


def test_start_compares_with_retrograd_round_by_round() -> None:
    own = [{"seconds": 1.0, "modules": 5}, {"seconds": 2.0, "modules": 5}]
    other = [{"seconds": 3.0, "modules": 9}, {"seconds": 6.0, "modules": 9}]
    row = table({"retrograd": own, "PyTorch": other})[1]
    assert (row["subject"], row["seconds"], row["modules"]) == ("PyTorch", 4.5, 9)
    assert row["ratio"]["median"] == 3.0


def test_size_counts_the_lines_of_a_room(tmp_path: Path) -> None:
    room = tmp_path / "retrograd" / "room" / "inner"
    room.mkdir(parents=True)
    (room / "one.py").write_text("a = 1\n\nb = 2\n")
    (room / "two.c").write_text("int x;\n")
    (tmp_path / "retrograd" / "beside.py").write_text("c = 3\n")
    assert rooms(tmp_path) == {"(modules)": {"python": 1}, "room": {"python": 3, "compiled": 1}}
    assert total(rooms(tmp_path), "python") == 4


def test_difference_names_the_first_tensor_that_differs() -> None:
    expected = [{"shape": [2], "dtype": "float32", "values": [1.0, 2.0]}, None]
    wrong_value = [{"shape": [2], "dtype": "float32", "values": [1.0, 2.1]}, None]
    wrong_dtype = [{"shape": [2], "dtype": "float64", "values": [1.0, 2.0]}, None]
    assert difference(expected, expected) is None
    assert difference(expected, wrong_value) == "a value of tensor 0: 2.0 against 2.1"
    assert difference(expected, wrong_dtype) == "dtype of tensor 0: float32 against float64"
    assert difference(expected, [None, None]) == "tensor 0 is missing on one side"


def test_small_numbers_may_differ_by_the_rounding_of_the_large_ones_beside_them() -> None:
    def tensor(*values: float) -> list[dict[str, object] | None]:
        return [{"shape": [2], "dtype": "float32", "values": list(values)}]

    assert difference(tensor(80.0, 0.00861), tensor(80.0, 0.00863)) is None
    assert difference(tensor(8.0, 0.00861), tensor(8.0, 0.00863)) is not None


def test_a_workload_that_raises_is_reported_in_one_line() -> None:
    reply = answer(ModuleType("empty"), {"do": "time", "workload": "add", "iterations": 1})
    assert reply == {"error": "AttributeError: module 'empty' has no attribute 'tensor'"}


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "large"])
def test_workload_runs_on_retrograd(name: str) -> None:
    results = values_after_steps(retrograd, name)
    for numbers in results:
        assert numbers is None or all(math.isfinite(value) for value in numbers["values"])


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_peak_memory_sees_what_a_workload_holds() -> None:
    # 4 million float32 take 16 MB; forward and backward hold several such arrays at once
    found = peaks(retrograd, "large")
    # saved for backward: four arrays of 4M floats; a step that counted nothing would say 0
    assert 4 * 16_000_000 <= found["arrays"] < 6 * 16_000_000
    assert found["resident"] > 2 * 16_000_000


def test_no_name_is_given_twice() -> None:
    assert len(EVERY) == len(WORKLOADS) + len(OPS) + len(LOADING)


@pytest.mark.parametrize("name", LOADING)
def test_every_epoch_runs(name: str) -> None:
    prepared = LOADING[name].prepare(retrograd)
    assert len(prepared.step()) == 2 and not prepared.leaves


@pytest.mark.parametrize("op", SINGLE_OPS)
def test_every_single_op_runs_and_has_gradients(op: str) -> None:
    size = next(iter(SINGLE_OPS[op]))
    for form in forms(op, size):
        prepared = OPS[named(op, size, form)].prepare(retrograd)
        prepared.step()
        if "both" in forms(op, size):
            assert all((leaf.grad is not None) == (form == "both") for leaf in prepared.leaves)
