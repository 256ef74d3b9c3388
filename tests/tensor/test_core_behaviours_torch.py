"""Small behaviours of tensors that PyTorch's own tests ask for, compared with PyTorch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from tests.limits import LIMIT

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Items:
    """What has a length and items, and is no Sequence by its class."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


class NoItems(Items):
    def __getitem__(self, place):
        raise TypeError


def itself():
    values = [0]
    values.append(values)
    return values


def outcome(library, call):
    """What the call gives or raises, in a form that both libraries share."""
    try:
        found = call(library)
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    if isinstance(found, (rg.Tensor, torch.Tensor)):
        return str(found.dtype).split(".")[1], tuple(found.shape), found.tolist()
    return found


def filled(library, make):
    """A matrix of which a strided part was given as `out`."""
    whole = library.zeros(2, 3)
    make(library, whole.narrow(1, 1, 2))
    return whole


def pieces(library, name, *args):
    out = [library.empty(1, 2), library.empty(1, 2)]
    result = getattr(library, name)(library.arange(4.0).reshape(2, 2), *args, out=out)
    return result, [piece.tolist() for piece in out]


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.tensor(Items([1.0, 2.0])),
        lambda t: t.tensor([Items([1, 2]), [3, 4]]),
        lambda t: t.as_tensor(Items([Items([1, 2]), [3, 4]])),
        lambda t: t.tensor(Items([])),
        lambda t: t.FloatTensor(Items([1, 2])),
        lambda t: t.tensor(NoItems([1.0])),
        lambda t: t.tensor(itself()),
        lambda t: t.asarray(np.float64(0.5), copy=False),
        lambda t: t.asarray(t.utils.dlpack.to_dlpack(t.ones(2))),
        lambda t: filled(t, lambda t, out: t.arange(0, 4, out=out)),
        lambda t: filled(t, lambda t, out: t.linspace(0, 3, 4, out=out)),
        lambda t: filled(t, lambda t, out: t.logspace(0, 3, 4, base=2, out=out)),
        lambda t: t.linspace(0, 1, 4, out=t.zeros(1).expand(4)),
        lambda t: t.linspace(0, 1, 4, out=t.zeros(3)),
        lambda t: t.logspace(0, 1j, 5, dtype=t.float32),
        lambda t: t.linspace(0, 1j, 5, dtype=t.int64),
        lambda t: pieces(t, "split_copy", 1),
        lambda t: pieces(t, "split_with_sizes_copy", (1, 1)),
        lambda t: t.unbind_copy(t.ones(2, 2), out=[t.empty(2)]),
        lambda t: t.unbind_copy(t.ones(2, 2), out=t.empty(2)),
        lambda t: t.arange(4).narrow(0, t.tensor(0.0), 1),
        lambda t: t.arange(4).narrow(0, t.tensor([0]), 1),
        lambda t: t.arange(4).narrow(0, t.tensor(-1), 1),
        lambda t: t.ones(3).__delitem__(0),
        lambda t: setattr(t.ones(2), "data", t.eye(2).to_sparse()),
        lambda t: (
            t.tensor([1, 2], dtype=t.uint8)
            .to_sparse()
            .sub(t.tensor([1, 1], dtype=t.uint8).to_sparse())
            .to_dense()
        ),
        lambda t: t.view_as_real(t.empty(0, 3, dtype=t.complex64)).uniform_(),
        lambda t: t.empty(0, 4).view(t.int64),
        lambda t: t.ones(2, 3, 4, 5)[:, :, :, 1][:, 1:1].stride(),
        lambda t: t.empty(3, 0, 2).stride(),
        lambda t: (
            t.ones(24)
            .resize_as_(
                t.ones(1, 2, 3, 4).contiguous(memory_format=t.channels_last),
                memory_format=t.preserve_format,
            )
            .stride()
        ),
        lambda t: t.neg(t.ones(2), out=t.empty(2, dtype=t.float64)),
        lambda t: t.floor(t.ones(2, dtype=t.int64), out=t.empty(2)),
        lambda t: t.mm(t.ones(2, 2), t.ones(2, 2), out=t.empty(2, 2, dtype=t.float64)),
        lambda t: t.argmax(t.ones(2), out=t.empty((), dtype=t.int32)),
        lambda t: t.all(t.ones(2), 0, out=t.empty(())),
        lambda t: t.all(t.ones(2), 0, out=t.empty((), dtype=t.uint8)),
        lambda t: t.nonzero(t.ones(2), out=t.empty(2, 1)),
        lambda t: t.exp(t.ones(2) * 0, out=t.empty(2, dtype=t.float64)),
    ],
)
def test_like_pytorch(call) -> None:
    assert outcome(rg, call) == outcome(torch, call)


def test_a_module_does_not_hide_the_function_of_its_name(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\nfrom torch.autograd.gradcheck import gradcheck\n"
        "import torch.autograd.gradcheck\nprint(torch.autograd.gradcheck is gradcheck)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "retrograd", "run", str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_lobpcg_reads_both_triangles() -> None:
    matrix = rg.rand(6, 6, dtype=rg.float64)
    matrix = (matrix @ matrix.mT + rg.diag(rg.arange(6.0, dtype=rg.float64))).requires_grad_()
    assert rg.autograd.gradcheck(lambda a: rg.lobpcg(a, 1)[0], matrix)
