"""Batches between processes: large arrays in shared memory, everything else through the socket."""

from __future__ import annotations

import multiprocessing
import os
import threading

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils.data import DataLoader, Dataset, handover
from retrograd.utils.data.handover import packed, receive, send, unpacked

pytestmark = pytest.mark.skipif(not handover.SHARES, reason="no anonymous memory on this system")
LARGE = 20_000  # elements: more than 64 KiB


def travelled(value):
    reader, writer = multiprocessing.Pipe()
    message = packed(value)
    sender = threading.Thread(target=send, args=(writer, message))
    sender.start()
    result = unpacked(*receive(reader))
    sender.join()
    reader.close()
    writer.close()
    return result, message


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(3,), (LARGE,), (2, 0, 3), (100, 300), ()])
def test_tensors_arrive_as_they_were(dtype, shape):
    sent = torch.arange(int(np.prod(shape)), dtype=torch.int64).reshape(shape)
    sent = sent.to(getattr(torch, dtype))
    found, message = travelled({"x": sent, "n": 3})
    assert found["n"] == 3
    assert found["x"].dtype is sent.dtype and found["x"].shape == sent.shape
    assert torch.equal(found["x"], sent)
    large = sent.numel() * sent.element_size() >= handover._LEAST
    assert len(message.memory) == large


def test_layout_and_flags_travel_too():
    sent = torch.rand(150, 200).t().requires_grad_()
    found, message = travelled(sent)
    assert len(message.memory) == 1
    assert found.stride() == sent.stride() and found.requires_grad
    assert torch.equal(found, sent)


def test_what_arrives_can_be_written_and_belongs_to_the_receiver():
    sent = torch.zeros(LARGE)
    found, _ = travelled([sent, sent + 1])
    found[0].add_(2)
    assert sent.sum() == 0 and found[0].sum() == 2 * LARGE and found[1].sum() == LARGE


def test_arrays_of_numpy_travel_in_memory():
    sent = np.arange(LARGE * 2.0).reshape(2, -1)
    found, message = travelled((sent, sent[0, :3]))
    assert len(message.memory) == 1
    assert (found[0] == sent).all() and (found[1] == sent[0, :3]).all()
    found[0][:] = 0  # writable


def test_more_arrays_than_descriptors_stay_in_the_pickle():
    sent = [torch.full((LARGE,), float(i)) for i in range(handover._MOST + 3)]
    found, message = travelled(sent)
    assert len(message.memory) == handover._MOST
    assert [x[-1].item() for x in found] == list(range(handover._MOST + 3))


def test_no_descriptor_is_left():
    before = descriptors()
    kept = [travelled(torch.ones(LARGE))[0] for _ in range(20)]
    assert descriptors() == before + len(kept)  # what is mapped keeps its own
    del kept
    assert descriptors() == before
    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        packed([torch.ones(LARGE), torch.ones(2, requires_grad=True) * 2])
    assert descriptors() == before


def test_without_memory_it_goes_through_the_socket(monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    found = packed(torch.ones(LARGE))
    assert found.memory == () and len(found.text) > handover._LEAST


def test_a_program_that_keeps_many_batches_has_descriptors_left():
    before = descriptors()
    kept = [travelled(torch.full((LARGE,), i))[0] for i in range(handover._MOST_MAPPED + 30)]
    assert descriptors() <= before + handover._MOST_MAPPED
    assert [int(x[-1]) for x in kept] == list(range(len(kept)))


def test_a_mapping_too_many_is_read_instead(monkeypatch):
    def refused(*args):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(handover.mmap, "mmap", refused)
    found, message = travelled(torch.ones(LARGE))
    assert len(message.memory) == 1 and found.sum() == LARGE
    found.add_(1)


def test_a_sender_that_ends_within_a_message_is_noticed():
    reader, writer = multiprocessing.Pipe()
    writer.send_bytes(bytes([2]) + b"text")  # announces two pieces of memory
    writer.close()
    with pytest.raises((EOFError, OSError)):
        receive(reader)


class Rows(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((LARGE,), float(index)), index


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loader_gives_the_same_batches(method):
    loader = DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context=method)
    before = descriptors()
    found = list(loader)
    assert [batch[1].tolist() for batch in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    for rows, numbers in found:
        assert torch.equal(rows, numbers.to(rows.dtype)[:, None].expand(4, LARGE))
    del loader, found, rows, numbers
    assert descriptors() <= before + 1  # the first use of `spawn` starts a tracker that stays
