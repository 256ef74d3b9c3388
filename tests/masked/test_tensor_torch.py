"""Masked tensors beside PyTorch: what they print as, functions of them, gradients, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    # PyTorch says of each that its masked tensors are new, and of what they do not have
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# of `x`, whose second element is masked out, and its mask `m`
EXPRESSIONS = """
torch.mm(x[None],x[:,None])
x.exp_()
x.add(x,alpha=2)
x.unbind()
x.median()
x.sort()
torch.sum(x,0)
x.sum(0,True)
x.sum(dim=0)
x.sum(dim=0,keepdim=True)
x.item()
x[0].item()
x[1].item()
x.permute(0)
x.cumsum(0)
torch.all(x>0)
x.var()
torch.std(x,0)
x.std(0)
torch.var(x)
x.to(torch.float64)
x.long()
x.squeeze()
x.clamp(0,1)
x.clamp(min=1.5)
x.pow(2)
x**2
x/x
1/x
x>1
x<1
x==x
torch.logaddexp(x,x)
torch.cat([x,x])
torch.stack([x,x])
x.reshape(2,1)
x.view(2,1)
x.expand(3,2)
x[None]
x.t()
x.transpose(0,0)
torch.where(m,x,x)
x.softmax(0)
torch.softmax(x,0)
torch.log_softmax(x,0)
torch.ones_like(x)
torch.zeros_like(x)
x+torch.ones(2)
torch.ones(2)+x
x+torch.ones(2,2)
x.masked_fill(m,0)
x.argmax()
x.argmin(0)
x.prod()
x.amax(0)
x.amin()
x.mean()
x.mean(0)
x.mean(0,dtype=torch.float64)
torch.mean(x)
x.relu()
torch.nn.functional.relu(x)
x.sigmoid()
x.tanh()
x.abs()
abs(x)
x.sqrt()
x.floor_divide(2)
x%2
x.add_(1)
x.mul_(x)
x.isnan()
x.clone()
x.detach()
bool(x[0])
float(x[0])
len(x)
x.unsqueeze(0)
x.split(1)
x.chunk(2)
x.flatten()
x.repeat(2)
torch.maximum(x,x)
x.sub(x)
x.logical_not()
x+masked_tensor(torch.ones(2),~m)
x.square()
x.sign()
torch.nan_to_num(x)
x.round()
x.neg()
-x
x.any()
x.dtype, x.shape, x.dim(), x.numel(), x.size(0), x.layout, x.device, x.requires_grad, x.is_leaf
x.get_data(), x.get_mask(), x.to_tensor(9.0)
torch.masked.is_masked_tensor(x), isinstance(x, torch.Tensor)
torch.masked.sum(x), torch.masked.softmax(x, 0), torch.masked.amax(x)
torch.masked.mean(x)
torch.masked.var(x)
str(x)
f'{x}'
masked_tensor([1],m)
masked_tensor(torch.ones(2),[True])
masked_tensor(torch.ones(2),torch.ones(2))
masked_tensor(torch.ones(2),torch.ones(3)>0)
masked_tensor(torch.ones(2,1),m)
masked_tensor(x,m)
masked_tensor(torch.ones(2,dtype=torch.bfloat16),m)
masked_tensor(torch.ones(2)*1j,m)
masked_tensor(torch.arange(6).reshape(1,2,3),torch.arange(6).reshape(1,2,3)%2==0)
masked_tensor(torch.tensor(3),torch.tensor(False))
torch.sin(x)
torch.add(x,1)
torch.div(x,2)
torch.div(x,2,rounding_mode='floor')
torch.select(x,0,0)
x.select(0,1)
x[0:1]
x[torch.tensor([1,0])]
x[m]
x.nonzero()
x.topk(1)
torch.mul(x,x,out=torch.zeros(2))
x.bitwise_not()
torch.atan2(x,x)
torch.eq(x,1)
x.ne(x)
x.eq(torch.ones(2))
torch.pow(x,x)
x.T
x.contiguous()
x.is_contiguous()
x.view_as(x)
x.expand_as(torch.ones(3,2))
x.float()
x.double()
x.half()
x.type(torch.int64)
torch.clone(x)
x.data
""".strip().splitlines()

# of `y`, a matrix
MATRICES = """
y
y.t()
y.transpose(0, 1)
y.sum(0), y.sum(1), y.sum(-1, True), y.sum()
y.mean(0), y.mean(1), y.mean()
y.prod(0), y.prod(1, keepdim=True)
y.amax(1), y.amin(0), y.amax((0, 1))
y.argmax(1), y.argmin(0), y.argmax()
y.var(1), y.std(0)
(y > 2).all(), (y > 2).all(1)
torch.sum(y, 0), torch.amax(y, 1), torch.mean(y, 1, True)
y.softmax(0), y.softmax(1), torch.nn.functional.softmax(y, -1)
y + y, y * 2, y / y, y - torch.ones(3), y ** 2, y.sin(), -y
y + torch.ones(2, 2, 3)
y[0], y[1, 2], y[:, 1], y[:, 1:], y[None], y[torch.tensor([1, 0])]
y.reshape(3, 2), y.view(6), y.unsqueeze(1), y.expand(2, 2, 3)
torch.cat([y, y]), torch.stack([y, y]), torch.cat([y, y], 1)
y.split(1), y.chunk(2)
torch.where(torch.tensor([[True], [False]]), y, y * 10)
torch.where(torch.tensor([[True], [False]]), y, torch.zeros(2, 3))
y == y, y > 1, y.isnan(), y.clamp(1, 3), y.double()
y.to_tensor(-1), y.get_mask(), y.get_data()
torch.masked.sum(y, 1), torch.masked.logsumexp(y, 1), torch.masked.norm(y, 2, 1)
torch.masked.softmax(y, 1), torch.masked.cumsum(y, 0), torch.masked.median(y, 1)
y[0] + y[1]
y.mm(y.t())
y.int() // 2, y.int() % 2, ~y.int(), y.int() & 1
""".strip().splitlines()


def names(library: Any) -> dict[str, Any]:
    m = library.tensor([True, False])
    counted = library.tensor([[True, False, True], [False, False, True]])
    make = library.masked.masked_tensor
    return {
        "torch": library, "m": m, "masked_tensor": make,
        "x": make(library.tensor([1.0, 2.0]), m),
        "y": make(library.arange(6.0).reshape(2, 3), counted),
    }  # fmt: skip


def outcome(text: str, library: Any) -> tuple[str, ...]:
    try:
        found = eval(text, names(library))
    except Exception as error:
        kind = next(b.__name__ for b in type(error).__mro__ if b.__module__ == "builtins")
        first = str(error).split("\n")[0].split(" returned NotImplemented")[0]
        return kind, first.split("dispatch failed")[0] if "dispatch failed" in first else first
    return (repr(found),)


@pytest.mark.parametrize("text", [*EXPRESSIONS, *MATRICES])
def test_expression(text):
    assert outcome(text, retrograd) == outcome(text, torch)


def test_most_of_them_are_taken():
    refused = [text for text in (*EXPRESSIONS, *MATRICES) if len(outcome(text, torch)) > 1]
    assert len(refused) < 45
    assert len(EXPRESSIONS) + len(MATRICES) > 160


GRADIENTS = """
x.sum()
(x * 3).sum()
x.exp().sum()
(x * x).sum()
x.mean()
x.prod()
x.amax()
(x / 2).sum(0).sum()
x.sum(1).sum()
x.mean(0).sum()
x.t().sum()
x[0].sum()
x.softmax(1).sin().sum()
(x + torch.ones(3)).pow(2).sum()
torch.cat([x, x]).sum()
x.reshape(6).sum()
torch.masked.sum(x)
torch.masked.logsumexp(x)
x.double().sum()
x.to_tensor(5.0).sum()
x.get_data().sum()
""".strip().splitlines()


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradient(text):
    """What flows to elements that count; PyTorch leaves open what the others get."""
    found = []
    for library in (retrograd, torch):
        counted = library.tensor([[True, False, True], [False, False, True]])
        data = library.arange(1.0, 7.0).reshape(2, 3)
        x = library.masked.masked_tensor(data, counted, requires_grad=True)
        assert x.requires_grad and x.is_leaf and x.grad is None and x.grad_fn is None
        eval(text, {"torch": library, "x": x}).backward()
        assert isinstance(x.grad, library.masked.MaskedTensor)
        found.append(x.grad.to_tensor(0.0).flatten().tolist())
        assert not data.requires_grad
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_the_history_of_the_data_goes_on():
    x = retrograd.ones(2, requires_grad=True)
    y = retrograd.masked.as_masked_tensor(x * 3, retrograd.tensor([True, False]))
    assert y.requires_grad and not y.is_leaf and y.grad_fn is not None
    (y * y).sum().backward()
    assert x.grad.tolist() == [18.0, 0.0]


def test_a_step_of_an_optimizer_by_hand():
    """Adagrad for sparse gradients, as PyTorch's tutorial writes it."""
    for library in (retrograd, torch):
        param = library.arange(4.0)
        gradient = library.tensor([0.0, 2.0, 0.0, 4.0])
        state = library.ones(4)
        make = library.masked.masked_tensor
        g = make(gradient, gradient != 0)
        s = make(state, gradient != 0)
        s = s + g.pow(2)
        std = s.sqrt() + 1e-10
        stepped = param + (-0.1 * (g / std).to_tensor(0.0))
        expected = [0.0, 1 - 0.2 / 5**0.5, 2.0, 3 - 0.4 / 17**0.5]
        assert stepped.tolist() == pytest.approx(expected)


