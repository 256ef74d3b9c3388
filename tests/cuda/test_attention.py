"""Attention that keeps no scores: the kernels run on the host, beside the CPU's attention."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import retrograd as torch
from benchmarks.device_models import Model, make_inputs, make_model
from retrograd.backend.cuda.overrides import attention, reductions
from tests.cuda.fake.launches import launching

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
functional = torch.nn.functional
LOOSE = {"float32": 2e-5, "float16": 5e-3, "bfloat16": 4e-2}
ALL = ["attention", "attention_shares", "attention_of_query", "attention_of_key"]
INF = float("inf")


@pytest.fixture
def seen():
    with launching(attention, reductions, run=True) as found:
        yield found


def own(seen):
    return [name for name in seen.own() if name.startswith("attention")]


def agree(found, expected, loose):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        one, other = (x.detach().cpu().double().numpy() for x in (one, other))
        np.testing.assert_allclose(one, other, loose, loose)


def attended(device, shapes, kind="float32", mask=None, change=None, **options):
    """The result and the gradients of query, key and value."""
    torch.manual_seed(0)
    three = [torch.randn(shape) for shape in shapes]
    if change is not None:
        change(*three)
    three = [x.to(getattr(torch, kind)).to(device).requires_grad_() for x in three]
    if mask is not None:
        mask = mask.to(device) if mask.dtype is torch.bool else mask.to(three[0])
    found = functional.scaled_dot_product_attention(*three, mask, **options)
    weights = torch.arange(1.0, found.numel() + 1).sin().reshape(found.shape).to(found)
    (found * weights).sum().backward()
    return [found, *[x.grad for x in three]]


def square(batch, heads, rows, width, columns=None):
    columns = rows if columns is None else columns
    return [(batch, heads, rows, width)] + [(batch, heads, columns, width)] * 2


SHAPES = {
    "small": square(2, 3, 5, 8),
    "one of each": square(1, 1, 1, 1),
    "two tiles": square(1, 2, 70, 33),
    "whole tiles": square(1, 1, 128, 64),
    "wide": square(1, 1, 9, 128),
    "odd and wide": square(1, 1, 66, 101),
    "more keys": square(2, 1, 3, 20, 67),
    "more queries": square(1, 2, 67, 16, 3),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_results_are_those_of_the_cpu(seen, name, causal):
    found = attended("cuda", SHAPES[name], is_causal=causal)
    assert own(seen) == ALL and seen.products() == 0 and seen.waits == []
    agree(found, attended("cpu", SHAPES[name], is_causal=causal), 2e-5)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["small", "more keys", "odd and wide"])
def test_half_precision_is_computed_in_float32(seen, name, kind):
    found = attended("cuda", SHAPES[name], kind, is_causal=True)
    assert own(seen) == ALL and {str(x.dtype) for x in found} == {f"torch.{kind}"}
    agree(found, attended("cpu", SHAPES[name], kind, is_causal=True), LOOSE[kind])


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_read_as_it_is(seen, kind):
    three = [torch.randn(2, 3, 5, 8).to(getattr(torch, kind)).cuda() for _ in range(3)]
    three = [x.requires_grad_() for x in three]
    start = torch.ones_like(three[0])
    seen.clear()
    functional.scaled_dot_product_attention(*three, is_causal=True).backward(start)
    assert own(seen) == ALL and seen.widened() == [] and seen.waits == []


MASKS = {
    "truth values": torch.rand(3, 67) > 0.5,
    "of each batch": torch.rand(2, 1, 1, 67) > 0.5,
    "of each head": torch.rand(4, 1, 67) > 0.3,
    "one column": torch.tensor([True, False, True]).reshape(3, 1),
    "numbers": torch.randn(3, 67),
    "numbers of all": torch.randn(2, 4, 3, 67),
    "numbers with -inf": torch.where(torch.rand(2, 1, 3, 67) > 0.5, 0.0, -INF),
    "turned": (torch.rand(67, 3) > 0.5).t(),
}


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", MASKS)
def test_masks(seen, name, kind):
    shapes = square(2, 4, 3, 20, 67)
    found = attended("cuda", shapes, kind, MASKS[name])
    assert own(seen) == ALL
    agree(found, attended("cpu", shapes, kind, MASKS[name]), LOOSE[kind])


def test_a_query_that_sees_nothing_gives_zeros(seen):
    mask = torch.ones(5, 70, dtype=torch.bool)
    mask[1] = False
    mask[3, :66] = False  # nothing of the first tile
    found = attended("cuda", square(1, 2, 5, 8, 70), mask=mask)
    assert found[0][:, :, 1].abs().max() == 0 and found[1][:, :, 1].abs().max() == 0
    agree(found, attended("cpu", square(1, 2, 5, 8, 70), mask=mask), 2e-5)


def test_nan_and_infinity(seen):
    def change(query, key, value):
        query[0, 0, 1, 0], query[0, 0, 2, 1] = float("nan"), INF
        value[0, 0, 3, 0] = INF

    found = attended("cuda", square(1, 1, 5, 4), change=change)
    agree(found, attended("cpu", square(1, 1, 5, 4), change=change), 2e-5)


def test_a_scale_and_heads_that_share_keys(seen):
    shapes = [(2, 4, 6, 8), (2, 2, 6, 8), (2, 2, 6, 8)]
    options = {"scale": 0.3, "enable_gqa": True}
    agree(attended("cuda", shapes, **options), attended("cpu", shapes, **options), 2e-5)
    assert own(seen) == ALL


def test_operands_may_lie_in_any_way(seen):
    def run(device):
        torch.manual_seed(0)
        x = torch.randn(2, 7, 3 * 24).to(device).requires_grad_()
        three = [part.view(2, 7, 3, 8).transpose(1, 2) for part in x.split(24, 2)]
        found = functional.scaled_dot_product_attention(*three, is_causal=True)
        found.transpose(1, 2).reshape(2, 7, 24).square().sum().backward()
        turned = torch.randn(2, 3, 8, 7).to(device).transpose(2, 3)
        other = functional.scaled_dot_product_attention(turned, turned, turned)
        return [found, x.grad, other]

    found = run("cuda")
    assert found[0].transpose(1, 2).is_contiguous()  # as PyTorch's lies
    agree(found, run("cpu"), 2e-5)


def test_only_what_is_needed_is_computed(seen):
    query, key = torch.randn(1, 1, 4, 8).cuda(), torch.randn(1, 1, 4, 8).cuda()
    functional.scaled_dot_product_attention(query, key, key)
    assert own(seen) == ALL[:1]
    query.requires_grad_()
    functional.scaled_dot_product_attention(query, key, key).sum().backward()
    assert own(seen) == [ALL[0], *ALL[:3]]


OTHERS = {
    "float64": dict(kind="float64"),
    "too wide": dict(shapes=square(1, 2, 3, 129)),
    "another width of values": dict(shapes=[(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)]),
    "three dimensions": dict(shapes=[(2, 3, 4)] * 3),
    "no queries": dict(shapes=square(1, 2, 0, 4, 3)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_rest_goes_another_way(seen, name):
    given = {"shapes": square(1, 2, 3, 4), **OTHERS[name]}
    found = attended("cuda", **given)
    assert own(seen) == []
    agree(found, attended("cpu", **given), 2e-5)


def test_a_mask_with_a_gradient_gets_it(seen):
    def run(device):
        torch.manual_seed(0)
        x, mask = torch.randn(1, 2, 3, 4).to(device), torch.randn(3, 3).to(device)
        mask.requires_grad_()
        functional.scaled_dot_product_attention(x, x, x, mask).square().sum().backward()
        return [mask.grad]

    agree(run("cuda"), run("cpu"), 2e-5)
    assert own(seen) == []


def test_a_mask_that_does_not_fit_is_refused(seen):
    x = torch.randn(1, 2, 3, 4).cuda()
    with pytest.raises(RuntimeError):
        functional.scaled_dot_product_attention(x, x, x, torch.zeros(3, 4).cuda())
    assert own(seen) == []


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_a_second_derivative(seen, kind):
    def run(device, kind):
        torch.manual_seed(0)
        x = torch.randn(1, 2, 3, 4).to(kind).to(device).requires_grad_()
        y = functional.scaled_dot_product_attention(x, x * 0.5, x, is_causal=True)
        (slope,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        slope.square().sum().backward()
        return [slope, x.grad]

    wanted = run("cpu", torch.float32)
    agree(
        run("cuda", getattr(torch, kind)),
        wanted,
        {"float32": 1e-4, "float16": 2e-2, "bfloat16": 2e-1}[kind],
    )


def test_a_small_gpt_trains(seen):
    model = Model("GPT", "gpt", False, (16, 8, 16, 2, 2), 2)

    def run(device):
        torch.manual_seed(0)
        module = make_model(torch, model).to(device)
        inputs, target = (torch.from_numpy(x).to(device) for x in make_inputs(model))
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = functional.cross_entropy(module(inputs).reshape(-1, 16), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return [*losses, *[p.grad for p in module.parameters()]]

    found = run("cuda")
    assert own(seen).count("attention") == 3 * 2
    assert float(found[2]) < float(found[0])
    agree(found, run("cpu"), 2e-5)
