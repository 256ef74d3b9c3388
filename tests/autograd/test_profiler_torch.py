"""The profiler beside PyTorch's: names, nesting, counts, texts. Times are not compared."""

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


def top_level(prof):
    return [event.name for event in prof.function_events if event.cpu_parent is None]


# --------------------------------------------------------------------------- what is recorded


FORWARD_PROGRAMS = {
    "arithmetic": lambda t, x, y: (x * 2 + y - 1) / 3,
    "unary": lambda t, x, y: (-x).exp().sin().tanh(),
    "in place": lambda t, x, y: x.clone().add_(1).mul_(y),
    "reductions": lambda t, x, y: (x.sum(), x.mean(), x.sum(0), t.max(x)),
    "views": lambda t, x, y: (x.t(), x.view(9), x[0], x.transpose(0, 1), x.detach()),
    "products": lambda t, x, y: (x @ y, t.matmul(x, y), t.mm(x, y)),
    "out": lambda t, x, y: t.add(x, y, out=t.empty(3, 3)),
    "creation": lambda t, x, y: (t.zeros(2), t.ones(2), t.randn(3), t.arange(4), t.full((2,), 1.0)),
    "lists": lambda t, x, y: (t.cat([x, y]), t.stack([x, y])),
    "comparison": lambda t, x, y: (x > y, x == y),
    "network": lambda t, x, y: t.nn.functional.relu(t.nn.functional.linear(x, y)).softmax(0),
}


@pytest.mark.parametrize("name", FORWARD_PROGRAMS)
def test_forward_events_have_the_same_names(name):
    program = FORWARD_PROGRAMS[name]

    def run(t):
        x, y = t.ones(3, 3), t.ones(3, 3)
        with t.autograd.profiler.profile() as prof:
            program(t, x, y)
        return top_level(prof)

    theirs, ours = both(run)
    assert ours == theirs


def test_events_of_ops_are_named_after_pytorchs():
    from retrograd.ops.calling.aten_names import event_name
    from retrograd.ops.registry import OPS

    unknown = {}
    for name, op in OPS.items():
        space, _, shown = event_name(op).partition("::")
        if space == "aten" and not hasattr(torch.ops.aten, shown):
            unknown[name] = shown
    assert not unknown, "give them a name in ops/calling/aten_names.py"


def test_backward_events_have_the_same_names_and_order():
    def run(t):
        x = t.ones(3, 4, requires_grad=True)
        w = t.ones(4, 5, requires_grad=True)
        with t.autograd.profiler.profile() as prof:
            ((x * 2 + 1) @ w).relu().sum().backward()
        return [e.name for e in prof.function_events if "Backward" in e.name or "Accum" in e.name]

    theirs, ours = both(run)
    assert ours == theirs


def test_ops_inside_backward_nodes():
    def run(t):
        x = t.ones(3, 4, requires_grad=True)
        w = t.ones(4, 5, requires_grad=True)
        with t.autograd.profiler.profile(record_shapes=True) as prof:
            y = (x * 2) @ w
            y.backward(t.ones(3, 5))
        found = {}
        for event in prof.function_events:
            if event.scope == 1 and event.name != "torch::autograd::AccumulateGrad":
                inside = [(child.name, child.input_shapes) for child in event.cpu_children]
                found[event.name] = (event.input_shapes, sorted(map(str, inside)))
        return found

    theirs, ours = both(run)
    assert ours == theirs


def test_several_roots():
    def run(t):
        x = t.ones(2, requires_grad=True)
        with t.autograd.profiler.profile() as prof:
            t.autograd.backward([(x * 2).sum(), (x * 3).sum()])
        return [e.name for e in prof.function_events if e.scope == 1]

    theirs, ours = both(run)
    assert ours == theirs


def test_sequence_numbers_link_forward_and_backward():
    def run(t):
        with t.autograd.profiler.profile(use_kineto=t.autograd.profiler.kineto_available()) as prof:
            x = t.ones(4, 4, requires_grad=True)
            (x + x).sum().backward()
        links = []
        for name in ("Add", "Sum"):
            forward = next(e for e in prof.function_events if e.name == f"aten::{name.lower()}")
            nodes = [e for e in prof.function_events if f"{name}Backward" in e.name]
            assert forward.fwd_thread == 0
            assert [e.sequence_nr for e in nodes] == [forward.sequence_nr] * 2
            links.append([(e.name, e.scope, e.fwd_thread == forward.thread) for e in nodes])
        ends = [(e.sequence_nr, e.scope) for e in prof.function_events if "Accumulate" in e.name]
        return links, ends

    theirs, ours = both(run)
    assert ours == theirs


