"""Inference mode: what its tensors are, and what may be done with them outside.

Every scenario runs with PyTorch too, and everything it observes must be the same.
"""

from __future__ import annotations

from copy import deepcopy

import pytest

import retrograd
from retrograd.engine.state import HOT
from tests.autograd.outcomes import assert_same

torch_library = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(function)
    return function


def both(torch, requires_grad):
    """A leaf of the normal mode, its clone, and a tensor of inference mode."""
    s = torch.ones(1, 2, 3, requires_grad=requires_grad)
    with torch.inference_mode():
        c = torch.ones(1, 2, 3, requires_grad=requires_grad)
    return s, s.clone(), c


FLAGS = (True, False)

INPLACE = (
    lambda x: x.add_(2),
    lambda x: x.transpose_(0, 1),
    lambda x: x.t_() if x.dim() < 3 else x.unsqueeze_(0),
    lambda x: x.squeeze_(),
    lambda x: x.zero_(),
    lambda x: x.fill_(3.0),
    lambda x: x.copy_(x + 1),
    lambda x: x.__setitem__(0, 5.0),
    lambda x: x.resize_(2, 3),
    lambda x: x.uniform_(),
    lambda x: x.relu_(),
    lambda x: x.sub_(1).mul_(2),
    lambda x: x.masked_fill_(x > 0, 4.0),
    lambda x: x.clamp_(0, 0.5),
    lambda x: x.detach_(),
    lambda x: x.requires_grad_(),
    lambda x: x.requires_grad_(False),
)

VIEWS = (
    lambda x: x.view(-1),
    lambda x: x.view_as(x),
    lambda x: x[0],
    lambda x: x.transpose(0, 1),
    lambda x: x.reshape(3, 2),
    lambda x: x.detach(),
    lambda x: x.expand(4, 2, 3),
    lambda x: x.unbind(1)[0],
    lambda x: x.split(1, 1)[1],
    lambda x: x.narrow(2, 0, 2),
    lambda x: x.diagonal(0, 1, 2),
    lambda x: x.contiguous(),
    lambda x: x.data,
    lambda x: x.T if x.dim() == 2 else x.permute(2, 1, 0),
    lambda x: x.to(x.dtype),
    lambda x: x.unsqueeze(0),
    lambda x: x.as_strided((2,), (1,)),
)

FUNCTIONS = (
    lambda x: x * x,
    lambda x: x + 1,
    lambda x: x.sum(),
    lambda x: x.exp(),
    lambda x: x.new_ones(2),
    lambda x: x.max(2)[0],
    lambda x: x > 0,
    lambda x: -x,
    lambda x: x.clamp(0, 0.5),
)


@scenario
def modes(torch, log):
    for modes in ((True,), (False,), (True, False), (True, False, True), (False, True)):
        contexts = [torch.inference_mode(mode) for mode in modes]
        for context in contexts:
            context.__enter__()
            log(torch.is_inference_mode_enabled(), torch.is_grad_enabled())
        for context in reversed(contexts):
            context.__exit__(None, None, None)
            log(torch.is_inference_mode_enabled(), torch.is_grad_enabled())


@scenario
def grad_modes_inside(torch, log):
    x = torch.ones(2, requires_grad=True)
    for mode in (torch.enable_grad, lambda: torch.set_grad_enabled(True), torch.no_grad):
        with torch.inference_mode():
            with mode():
                log(torch.is_grad_enabled())
                log.facts(x * 2, x.view(2), torch.ones(2, requires_grad=True) * 2)
                x.view(2).data.add_(1)
                log.attempt(lambda: x.view(2).add_(1))
            log(torch.is_grad_enabled())
        log(torch.is_grad_enabled())


@scenario
def normal_mode_inside(torch, log):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad(), torch.inference_mode():
        made = torch.ones(2)
        with torch.inference_mode(False):
            log(torch.is_grad_enabled())
            log.facts(x * 2, torch.ones(2), made, made + 1, made.view(2))
            log.attempt(lambda: made * x)
        log.attempt(lambda: made.add_(1))
        with torch.inference_mode(False):
            log.attempt(lambda: made.add_(1))


