"""Half precision on a device: kernels and rules take it as it is, and round once at their end."""

from __future__ import annotations

import retrograd as torch
from retrograd import dtypes

F = torch.nn.functional
KINDS = (torch.bfloat16, torch.float16)
# a few roundings of the type
LOOSE = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float32: 1e-5}


def close(found, wanted, kind, name, steps=1):
    """Within a few roundings of the type, of the largest element; or as many times more."""
    found, wanted = found.detach().cpu().double(), wanted.detach().cpu().double()
    apart = float((found - wanted).abs().max())
    assert apart <= steps * LOOSE[kind] * (float(wanted.abs().max()) + 1e-6), (name, kind, apart)


def test_types_are_one_object():
    """Generated functions ask for a type by `is`: with another object calls take the long way."""
    for kind in KINDS:
        x = torch.ones(4, 4, dtype=kind, device="cuda")
        for value in (
            x,
            x + x,
            x.t(),
            x @ x,
            x.sum(0),
            x.float().to(kind),
            torch.where(x > 0, x, 0),
        ):
            assert value._array.dtype is kind.numpy
            assert kind.numpy in dtypes.HALF_TYPES


FUNCTIONS = {
    "activations": lambda x: torch.tanh(x) * F.gelu(x) / (x * x + 1) - F.silu(x) + F.softplus(x),
    "choices": lambda x: torch.where(x > 0, x * x, x.exp()).clamp(0.1, 2) + F.leaky_relu(x) * 0.3,
    "powers": lambda x: x.abs().sqrt() + x.pow(2) + (x.abs() + 1) ** 1.5 - 1 / (x.abs() + 1),
    "rows": lambda x: F.log_softmax(x, -1) + F.softmax(x, 0) * x.sum(0) + x.mean(1, keepdim=True),
    "norms": lambda x: (
        F.layer_norm(x, (64,)) * torch.tanh(x) + F.batch_norm(x, None, None, training=True) * x
    ),
    "pools": lambda x: F.max_pool2d(x[None, None], 3, 2, 1) ** 2,
    "mixed": lambda x: x * torch.ones(32, 64, device=x.device) * x + x.t().contiguous().t(),
}


def gradients(function, start, device, kind):
    x = start.to(device).to(kind).requires_grad_()
    result = function(x)
    (g,) = torch.autograd.grad(result.double().sum(), x, retain_graph=True)
    (recorded,) = torch.autograd.grad(result.double().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((recorded * start.to(device).to(kind)).double().sum(), x)
    assert g.dtype is x.dtype is second.dtype
    return result, g, second


def test_functions_and_their_gradients():
    torch.manual_seed(0)
    start = torch.randn(32, 64)
    for name, function in FUNCTIONS.items():
        for kind in (torch.float32, *KINDS):
            rounded = start.to(kind).float()
            found = gradients(function, start, "cuda", kind)
            wanted = gradients(function, rounded, "cpu", torch.float64)
            close(found[0], wanted[0], kind, name)
            close(found[1], wanted[1], kind, f"gradient of {name}")
            # op by op, each of which rounds
            close(found[2], wanted[2], kind, f"second gradient of {name}", steps=8)


def test_a_bias_is_added_before_the_product_is_rounded():
    torch.manual_seed(0)
    x, weight, bias = torch.randn(33, 65), torch.randn(17, 65), torch.randn(17) * 20
    for kind in KINDS:
        given = [value.to(kind) for value in (x, weight, bias)]
        found = F.linear(*[value.cuda() for value in given])
        wanted = F.linear(*[value.double() for value in given]).to(kind)
        # the order of a sum may move what lies between two numbers of the type
        assert float((found.cpu() != wanted).double().mean()) < 0.02
        close(found, wanted, kind, "linear")


def test_norms_with_weights_of_either_type():
    torch.manual_seed(0)
    start, weight, bias = torch.randn(8, 6, 5), torch.randn(6), torch.randn(6)
    for kind in KINDS:
        for scale in (kind, torch.float32):
            results = []
            for device in ("cuda", "cpu"):
                given = [start.to(kind), weight.to(scale), bias.to(scale)]
                given = [v.double() if device == "cpu" else v.cuda() for v in given]
                x, w, b = [v.clone().requires_grad_() for v in given]
                result = F.batch_norm(x, None, None, w, b, training=True)
                weights = torch.arange(40.0).reshape(8, 1, 5).to(device)
                (result * weights.to(result.dtype)).double().sum().backward()
                results.append((result, x.grad, w.grad, b.grad))
            for found, wanted in zip(*results, strict=True):
                close(found, wanted, kind, "batch_norm")


def test_classes_and_tables():
    torch.manual_seed(0)
    scores, table = torch.randn(50, 7), torch.randn(5, 6)
    target, words = torch.arange(50) % 7, torch.arange(90) % 3
    for kind in KINDS:
        results = []
        for device, own in (("cuda", kind), ("cpu", torch.float64)):
            x, t = (v.to(kind).to(own).to(device).requires_grad_() for v in (scores, table))
            loss = F.cross_entropy(
                x, target.to(device), weight=torch.ones(7, device=device).to(own)
            )
            loss.backward()
            F.embedding(words.to(device), t).sum().backward()
            results.append((loss, x.grad, t.grad))
        for found, wanted in zip(*results, strict=True):
            close(found, wanted, kind, "classes")


def test_a_gradient_that_somebody_holds_is_not_written():
    """A leaf takes over the array of a transposed gradient only where nobody else shows it."""
    for kind in (torch.float32, *KINDS):
        weight = torch.ones(3, 4, dtype=kind, device="cuda", requires_grad=True)
        x = torch.ones(5, 4, dtype=kind, device="cuda")
        kept = []
        for _ in range(3):
            turned = weight.t()
            turned.register_hook(kept.append)
            torch.mm(x, turned).sum().backward()
        assert [held.tolist() for held in kept] == [[[5.0] * 3] * 4] * 3
        assert weight.grad.tolist() == [[15.0] * 4] * 3


def test_autocast_in_a_step():
    """Types under autocast, on the way that ops usually take."""
    layer = torch.nn.Linear(8, 8).cuda()
    x = torch.ones(4, 8, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        made = layer(x)
        assert made.dtype is torch.bfloat16 and F.relu(made).dtype is torch.bfloat16
        assert (made + x).dtype is torch.float32 and F.softmax(made, -1).dtype is torch.float32
        assert made.exp().dtype is torch.float32 and F.layer_norm(made, (8,)).dtype is torch.float32
        with torch.autocast("cuda", enabled=False):
            assert layer(x).dtype is torch.float32
    assert layer(x).dtype is torch.float32
    made.float().sum().backward()
    assert layer.weight.grad.dtype is torch.float32
    assert layer.weight.grad.tolist() == [[4.0] * 8] * 8