def test_blocks_of_the_user():
    def run(t):
        mark = t.autograd.profiler.record_function

        @mark("function")
        def function(x):
            return x + 1

        with t.autograd.profiler.profile() as prof:
            x = t.ones(2)
            with mark("outer"):
                function(x)
                with mark("inner", "arguments"):
                    x * 2
            function(x)
            left_open = mark("open")
            left_open.__enter__()
        left_open.__exit__(None, None, None)
        assert function.__name__ == "function"
        wanted = ("function", "outer", "inner", "open", "aten::add", "aten::mul")
        return [
            (e.name, e.scope, e.is_user_annotation, e.cpu_parent and e.cpu_parent.name)
            for e in prof.function_events
            if e.name in wanted
        ]

    theirs, ours = both(run)
    assert ours == theirs


def test_custom_functions_and_optimizers():
    def run(t):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2 * ctx.saved_tensors[0]

        apply = Square.apply  # taken before the profiler starts
        x = t.ones(2, requires_grad=True)
        optimizer = t.optim.SGD([x], lr=0.1)
        with t.autograd.profiler.profile() as prof:
            apply(x).backward(t.ones(2))
            optimizer.step()
            optimizer.zero_grad()
        parents = {e.name: [c.name for c in e.cpu_children] for e in prof.function_events}
        names = [n for n in top_level(prof) if n not in ("aten::ones", "aten::add_")]
        return names, parents["Square"], parents["SquareBackward"]

    theirs, ours = both(run)
    assert ours == theirs


def test_shapes_types_and_values_of_arguments():
    def run(t):
        x = t.ones(3, 4, dtype=t.float64)
        with t.autograd.profiler.profile(record_shapes=True) as prof:
            t.add(x, 2.5, alpha=3)
            x * x[0]
            t.cat([x, x], dim=1)
            x.t().mm(x)
            x.add_(1)
        wanted = ("aten::add", "aten::mul", "aten::cat", "aten::mm", "aten::add_")
        return [
            (
                (e.name, e.input_shapes, e.structured_input_shapes, e.structured_input_strides),
                (e.input_dtypes, e.concrete_inputs),
            )
            for e in prof.function_events
            if e.name in wanted
        ]

    theirs, ours = both(run)
    assert ours == theirs


def test_floating_point_operations():
    def run(t):
        ones = t.ones
        with t.autograd.profiler.profile(with_flops=True) as prof:
            ones(3, 4) @ ones(4, 5)
            t.bmm(ones(2, 3, 4), ones(2, 4, 5))
            t.addmm(ones(3, 5), ones(3, 4), ones(4, 5))
            ones(2, 3) * ones(2, 3) + 1
            t.nn.functional.conv2d(ones(1, 2, 5, 6), ones(4, 2, 3, 3), None, 2, 1)
            t.nn.functional.conv2d(ones(1, 2, 5, 6), ones(4, 2, 3, 3))
        return {e.key: e.flops for e in prof.key_averages() if e.flops}

    theirs, ours = both(run)
    assert ours == theirs


def test_memory_of_results():
    def run(t):
        x, y = t.ones(8, 4), t.ones(4, 2)
        with t.autograd.profiler.profile(profile_memory=True) as prof:
            with t.autograd.profiler.record_function("block"):
                kept = [x.exp(), x.t(), x.mm(y), t.zeros(5), x.add_(x)]
        del kept
        wanted = ("block", "aten::exp", "aten::t", "aten::mm", "aten::zeros", "aten::add_")
        return {e.key: e.cpu_memory_usage for e in prof.key_averages() if e.key in wanted}

    theirs, ours = both(run)
    assert ours == theirs