@scenario
def decorated(torch, log):
    @torch.inference_mode()
    def square(x):
        log(torch.is_inference_mode_enabled())
        return x * x

    @torch.inference_mode
    def cube(x):
        log(torch.is_inference_mode_enabled())
        return x * x * x

    @torch.inference_mode(False)
    def normal(x):
        log(torch.is_inference_mode_enabled())
        return x * x

    for flag in FLAGS:
        x = torch.ones(1, 2, 3, requires_grad=flag)
        log.facts(square(x), cube(x), normal(x))
        with torch.inference_mode():
            log.facts(normal(x))


@scenario
def creation(torch, log):
    with torch.inference_mode():
        for flag in FLAGS:
            log.facts(
                torch.ones(2, requires_grad=flag),
                torch.tensor([1.0], requires_grad=flag),
                torch.arange(3.0),
                torch.ones(2).requires_grad_(flag),
                torch.zeros_like(torch.ones(2)),
                torch.empty(0),
                torch.full((2,), 3.0),
                torch.eye(2),
                torch.linspace(0, 1, 3),
                torch.from_numpy(torch.ones(2).numpy()),
            )


@scenario
def saved_before(torch, log):
    """What was saved outside notices a write inside."""
    s = torch.ones(1, 2, 3, requires_grad=True)
    a = s.clone()
    out = a * a
    with torch.inference_mode():
        a.add_(2)
    log.facts(a)
    out.backward(torch.ones_like(out))


@scenario
def inference_tensor_inside(torch, log):
    with torch.inference_mode():
        for flag in FLAGS:
            for function in (*FUNCTIONS, *VIEWS):
                c = torch.ones(1, 2, 3, requires_grad=flag)
                log.facts(function(c), c)


@scenario
def inference_tensor_written_inside(torch, log):
    with torch.inference_mode():
        for flag in FLAGS:
            for function in INPLACE:
                c = torch.ones(1, 2, 3, requires_grad=flag)
                log.facts_of(lambda c=c, function=function: function(c))
                log.facts(c)


@scenario
def inference_tensor_outside(torch, log):
    for flag in FLAGS:
        for function in (*FUNCTIONS, *VIEWS):
            _, _, c = both(torch, flag)
            # PyTorch counts its own writes into a result that it does not record
            log.facts_of(lambda c=c, function=function: function(c), without="_version")
            log.facts(c)


@scenario
def inference_tensor_written_outside(torch, log):
    # a failed write: PyTorch has written by then, so nothing else of the tensor is compared
    for function in INPLACE:
        _, _, c = both(torch, False)
        log.attempt(lambda c=c, function=function: function(c) is c)
        _, _, c = both(torch, False)
        log.attempt(lambda c=c: c.view(-1).add_(1))
        with torch.no_grad():
            log.attempt(lambda c=c, function=function: function(c) is c)


@scenario
def normal_tensor_written_inside(torch, log):
    for flag in FLAGS:
        for function in INPLACE:
            _, a, _ = both(torch, flag)
            with torch.inference_mode():
                log.facts_of(lambda a=a, function=function: function(a))
                log.facts(a)
                log.facts_of(lambda a=a, function=function: function(a))
                log.facts_of(lambda a=a: a.view(-1))
            log.facts_of(lambda a=a, function=function: function(a))
            log.facts_of(lambda a=a: a.view(-1))
            log.facts(a)


@scenario
def leaf_written_inside(torch, log):
    for function in INPLACE:
        x = torch.ones(1, 2, 3, requires_grad=True)
        with torch.inference_mode():
            log.facts_of(lambda x=x, function=function: function(x))
        log.facts(x)


@scenario
def normal_tensor_viewed_inside(torch, log):
    for flag in FLAGS:
        for view in VIEWS:
            _, a, _ = both(torch, flag)
            with torch.inference_mode():
                out = view(a)
                log.facts(out, a)
                again = out.view_as(out)
                log.facts(again)
                log.attempt(lambda again=again: again.add_(2))
                log.facts(again, out, a)


