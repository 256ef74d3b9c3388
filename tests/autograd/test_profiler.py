"""The profiler on its own: what it leaves behind, what it may not change, what it refuses."""

from __future__ import annotations

import gzip
import json
import threading
from types import ModuleType

import numpy as np
import pytest

import retrograd as torch
from retrograd.engine.profiling import PROFILER
from retrograd.engine.state import HOT
from retrograd.ops.registry import RAW
from tests.ops.compare import build, cases, flatten, function_of

profiler = torch.autograd.profiler


def names_of(prof):
    return [event.name for event in prof.function_events]


def test_a_session_leaves_everything_as_it_was():
    def looks():
        return (
            {name: HOT[name] for name in ("dispatch", "dispatch_inplace", "dispatch_out")},
            dict(vars(RAW)),
            # modules that are first used in the session stay
            {n: v for n, v in vars(torch).items() if not isinstance(v, ModuleType)},
            dict(vars(torch.nn.functional)),
            dict(vars(torch.Tensor)),
            torch.optim.SGD.step,
            torch.autograd.function.call_function,
            HOT["UNUSUAL"],
            PROFILER.active,
        )

    torch.ones(2).exp()  # built at the first call
    before = looks()
    with profiler.profile():
        assert looks() != before
        torch.ones(2).exp()
    assert looks() == before
    with pytest.raises(ZeroDivisionError), profiler.profile():
        raise ZeroDivisionError
    assert looks() == before


def test_gradients_are_the_same_with_a_profiler():
    def gradients():
        torch.manual_seed(0)
        layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        x = torch.randn(5, 4, requires_grad=True)
        kept = x.view(20)[3:7]
        loss = torch.nn.functional.mse_loss(layers(x).tanh(), torch.zeros(5, 3)) + (kept**2).mean()
        loss.backward()
        return [p.grad.numpy() for p in (x, *layers.parameters())]

    plain = gradients()
    with profiler.profile(
        record_shapes=True, profile_memory=True, with_stack=True, with_flops=True
    ):
        profiled = gradients()
    for one, other in zip(plain, profiled, strict=True):
        assert np.array_equal(one, other)


def outcome_of(name, sample):
    """Results and gradients of a sample, or the error it raises."""
    torch.manual_seed(0)
    args, kwargs, leaves = build(sample, torch, "float64", False, True)
    try:
        results = flatten(function_of(name, torch)(*args, **kwargs))
        roots = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
        if roots:
            torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    except Exception as error:
        return [type(error), str(error)]
    found = [r._array if isinstance(r, torch.Tensor) else r for r in results]
    return found + [None if leaf.grad is None else leaf.grad._array for leaf in leaves]


@pytest.mark.filterwarnings("ignore")
def test_ops_do_the_same_with_a_profiler():
    """Every twentieth sample of all ops and compositions."""
    chosen = [case for case in cases()[::20] if "float64" in case[1].dtypes]
    plain = [outcome_of(*case) for case in chosen]
    with profiler.profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        profiled = [outcome_of(*case) for case in chosen]
    for case, one, other in zip(chosen, plain, profiled, strict=True):
        assert len(one) == len(other), case
        for a, b in zip(one, other, strict=True):
            same = np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b
            assert same or repr(a) == repr(b), case
    assert len(prof.function_events) > len(chosen)


def test_grad_keeps_its_identity():
    x = torch.ones(2, requires_grad=True)
    with profiler.profile():
        (x * 2).sum().backward()
        first = x.grad
        (x * 2).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4.0, 4.0]


def test_hooks_and_restricted_runs():
    x = torch.ones(2, requires_grad=True)
    seen = []
    with profiler.profile() as prof:
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()))
        z = y.exp()
        [gradient] = torch.autograd.grad(z.sum(), y, retain_graph=True)
        z.sum().backward(inputs=[x])
    assert np.array_equal(gradient.numpy(), z.detach().numpy())
    assert len(seen) == 2
    nodes = [event.name for event in prof.function_events if event.scope == 1]
    ends = ["MulBackward0", "torch::autograd::AccumulateGrad"]
    assert nodes == ["SumBackward0", "ExpBackward0", "SumBackward0", "ExpBackward0", *ends]


def test_second_order():
    x = torch.full((2,), 3.0, requires_grad=True)
    with profiler.profile() as prof:
        [first] = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        [second] = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [18.0, 18.0]
    power = next(e for e in prof.function_events if e.name == "PowBackward0")
    assert "aten::mul" in [child.name for child in power.cpu_children]


def test_self_times_add_up():
    x = torch.ones(4, requires_grad=True)
    with profiler.profile() as prof, profiler.record_function("all"):
        (x * 2).sum().backward()
    outer = prof.function_events[0]
    assert outer.name == "all"
    assert prof.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    for event in prof.function_events:
        assert event.time_range.start <= event.time_range.end
        assert event.self_cpu_time_total >= 0
    total = prof.total_average()
    assert total.count == len(prof.function_events)
    assert "Self CPU time total:" in str(prof)