def test_counts_in_averages():
    def run(t):
        x = t.ones(2, 2, requires_grad=True)
        with t.autograd.profiler.profile(record_shapes=True) as prof:
            for _ in range(3):
                (x.mm(x).tanh() + x).sum().backward()
            x.detach().mm(t.ones(2, 5))
        wanted = ("aten::mm", "aten::tanh", "aten::sum", "MmBackward0", "TanhBackward0")
        shaped = prof.key_averages(group_by_input_shape=True)
        return (
            {e.key: e.count for e in prof.key_averages() if e.key in wanted},
            {(e.key, str(e.input_shapes)): e.count for e in shaped if e.key == "aten::mm"},
        )

    theirs, ours = both(run)
    assert ours == theirs


def test_a_session_belongs_to_its_thread():
    import threading

    def run(t):
        x = t.ones(2)

        def work():
            with t.autograd.profiler.record_function("elsewhere"):
                x * 2

        with t.autograd.profiler.profile() as prof:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            x.exp()
        return top_level(prof)

    theirs, ours = both(run)
    assert ours == theirs


# ----------------------------------------------------------------------------- tables and texts


def made_events(t):
    """The same events in either library, with times of our own."""
    util = t.autograd.profiler_util

    def event(number, name, start, end, **facts):
        facts = {"stack": [], "input_shapes": [], "overload_name": "", "flops": 0, **facts}
        return util.FunctionEvent(number, name, 1, start, end, **facts)

    events = util.EventList(
        [
            event(1, "block", 0.0, 4_000_000.0, is_user_annotation=True),
            event(2, "aten::mm", 10.5, 2010.5, flops=2_500_000, input_shapes=[[3, 4], [4, 5]]),
            event(3, "aten::add", 20.25, 40.5, cpu_memory_usage=5000, stack=["a.py(3): f"]),
            event(4, "aten::mm", 3000.0, 3001.0, flops=1200, stack=["b.py(7): g", "a.py(9): f"]),
            event(5, "aten::mm", 5_000_000.0, 5_000_001.0, cpu_memory_usage=-(3 << 20)),
            event(6, "a_name_that_is_longer_than_what_the_table_shows_of_names_it_has", 6e6, 7e6),
        ],
        profile_memory=True,
        with_flops=True,
    )
    events._build_tree()
    return events


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort_by": "self_cpu_time_total", "row_limit": 3},
        {"sort_by": "cuda_time_total", "row_limit": -1},
        {"sort_by": "count", "row_limit": 0},
        {"header": "a heading", "top_level_events_only": True},
        {"time_unit": "ms"},
        {"time_unit": "s", "max_name_column_width": 20, "max_shapes_column_width": 10},
    ],
    ids=str,
)
@pytest.mark.parametrize("averaged", [False, True])
def test_tables_are_the_same(options, averaged):
    def run(t):
        events = made_events(t)
        if averaged:
            events = events.key_averages(group_by_input_shapes=True)
        for event in events:
            event.stack = []  # with stacks and flops PyTorch mixes the two columns up
        return events.table(**options)

    theirs, ours = both(run)
    assert ours == theirs


@pytest.mark.parametrize("width", [75, 8])
def test_tables_with_stacks(width):
    def run(t):
        events = made_events(t)
        events._with_flops = False
        return events.key_averages(group_by_stack_n=2).table(max_src_column_width=width)

    theirs, ours = both(run)
    assert ours == theirs


def test_events_and_averages_as_text():
    def run(t):
        events = made_events(t)
        averages = events.key_averages()
        return (
            *map(repr, events),
            *map(repr, averages),
            repr(events.total_average()),
            events.self_cpu_time_total,
            [(e.key, e.count, e.cpu_time, e.self_cpu_time_total, e.flops) for e in averages],
            [(e.cpu_time_str, e.self_cpu_memory_usage) for e in events],
        )

    theirs, ours = both(run)
    assert ours == theirs


def test_files_of_stacks(tmp_path):
    def run(t):
        path = tmp_path / "stacks.txt"
        made_events(t).export_stacks(str(path), "self_cpu_time_total")
        return path.read_text()

    theirs, ours = both(run)
    assert ours == theirs != ""
    theirs, ours = both(lambda t: outcome(lambda: made_events(t).export_stacks("x", "time")))
    assert ours == theirs


def test_chrome_trace_of_a_list(tmp_path):
    def run(t):
        path = tmp_path / "trace.json"
        events = made_events(t)
        for event in events:
            event.trace_name = event.name
        events.export_chrome_trace(str(path))
        return json.loads(path.read_text())

    theirs, ours = both(run)
    assert ours == theirs