@scenario
def view_from_inside_used_outside(torch, log):
    for flag in FLAGS:
        for view in VIEWS:
            _, a, _ = both(torch, flag)
            with torch.inference_mode():
                out = view(a)
            log.facts(out)
            log.facts_of(lambda out=out: out * out)
            log.facts_of(lambda out=out: out.view_as(out))
            log.facts_of(lambda out=out: out.add_(2))
            log.facts(out)


@scenario
def view_from_inside_and_base_written_outside(torch, log):
    for flag in FLAGS:
        for write in INPLACE[:4]:
            _, a, _ = both(torch, flag)
            with torch.inference_mode():
                out = a.view(-1)
            log.attempt(lambda a=a, write=write: write(a))
            log.facts(out, a)
            log.facts_of(lambda out=out: out * 2)


@scenario
def view_from_inside_written_outside(torch, log):
    for flag in FLAGS:
        for write in INPLACE:
            _, a, _ = both(torch, flag)
            with torch.inference_mode():
                out = a.view_as(a)
            log.facts_of(lambda out=out, write=write: write(out))
            log.facts(out, a)


@scenario
def mixed_functions(torch, log):
    for flag in FLAGS:
        s, _, c = both(torch, flag)
        out = c.add(s)
        log.facts(out)
        if flag:
            out.backward(torch.ones_like(out))
            log(c.grad, s.grad)
            log(c.grad.is_inference(), s.grad.is_inference())
        for function in (
            lambda s=s, c=c: c * s,
            lambda s=s, c=c: s * c,
            lambda s=s, c=c: torch.stack([s, c]),
            lambda s=s, c=c: torch.cat([s, c]),
            lambda s=s, c=c: torch.where(c > 0, s, c),
            lambda s=s, c=c: s @ c.transpose(1, 2),
            lambda s=s, c=c: torch.addcmul(s, c, c),
            lambda s=s, c=c: s - c,
            lambda s=s, c=c: s / c,
            lambda s=s, c=c: torch.maximum(s, c),
            lambda s=s, c=c: s.pow(c),
            lambda s=s, c=c: s.index_select(0, c.long().view(-1)[:1] * 0),
            lambda s=s, c=c: torch.nn.functional.linear(s, c[0]),
            lambda s=s, c=c: s.masked_fill(c > 0, 1.0),
            lambda s=s, c=c: s[(c > 0)],
            lambda s=s, c=c: torch.lerp(s, c, 0.5),
        ):
            log.facts_of(lambda function=function: function())


@scenario
def mixed_writes(torch, log):
    for flag in FLAGS:
        s = torch.ones(1, 2, 3, requires_grad=flag)
        with torch.inference_mode():
            c = torch.ones(1, 2, 3)
        for write in (
            lambda a, c=c: a.mul_(c),
            lambda a, c=c: a.add_(c),
            lambda a, c=c: a.copy_(c),
            lambda a, c=c: a.addcmul_(c, c),
            lambda a, c=c: a.__setitem__(0, c[0]),
            lambda a, c=c, s=s: torch.mul(s, s, out=c),
            lambda a, c=c: torch.mul(c, c, out=a),
            lambda a, c=c, s=s: torch.mul(s.detach(), 2, out=c),
            lambda a, c=c: c.copy_(a),
        ):
            a = s.clone()
            log.attempt(lambda a=a, write=write: write(a))
            log.facts(a)


@scenario
def mixed_views(torch, log):
    for flag in FLAGS:
        s = torch.ones(1, 2, 3, requires_grad=flag)
        with torch.inference_mode():
            c = torch.ones(1, 2, 3)
        log.facts(c.view_as(s), s.view_as(c), c.expand_as(s), s.expand_as(c))


@scenario
def flags_outside(torch, log):
    with torch.inference_mode():
        c = torch.ones(2)
        d = torch.ones(2, requires_grad=True)

    def assign(value, tensor):
        tensor.requires_grad = value

    for tensor in (c, d, c.view(2), c.detach(), c[0]):
        for value in FLAGS:
            log.attempt(lambda tensor=tensor, value=value: assign(value, tensor))
            log.facts(tensor)
        log.attempt(lambda tensor=tensor: tensor.requires_grad_())
        with torch.inference_mode():
            log.attempt(lambda tensor=tensor: tensor.requires_grad_())
        log.facts(tensor)


