"""Reading a graph: the same facts from retrograd's nodes and from PyTorch's."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

from retrograd.watching.reading import Reader, behind, reader_of


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def states(reader: Reader, *tensors: object) -> dict[str, str]:
    """The states of the nodes behind tensors, by name; one name must not have two."""
    found: dict[str, str] = {}
    for node in behind(reader, map(reader.root, tensors)):
        assert found.setdefault(reader.name(node), reader.state(node)) == reader.state(node)
    return found


def test_states_before_and_after(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x.exp() + x).sum()
    reader = reader_of(loss)
    common = {"SumBackward0": "nothing saved", "AddBackward0": "nothing saved"}
    leaf = {"AccumulateGrad": "leaf"}
    assert states(reader, loss) == {**common, "ExpBackward0": "held", **leaf}
    loss.backward(retain_graph=True)
    assert states(reader, loss) == {**common, "ExpBackward0": "held", **leaf}
    loss.backward()
    assert states(reader, loss) == {**common, "ExpBackward0": "freed", **leaf}


def test_grad_frees_only_what_it_runs(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    loss = (x.exp() * y.tanh()).sum()
    torch.autograd.grad(loss, x)
    found = states(reader_of(loss), loss)
    assert (found["ExpBackward0"], found["TanhBackward0"]) == ("freed", "held")


def test_saved_values_are_counted_by_memory(torch: ModuleType) -> None:
    w = torch.ones(4, 3, requires_grad=True)
    x = torch.ones(2, 3)
    h = x @ w.t()
    loss = (h[:, :2] * h[:, 2:]).sum()
    reader = reader_of(loss)
    rows = {
        (reader.name(node), row.name): row
        for node in behind(reader, [reader.root(loss)])
        for row in reader.saved(node)
    }
    left, right = rows["MulBackward0", "self"], rows["MulBackward0", "other"]
    assert left.storage == right.storage and left.storage_bytes == 2 * 4 * 4
    assert (left.bytes, right.bytes, left.shape, left.dtype) == (16, 16, (2, 2), "float32")
    assert left.owner == "graph"
    assert rows["MmBackward0", "self"].owner == "outside"  # the inputs
    assert all(row.owner != "graph" for key, row in rows.items() if key[0] == "MmBackward0")


def test_reading_leaves_no_trace(torch: ModuleType) -> None:
    x = torch.ones(3, requires_grad=True)
    seen = []

    def pack(value: object) -> object:
        return value

    def unpack(value: object) -> object:
        seen.append(value)
        return value

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        hooked = x.exp()
    plain = x.exp()
    for tensor in (hooked, plain):
        reader = reader_of(tensor)
        node = reader.root(tensor)
        assert reader.state(node) == "held"
        owners = [row.owner for row in reader.saved(node)]
        assert owners == (["hook"] if tensor is hooked else ["graph"])
    assert not seen
    with torch.no_grad():
        plain.mul_(2)  # the check of versions is still on
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        plain.sum().backward()


def test_custom_function_and_written_view(torch: ModuleType) -> None:
    class Square(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx, a):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(a)
            ctx.mask = a > 0
            return a * a

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return 2 * g * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True)
    y = Square.apply(x)
    reader = reader_of(y)
    node = reader.root(y)
    assert reader.name(node) == "SquareBackward"
    assert [row.name for row in reader.saved(node)] == ["saved_tensors[0]", "ctx.mask"]
    z = y.clone()
    z[1:].mul_(3 * y[1:])
    written = reader.root(z)
    assert reader.name(written) == "CopySlices"
    known = torch.__name__ == "retrograd"
    assert (reader.unseen(written) is None) == known
    assert reader.state(written) == ("held" if known else "unknown")
    y.sum().backward()
    assert reader.state(node) == "freed"


def test_retrograd_knows_lines_and_calls() -> None:
    import retrograd as torch

    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    reader = reader_of(loss)
    node = reader.root(y)
    place = reader.place(node)
    assert place is not None and place.file == __file__
    assert [reader.walked(n) for n in behind(reader, [reader.root(loss)])] == [False] * 3
    loss.backward(retain_graph=True)
    assert [reader.walked(n) for n in behind(reader, [reader.root(loss)])] == [True] * 3
    assert reader.freed_by(node) is None
    loss.backward()
    freeing = reader.freed_by(node)
    assert freeing is not None and freeing.place is not None
    assert (freeing.kind, freeing.place.line - place.line) == ("backward", 10)


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a tensor or a grad_fn .* got builtins.int"):
        reader_of(3)