def test_intervals_make_a_tree():
    ranges = [(0, 10), (1, 3), (3, 4), (2, 3), (9, 12), (12, 13), (12, 12)]

    def run(t):
        util = t.autograd.profiler_util
        events = util.EventList(
            [util.FunctionEvent(i, f"e{i}", 1, start, end) for i, (start, end) in enumerate(ranges)]
        )
        events._populate_cpu_children()
        return [
            (
                [c.id for c in e.cpu_children],
                e.cpu_parent and e.cpu_parent.id,
                e.self_cpu_time_total,
            )
            for e in events
        ]

    theirs, ours = both(run)
    assert ours == theirs


def test_only_child_of_the_same_name_is_merged():
    def run(t):
        util = t.autograd.profiler_util
        names = ["a", "a", "a", "b", "b"]
        events = util.EventList(
            [util.FunctionEvent(i, name, 1, i, 20 - i) for i, name in enumerate(names)]
        )
        events._populate_cpu_children()
        events._remove_dup_nodes()
        return [(e.id, [c.id for c in e.cpu_children]) for e in events]

    theirs, ours = both(run)
    assert ours == theirs


# ------------------------------------------------------------------------------------- misuse


MISUSE = {
    "repr before": lambda p, x: p.profile(),
    "text before": lambda p, x: str(p.profile()),
    "table before": lambda p, x: p.profile().table(),
    "events before": lambda p, x: p.profile().function_events,
    "total before": lambda p, x: p.profile().total_average(),
    "trace before": lambda p, x: p.profile().export_chrome_trace("x"),
    "stacks without": lambda p, x: p.profile().export_stacks("x"),
    "no cpu": lambda p, x: p.profile(use_cpu=False),
    "no activity": lambda p, x: p.profile(use_cpu=False, use_kineto=True),
    "timeout": lambda p, x: p.profile(post_processing_timeout_s=-1),
    "exit alone": lambda p, x: p.record_function("a").__exit__(None, None, None),
    "bad name": lambda p, x: p.record_function(3).__enter__(),
    "averages of averages": lambda p, x: p.EventList([]).key_averages(),
    "disabled": lambda p, x: p.profile(enabled=False).__enter__(),
    "cuda": lambda p, x: p.profile(use_cuda=True).use_device,
    "device": lambda p, x: p.profile(use_device="abc").use_device,
    "no events": lambda p, x: p.EventList([]).table(),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    def run(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = outcome(lambda: MISUSE[name](t.autograd.profiler, t.ones(2)))
        return result, [(w.category.__name__, str(w.message)) for w in caught]

    theirs, ours = both(run)
    assert ours == theirs


def test_entering_twice():
    def run(t):
        prof = t.autograd.profiler.profile()

        def again():
            with prof:
                t.ones(2)
                with prof:
                    pass

        first = outcome(again)
        second = outcome(prof.__enter__)
        return first, second, top_level(prof)

    theirs, ours = both(run)
    assert ours == theirs


def test_the_inner_of_two_sessions_wins():
    def run(t):
        x = t.ones(2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with t.autograd.profiler.profile() as outer:
                x.exp()
                with t.autograd.profiler.profile() as inner:
                    x.sin()
                x.cos()
        return top_level(outer), top_level(inner)

    theirs, ours = both(run)
    assert ours == theirs


def test_errors_inside():
    def run(t):
        with t.autograd.profiler.profile() as prof:
            try:
                t.ones(3) + t.ones(4)
            except RuntimeError:
                pass
            try:
                with t.autograd.profiler.record_function("block"):
                    raise ValueError("x")
            except ValueError:
                pass
        return top_level(prof), t.autograd._profiler_enabled()

    theirs, ours = both(run)
    assert ours == theirs


def test_enumerations():
    def run(t):
        kinds = (t.autograd.DeviceType, t.autograd.ProfilerActivity, t.autograd.ProfilerState)
        members = [{n: (repr(m), str(m)) for n, m in k.__members__.items()} for k in kinds]
        return members, {m.name: m.value for m in t.profiler.ProfilerAction}

    theirs, ours = both(run)
    assert ours == theirs
