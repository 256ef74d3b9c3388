"""Names that ordinary programs write: they are there, and those that cannot work say so."""

import os
from pathlib import Path

import pytest

import retrograd as torch
from retrograd.notices import _notices, notice
from tests import forked

ROOT = Path(__file__).resolve().parents[2]

IMPORTS = """
torch.backends.cudnn torch.backends.cuda torch.backends.mps torch.backends.mkl
torch.backends.mkldnn torch.backends.openmp torch.backends.opt_einsum torch.backends.cpu
torch.backends.mha torch.cuda.amp torch.cuda.nvtx torch.cuda.random torch.distributed
torch.distributed.algorithms.join
torch.distributed.checkpoint torch.distributed.device_mesh torch.distributed.distributed_c10d
torch.distributed.elastic.multiprocessing.errors torch.distributed.fsdp torch.distributed.nn
torch.distributed.optim torch.distributed.pipelining torch.distributed.rpc
torch.distributed.tensor torch.distributed.tensor.placement_types
torch.distributed._functional_collectives torch.distributed._composable.fsdp torch._dynamo
torch._dynamo.config torch._inductor.config torch.compiler torch.compiler.config torch.jit
torch.onnx torch.fx torch.export torch.accelerator torch.mps torch.xpu torch.mtia torch.cpu
torch.version torch.hub torch.library torch.multiprocessing torch.futures torch.package
torch.ao.quantization torch.quantization torch.monitor torch.nn.parallel
torch.nn.parallel.distributed torch.utils.data.distributed torch.utils.cpp_extension
torch.utils.model_zoo torch.utils.benchmark torch.utils.flop_counter torch.utils._pytree
torch.utils._foreach_utils torch.utils.backcompat torch.utils.collect_env
torch.utils.mobile_optimizer torch.utils.bundled_inputs torch.utils.throughput_benchmark
""".split()


def test_all_can_be_imported_and_reached(tmp_path: Path) -> None:
    lines = [f"import {name}\n{name}" for name in IMPORTS]
    program = tmp_path / "program.py"
    program.write_text("\n".join([*lines, "print('done')"]))
    command = ["-m", "retrograd", "run", str(program)]
    done = forked.python(command, environment={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.jit.save(torch.nn.Linear(1, 1), "file"),
        lambda: torch.jit.load("file"),
        lambda: torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1), "file"),
        lambda: torch.fx.symbolic_trace(torch.nn.Linear(1, 1)),
        lambda: torch.fx.Tracer(),
        lambda: torch.export.export(torch.nn.Linear(1, 1), ()),
        lambda: torch.export.Dim("batch"),
        lambda: torch.package.PackageExporter("file"),
        lambda: torch.ao.quantization.quantize_dynamic(torch.nn.Linear(1, 1)),
        lambda: torch.quantization.QuantStub(),
        lambda: torch.library.opcheck("a::b", ()),
        lambda: torch.library.Library("aten", "IMPL"),
        lambda: torch.utils.cpp_extension.load("name", []),
        lambda: torch.utils.flop_counter.FlopCounterMode(),
        lambda: torch.utils.model_zoo.load_url("https://example.org"),
        lambda: torch.utils.benchmark.Compare([]),
        lambda: torch.distributed.fsdp.FullyShardedDataParallel(torch.nn.Linear(1, 1)),
        lambda: torch.distributed.init_device_mesh("cpu", (1,)),
        lambda: torch.distributed.rpc.init_rpc("name"),
        lambda: torch._dynamo.explain(abs),
    ],
)
def test_what_cannot_work_names_itself_and_a_way_out(call) -> None:
    with pytest.raises(
        NotImplementedError, match=r"^torch\.[\w.]+ is not supported by retrograd: "
    ):
        call()


def test_models_and_functions_stay_themselves() -> None:
    model = torch.nn.Linear(1, 1)
    assert torch.compile(model)._orig_mod is torch.compile(mode="default")(model)._orig_mod is model
    assert torch.jit.script(model) is model and torch.jit.trace(model, torch.ones(1)) is model
    assert torch._dynamo.disable(model) is model and torch._dynamo.disable()(model) is model
    assert torch.compiler.disable(model) is model
    assert torch.compiler.disable(recursive=False)(model) is model
    assert torch._dynamo.optimize("inductor")(model) is model
    for mark in (torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.script_method):
        assert mark(abs) is abs
    assert torch.jit.ignore(drop=True)(abs) is abs
    assert not torch.jit.is_scripting() and not torch.compiler.is_compiling()


def test_a_notice_is_said_once_and_can_be_silenced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_notices, "said", set())
    monkeypatch.setenv("RETROGRAD_NOTICES", "0")
    notice("torch.example", "it changes nothing")
    monkeypatch.delenv("RETROGRAD_NOTICES")
    notice("torch.example", "it changes nothing")
    notice("torch.example", "it changes nothing")
    assert capsys.readouterr().err == "retrograd: torch.example: it changes nothing\n"


def test_settings_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in [
        (torch.backends.cudnn, "benchmark", True),
        (torch.backends.cuda.matmul, "allow_tf32", True),
        (torch.backends.opt_einsum, "strategy", "greedy"),
        (torch._dynamo.config, "suppress_errors", True),
        (torch._inductor.config, "max_autotune", True),
    ]:
        monkeypatch.setattr(module, name, value)
        assert getattr(module, name) == value
    with torch.backends.cudnn.flags(enabled=False, benchmark=False):
        assert not torch.backends.cudnn.enabled and not torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.enabled and torch.backends.cudnn.benchmark
    with torch._dynamo.config.patch(verbose=True):
        assert torch._dynamo.config.verbose
    assert not torch._dynamo.config.verbose


def test_classes_of_other_devices_can_stand_in_annotations() -> None:
    for kind in (torch.cuda.CUDAGraph, torch.cuda.Stream, torch.xpu.Event):
        assert kind | None and not isinstance(1, kind)
        with pytest.raises(RuntimeError):
            kind()


def test_timer_measures() -> None:
    timer = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}, num_threads=1)
    measured = timer.blocked_autorange(min_run_time=0.01)
    assert measured.median > 0 and sum(measured.raw_times) >= 0.01
    assert timer.timeit(5).number_per_run == 5
    with pytest.raises(NotImplementedError, match="C\\+\\+"):
        torch.utils.benchmark.Timer("x", language="c++")


def test_futures() -> None:
    first, second = torch.futures.Future(), torch.futures.Future()
    both = torch.futures.collect_all([first, second])
    chained = first.then(lambda found: found.value() + 1)
    first.set_result(1)
    assert chained.wait() == 2 and not both.done()
    second.set_result(2)
    assert both.done() and torch.futures.wait_all([first, second]) == [1, 2]
    with pytest.raises(RuntimeError, match="marked completed once"):
        first.set_result(3)
    failed = torch.futures.Future()
    failed.set_exception(KeyError("x"))
    with pytest.raises(KeyError):
        failed.wait()
