"""`torch.profiler` beside PyTorch's: schedules, what is recorded when, trace files, misuse."""

from __future__ import annotations

import json
import warnings

import pytest

torch = pytest.importorskip("torch")
import retrograd

pytestmark = pytest.mark.torch


def both(program):
    """What a program returns, run with either library."""
    return program(torch), program(retrograd)


def outcome(function):
    """The result of a call as text, or the type and first line of its error."""
    try:
        return repr(function())
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2},
        {"wait": 0, "warmup": 1, "active": 1, "skip_first": 3},
        {"wait": 3, "warmup": 2, "active": 1, "repeat": 1, "skip_first": 2, "skip_first_wait": 1},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1, "repeat": 2},
    ],
    ids=str,
)
def test_schedules(plan):
    theirs, ours = both(lambda t: [t.profiler.schedule(**plan)(s).name for s in range(20)])
    assert ours == theirs


@pytest.mark.parametrize(
    "plan",
    [
        {"wait": -1, "warmup": 1, "active": 1},
        {"wait": 1, "warmup": 1, "active": 0},
        {"wait": 1, "warmup": 1, "active": 1, "repeat": -1},
    ],
    ids=str,
)
def test_wrong_schedules(plan):
    theirs, ours = both(lambda t: outcome(lambda: t.profiler.schedule(**plan)))
    assert ours == theirs
    theirs, ours = both(
        lambda t: outcome(lambda: t.profiler.schedule(wait=1, warmup=1, active=1)(-1))
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "plan",
    [
        None,
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1},
        {"wait": 9, "warmup": 1, "active": 1},
        {"wait": 4, "warmup": 3, "active": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("accumulate", [False, True])
def test_traces_of_a_schedule(plan, accumulate):
    def run(t):
        seen = []

        def ready(prof):
            names = sorted(
                (e.key, e.count)
                for e in prof.key_averages()
                if e.key in ("aten::exp", "ProfilerStep*")
            )
            seen.append((prof.step_num, names))

        schedule = None if plan is None else t.profiler.schedule(**plan)
        x = t.ones(2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.profiler.profile(
                activities=[t.profiler.ProfilerActivity.CPU],
                schedule=schedule,
                on_trace_ready=ready,
                acc_events=accumulate,
            ) as prof:
                for _ in range(7):
                    x.exp()
                    prof.step()
        steps = (
            []
            if prof.profiler is None
            else [e.trace_name for e in prof.events() if e.name == "ProfilerStep*"]
        )
        return seen, steps, prof.step_num, prof.current_action.name

    theirs, ours = both(run)
    assert ours == theirs


@pytest.mark.parametrize(
    "actions",
    ["WN", "RN", "RRSN", "SS", "SW", "SR", "NWRSN", "WWS", "D", "ND"],
)
def test_schedules_of_the_user(actions):
    letters = {"N": 0, "W": 1, "R": 2, "S": 3, "D": 4}

    def run(t):
        seen = []
        kinds = list(t.profiler.ProfilerAction)

        def schedule(step):
            return kinds[letters[actions[min(step, len(actions) - 1)]]]

        def go():
            with t.profiler.profile(
                schedule=schedule, on_trace_ready=lambda prof: seen.append(prof.step_num)
            ) as prof:
                for _ in actions:
                    t.ones(2)
                    prof.step()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = outcome(go)
        texts = [str(w.message) for w in caught if "Incorrect" in str(w.message)]
        return result, seen, texts

    theirs, ours = both(run)
    assert ours == theirs


WRONG_PROFILERS = {
    "no activities": lambda p: p.profile(activities=[]),
    "twice": lambda p: p.profile(activities=[p.ProfilerActivity.CPU, p.ProfilerActivity.CPU]),
    "not one": lambda p: p.profile(activities=["cpu"]),
    "one, and not one": lambda p: p.profile(activities=[p.ProfilerActivity.CPU, "cpu"]),
    "events": lambda p: p.profile().events(),
    "averages": lambda p: p.profile().key_averages(),
    "trace": lambda p: p.profile().export_chrome_trace("x"),
    "stacks": lambda p: p.profile().export_stacks("x"),
    "stop": lambda p: p.profile().stop(),
    "step": lambda p: p.profile().step(),
    "trace id": lambda p: p.profile().get_trace_id(),
    "activities": lambda p: p.supported_activities(),
    "only cuda": lambda p: p.profile(activities=[p.ProfilerActivity.CUDA]).start(),
}


@pytest.mark.parametrize("name", WRONG_PROFILERS)
def test_wrong_use_of_the_profiler(name):
    def run(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = outcome(lambda: WRONG_PROFILERS[name](t.profiler))
        return result, [(w.category.__name__, str(w.message)) for w in caught]

    theirs, ours = both(run)
    assert ours == theirs


def test_trace_files(tmp_path):
    def run(t):
        folder = tmp_path / t.__name__
        with t.profiler.profile(
            record_shapes=True,
            on_trace_ready=t.profiler.tensorboard_trace_handler(str(folder), "worker"),
        ) as prof:
            prof.add_metadata("note", "a text")
            prof.add_metadata_json("numbers", "[1, 2]")
            with t.profiler.record_function("block"):
                t.ones(2, 3).exp()
        [file] = folder.iterdir()
        worker, number, *kind = file.name.split(".")
        trace = json.loads(file.read_text())
        wanted = ("block", "aten::exp")
        events = [
            (e["name"], e["ph"], e["cat"], e["args"].get("Input Dims"), e["args"].get("Input type"))
            for e in trace["traceEvents"]
            if e["name"] in wanted
        ]
        facts = {k: trace[k] for k in ("note", "numbers", "record_shapes", "schemaVersion")}
        return worker, number.isdigit(), kind, events, facts

    theirs, ours = both(run)
    assert ours == theirs