def test_in_place_it_keeps_its_mask():
    x = names(retrograd)["x"]
    same = x.mul_(3)
    assert same is x and x.to_tensor(0.0).tolist() == [3.0, 0.0]
    x += 1
    assert x.to_tensor(0.0).tolist() == [4.0, 0.0]


def test_copies_and_pickles():
    x = names(retrograd)["x"]
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert isinstance(made, retrograd.masked.MaskedTensor)
        assert repr(made) == repr(x) and made.get_mask().equal(x.get_mask())


def test_data_that_requires_grad_is_warned_of():
    data = retrograd.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="not recommended to create a MaskedTensor"):
        made = retrograd.masked.masked_tensor(data, retrograd.tensor([True, False]))
    assert not made.requires_grad


@pytest.mark.parametrize(
    "use",
    [
        lambda t, x: t.nn.functional.linear(x, t.ones(2, 2)),
        lambda t, x: x.cumsum(0),
        lambda t, x: t.sort(x),
        lambda t, x: x.numpy(),
        lambda t, x: x.tolist(),
        lambda t, x: t.fft.fft(x),
        lambda t, x: t.linalg.norm(x),
        lambda t, x: t.empty_like(x),
        lambda t, x: x.fill_(0),
        lambda t, x: x.untyped_storage(),
        lambda t, x: t.sum(t.ones(2), out=x),
    ],
)
def test_what_has_no_meaning_is_refused_and_never_computed(use):
    with pytest.raises((TypeError, RuntimeError, NotImplementedError, ValueError)):
        use(retrograd, names(retrograd)["x"])


def test_sparse_parts_are_refused_by_name():
    data = retrograd.eye(2).to_sparse()
    with pytest.raises(NotImplementedError, match="MaskedTensor of layout"):
        retrograd.masked.masked_tensor(data, data.bool())