def test_stacks_are_the_users_lines(tmp_path):
    x = torch.ones(2, requires_grad=True)

    def inner():
        return x.exp()

    def outer():
        return inner()

    with profiler.profile(with_stack=True) as prof:
        outer().sum().backward()
    forward = next(e for e in prof.function_events if e.name == "aten::exp")
    assert [entry.rpartition(": ")[2] for entry in forward.stack[:2]] == ["inner", "outer"]
    assert all("test_profiler.py(" in entry for entry in forward.stack[:2])
    # a backward node shows the place in the forward pass
    backward = next(e for e in prof.function_events if e.name == "ExpBackward0")
    assert backward.stack == forward.stack
    grouped = prof.key_averages(group_by_stack_n=1)
    assert "Source Location" in grouped.table()
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    assert "inner" in (tmp_path / "stacks.txt").read_text()


def test_sessions_in_two_threads():
    found = {}
    ready = threading.Barrier(2)

    def work(name, operation):
        with profiler.profile() as prof:
            ready.wait()
            operation(torch.ones(2))
            ready.wait()
        found[name] = prof

    threads = [
        threading.Thread(target=work, args=("exp", torch.Tensor.exp)),
        threading.Thread(target=work, args=("sin", torch.Tensor.sin)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, prof in found.items():
        assert [e for e in names_of(prof) if e != "aten::ones"] == [f"aten::{name}"]
    assert len({prof.function_events[0].thread for prof in found.values()}) == 2
    assert HOT["UNUSUAL"] == PROFILER.active == 0


def test_a_session_in_a_session_says_so():
    with pytest.warns(UserWarning, match="no active profiling session"), profiler.profile() as one:
        with profiler.profile() as two:
            torch.ones(2)
    assert names_of(one) == []
    assert names_of(two) == ["aten::ones"]


def test_an_operator_left_to_the_other_operand_is_no_event():
    class Other:
        def __rmul__(self, tensor):
            return "other"

        __rmatmul__ = __rmul__

    x = torch.ones(2)
    with profiler.profile() as prof:
        assert x * Other() == "other"
        assert x @ Other() == "other"
    assert names_of(prof) == []


def test_pausing():
    x = torch.ones(2)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile() as prof:
        x.exp()
        prof.toggle_collection_dynamic(False, cpu)
        x.sin()
        prof.toggle_collection_dynamic(True, cpu)
        x.cos()
    assert [event.name for event in prof.events()] == ["aten::exp", "aten::cos"]
    with torch.profiler.profile() as prof:
        prof.toggle_collection_dynamic(False, cpu)
        x.sin()
    assert prof.events() == []
    assert HOT["UNUSUAL"] == PROFILER.active == 0


def test_compressed_trace(tmp_path):
    with torch.profiler.profile() as prof:
        x = torch.ones(2, requires_grad=True)
        x.exp().sum().backward()
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    with gzip.open(tmp_path / "trace.json.gz") as file:
        trace = json.load(file)
    events = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    numbers = {events[n]["args"]["Sequence number"] for n in ("aten::exp", "ExpBackward0")}
    assert len(numbers) == 1
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events.values())


@pytest.mark.parametrize(
    "refused",
    [
        lambda: profiler.emit_nvtx(),
        lambda: profiler.emit_itt(),
        lambda: profiler.load_nvprof("file"),
        lambda: profiler.parse_nvprof_trace("file"),
        lambda: profiler.profile(experimental_config=object()),
        lambda: torch.profiler.profile(experimental_config=object()),
        lambda: torch.profiler.ExecutionTraceObserver(),
        lambda: torch.profiler.profile().export_memory_timeline("file"),
    ],
)
def test_what_is_not_supported_says_so(refused):
    with pytest.raises(NotImplementedError, match="is not supported by retrograd"):
        refused()


def test_deprecated_names_of_times():
    with profiler.profile() as prof:
        torch.ones(2)
    with pytest.warns(FutureWarning, match="Use `device_time_total` instead"):
        assert prof.function_events[0].cuda_time_total == 0


def test_step_tracker():
    tracker = profiler.KinetoStepTracker
    start = tracker.current_step()
    tracker.init_step_count("one")
    assert tracker.increment_step("one") == start + 1
    assert tracker.increment_step("two") == start + 2
    assert tracker.increment_step("one") == start + 2
    assert tracker.erase_step_count("one")
    assert not tracker.erase_step_count("one")
    tracker.erase_step_count("two")


def test_enforce_unique():
    checker = profiler.EnforceUnique()
    checker.see("a", 1)
    with pytest.raises(RuntimeError, match="duplicate key"):
        checker.see("a", 1)
