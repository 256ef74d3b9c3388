"""Transfers, memory, streams and files of a device, on the fake."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import retrograd as torch
from retrograd.accelerators import memory
from retrograd.backend.cuda import cuda_backend
from retrograd.replay import cuda_graphs
from tests.cuda.fake import posing


def test_without_a_device_all_is_as_before():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.ones(1, device="cuda")
    with posing():
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert not torch.cuda.is_available()


def test_memory_is_counted_and_given_back(cuda_device):
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    tensor = torch.zeros(1024, device="cuda")
    assert torch.cuda.memory_allocated() == before + 4096
    del tensor
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.memory_reserved() >= 4096
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before
    assert "Allocated memory" in torch.cuda.memory_summary()


def test_what_a_graph_leaves_behind_is_not_counted_for_ever(cuda_device):
    peaks = memory._Peaks()
    peaks.count()
    hook = peaks.hook
    pool = cuda_graphs.Pool(cuda_backend(), cuda_graphs.graph_pool_handle())
    before = hook.used
    hook.malloc_postprocess(mem_size=4096)  # a gradient that is held when the graph is let go
    pool.memory.held = 4096
    del pool
    assert hook.used == before  # CuPy tells no hook when such memory is freed


def test_no_memory_left_names_the_line_that_holds_it(cuda_device):
    weight = torch.ones(1 << 20, device="cuda", requires_grad=True)
    kept = []
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory") as caught:
        for _ in range(200):
            kept.append((weight * 2).exp())
    assert caught.value.code == "RG309"
    notes = " ".join(caught.value.__notes__)
    assert "kept for backward by" in notes and "test_accelerator.py" in notes


def test_memory_that_processes_share_is_the_cpus(cuda_device):
    on_device = torch.ones(2, device="cuda")
    assert not on_device.is_shared()
    with pytest.raises(NotImplementedError, match=r"share_memory_.* outside of the CPU's memory"):
        on_device.share_memory_()


def test_streams_and_events(cuda_device):
    stream, first = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        first.record()
        last = stream.record_event(torch.cuda.Event(enable_timing=True))
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    assert last.query() and first.elapsed_time(last) >= 0
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    assert cuda_device.waits[-1] == "device 0"


def test_pinned_memory(cuda_device):
    pinned = torch.arange(4).pin_memory()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and not torch.ones(1).is_pinned()
    there = pinned.to("cuda", non_blocking=True)
    cuda_device.waits.clear()
    back = there.to("cpu", non_blocking=True)
    assert back.is_pinned() and back.tolist() == [0, 1, 2, 3] and not cuda_device.waits
    loader = torch.utils.data.DataLoader([torch.ones(2)] * 4, batch_size=2, pin_memory=True)
    assert all(batch.is_pinned() for batch in loader)


def test_files_and_copies(cuda_device):
    model = torch.nn.Linear(3, 2).cuda()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "views": [model.weight[0], model.weight]}, file)
    for where, kind in ((None, "cuda"), ("cpu", "cpu"), ({"cuda:0": "cpu"}, "cpu")):
        file.seek(0)
        loaded = torch.load(file, map_location=where)
        assert {x.device.type for x in loaded["model"].values()} == {kind}
        row, whole = loaded["views"]
        assert row.data_ptr() == whole.data_ptr()
        model.load_state_dict(loaded["model"])
    file.seek(0)
    with pytest.raises(RuntimeError, match="on CUDA device 5 but"):
        torch.load(file, map_location="cuda:5")
    assert copy.deepcopy(model).weight.device == model.weight.device
    assert pickle.loads(pickle.dumps(model.weight.data)).device == model.weight.device


def test_a_number_of_the_cpu_gets_its_gradient_there(cuda_device):
    scale = torch.tensor(2.0, requires_grad=True)
    (scale.exp() * torch.ones(3, device="cuda")).sum().backward()
    assert scale.grad.device.type == "cpu"
    torch.testing.assert_close(scale.grad, 3 * scale.detach().exp())


def test_autocast_lowers_by_the_lists_of_cuda(cuda_device):
    a = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        product = a @ a
        assert product.dtype is torch.bfloat16
        assert product.exp().dtype is product.sum().dtype is torch.float32
        assert product.relu().dtype is torch.bfloat16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(product.sigmoid(), a)


def test_a_second_device_is_chosen_first():
    with posing(devices=2):
        with pytest.raises(NotImplementedError, match=r"torch\.cuda\.set_device\(1\)"):
            torch.ones(1, device="cuda:1")
        with torch.cuda.device(1):
            assert torch.ones(1, device="cuda").device == torch.device("cuda:1")
        with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
            torch.ones(1, device="cuda:7")


def test_dlpack_shares_memory(cuda_device):
    tensor = torch.zeros(3, device="cuda")
    torch.from_dlpack(tensor)[1] = 5
    assert tensor.tolist() == [0, 5, 0]


def test_gradients_of_half_precision_have_its_type(cuda_device):
    x = torch.ones(4, dtype=torch.float16, device="cuda", requires_grad=True)
    x.exp().sum().backward()
    assert x.grad.dtype is torch.float16
