"""Storages beside PyTorch: bytes that are made, read, written, copied, resized; their errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CALLS = """
U(4).nbytes(), U(4).size(), len(U(4)), U(4).element_size(), U().tolist()
U([1, 2, 3]).tolist()
U((1, 2)).tolist()
U([1, 300, -1]).tolist()
U(4, device="cpu").nbytes()
U([1.5])
U("ab")
U(t.ones(2))
s[1], s[-1], s[0:2].tolist(), list(s), 2 in s, 9 in s, bool(s)
s[5]
s["x"]
(s.__setitem__(0, 9), s.tolist())
(s.__setitem__(slice(0, 2), 300), s.tolist())
s.__setitem__(7, 1)
s.fill_(7).tolist(), s.fill_(-1).tolist()
s.copy_(U([4, 5, 6])).tolist()
s.copy_(U([4, 5]))
s.copy_([1, 2, 3])
s.clone().tolist(), s.clone().data_ptr() == s.data_ptr()
s.resize_(2).tolist(), s.resize_(5).nbytes()
s.device, s.type(), s.is_cuda, s.is_pinned(), s.cpu() is s, s.untyped() is s
s == s, s == s.clone()
repr(s)
copy.deepcopy(s).tolist()
t.is_storage(s)
x.untyped_storage().tolist() == x[1:].untyped_storage().tolist()
(x.untyped_storage().fill_(0), x.tolist())
(x[1:].untyped_storage().__setitem__(slice(0, 4), 0), x.tolist())
(x.untyped_storage().copy_(t.zeros(4).untyped_storage()), x.tolist())
x.untyped_storage().clone().nbytes()
t.FloatStorage(2).fill_(1.5).tolist()
t.tensor([], dtype=t.uint8).set_(U([1, 2, 3])).tolist()
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_call(call):
    found: list[Any] = []
    for library in (retrograd, torch):
        kind = library.UntypedStorage
        names = {"t": library, "U": kind, "s": kind([1, 2, 3]), "x": library.arange(4.0)}
        try:
            result = eval(call, {**names, "copy": copy})
            found.append(repr(result).replace("retrograd.", "torch."))
        except Exception as error:
            found.append((type(error).__name__, str(error).split("\n")[0]))
    assert found[0] == found[1]


def test_the_storage_of_a_tensor_keeps_its_size():
    with pytest.raises(NotImplementedError, match="resize_ of the storage of a tensor"):
        retrograd.ones(2).untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="-1 bytes"):
        retrograd.UntypedStorage(-1)