@scenario
def way_back(torch, log):
    """A clone of an inference tensor is an ordinary one."""
    with torch.inference_mode():
        c = torch.ones(2)
    for copy in (c.clone(), c + 0, torch.tensor(c.tolist()), c.to(torch.float64), c.contiguous()):
        log.facts_of(lambda copy=copy: copy, without="_version")  # PyTorch counts its own copy_
        log.attempt(lambda copy=copy: copy.requires_grad_())
    x = c.clone().requires_grad_()
    (x * x).sum().backward()
    log(x.grad)
    log.facts_of(lambda: c.detach().clone(), without="_version")
    log.facts_of(lambda: deepcopy(c), without="_version")


@scenario
def backward_inside(torch, log):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    with torch.inference_mode():
        y.backward(retain_graph=True)
        log(x.grad.is_inference(), x.grad)
        y.backward(retain_graph=True)
        log(x.grad.is_inference(), x.grad)
        (found,) = torch.autograd.grad(y, x, retain_graph=True)
        log.facts(found)
        z = (x * x).sum()
        log.attempt(lambda: z.backward())
        w = torch.ones(2, requires_grad=True)
        log.attempt(lambda: (w * 2).sum().backward())
        log.attempt(lambda: w.backward(torch.ones(2)))
    log.attempt(lambda: y.backward(retain_graph=True))
    x.grad = None
    y.backward()
    log(x.grad.is_inference(), x.grad)


@scenario
def gradient_of_inference_leaf(torch, log):
    with torch.inference_mode():
        c = torch.ones(2, requires_grad=True)
    log.attempt(lambda: (c + 1).sum().backward())
    log(c.grad)
    log.attempt(lambda: c.register_hook(print))
    log.attempt(lambda: (c * 2).sum().backward())
    log(c.grad)
    log.attempt(lambda: (c.exp()).sum().backward())


@scenario
def assigned_gradient(torch, log):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        g = torch.ones(2)
    x.grad = g
    log(x.grad is g)
    log.attempt(lambda: (x * 3).sum().backward())


@scenario
def parameters(torch, log):
    normal = torch.ones(2)
    with torch.inference_mode():
        made = torch.ones(2)
        for data in (made, normal):
            log.facts(torch.nn.Parameter(data), torch.nn.Parameter(data, False))
    log.facts_of(lambda: torch.nn.Parameter(made))
    log.facts_of(lambda: torch.nn.Parameter(made, False))
    log.facts(torch.nn.Parameter(normal))


@scenario
def data_and_version(torch, log):
    s, a, c = both(torch, True)
    log.attempt(lambda: c._version)
    log.attempt(lambda: c.detach()._version)
    log.attempt(lambda: c.data._version)
    log.facts(c.data, c.detach(), c.view(-1), c.view(-1).data)

    def swap(left, right):
        left.data = right

    log.attempt(lambda: swap(a, torch.zeros(2)))
    log.attempt(lambda: swap(c, torch.zeros(2)))
    log.attempt(lambda: swap(s, c))
    log(s.shape == c.shape)


@scenario
def queries(torch, log):
    _, a, c = both(torch, False)
    log(torch.is_inference(c), c.is_inference(), torch.is_inference(a), a.is_inference())
    log.attempt(lambda: c.numpy().tolist())
    log.attempt(lambda: c.tolist())
    log.attempt(lambda: float(c.sum()))
    log.attempt(lambda: c._base)
    log.attempt(lambda: c.view(-1)._base)
    log.attempt(lambda: bool((c == a).all()))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_as_in_pytorch(scenario):
    assert_same(scenario, torch_library)


def test_ops_look_closely_only_while_an_inference_tensor_requires_grad():
    """Such tensors send every op through the general path, until they go or are told not to."""
    before = HOT["UNUSUAL"]
    with retrograd.inference_mode():
        leaf = retrograd.ones(2, requires_grad=True)
        other = retrograd.ones(2).requires_grad_()
    assert HOT["UNUSUAL"] == before + 2
    other.requires_grad = False
    assert HOT["UNUSUAL"] == before + 1
    assert not (leaf * leaf).requires_grad
    del leaf
    assert HOT["UNUSUAL"] == before
