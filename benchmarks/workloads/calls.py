"""Products, layers, optimizers and small calls: rows of `python -m benchmarks.ops`."""

from typing import Any

from benchmarks.workloads.registry import Prepared, filled, set_values
from benchmarks.workloads.single import Made, Shape, call, single, sizes

PRODUCTS = sizes("4x8:8", "64x256:256", "1024x1024:1024")
HEADS = sizes("8x4x32x16", "16x4x64x32")
MIXED = sizes("1024x128:384", "1024x128:128", "1024x128:512", "1024x128:65")
"""The layers of a small transformer: rows, inputs, outputs."""


@single("matmul", PRODUCTS)
def _matmul(torch: Any, shape: Shape) -> Made:
    rows, inputs, outputs = shape
    return torch.matmul, [filled(torch, rows, inputs), filled(torch, inputs, outputs, scale=0.01)]


@single("linear", {**PRODUCTS, **MIXED})
def _linear(torch: Any, shape: Shape) -> Made:
    rows, inputs, outputs = shape
    weight = filled(torch, outputs, inputs, scale=0.01)
    return torch.nn.functional.linear, [
        *(filled(torch, rows, inputs), weight, filled(torch, outputs))
    ]


@single("matmul_scores", HEADS)
def _matmul_scores(torch: Any, shape: Shape) -> Made:
    return lambda q, k: q @ k.transpose(-2, -1), [filled(torch, *shape), filled(torch, *shape)]


@single("attention", HEADS)
def _attention(torch: Any, shape: Shape) -> Made:
    attend = torch.nn.functional.scaled_dot_product_attention
    heads = [filled(torch, *shape, scale=scale) for scale in (0.1, 0.2, 0.3)]
    return lambda q, k, v: attend(q, k, v, is_causal=True), heads


def _layer(torch: Any, layer: Any, *shape: int) -> Made:
    """The call of a module on a tensor that needs a gradient, as its parameters do."""
    parameters = list(layer.parameters())
    set_values(torch, parameters)

    def function(x: Any, *_parameters: Any) -> Any:
        found = layer(x)
        return found[0] if isinstance(found, tuple) else found

    return function, [filled(torch, *shape), *parameters]


@single("nn.Linear", sizes("4x8:8", "64x256:256"))
def _linear_layer(torch: Any, shape: Shape) -> Made:
    return _layer(torch, torch.nn.Linear(*shape[1:]), *shape[:2])


def _recurrent(name: str, *at: str) -> None:
    def make(torch: Any, shape: Shape) -> Made:
        return _layer(torch, getattr(torch.nn, name)(shape[-1], shape[-1]), *shape)

    single(f"nn.{name}", sizes(*at))(make)


_recurrent("LSTM", "5x2x8", "35x32x64")
_recurrent("LSTMCell", "2x8", "32x64")
_recurrent("GRU", "5x2x8", "35x32x64")
_recurrent("GRUCell", "2x8", "32x64")


def _optimizer(op: str, name: str, **options: float) -> None:
    """Steps on so many parameters of a shape."""

    def prepare(torch: Any, shape: Shape) -> Prepared:
        parameters = _with_gradients(torch, shape)
        return Prepared(getattr(torch.optim, name)(parameters, **options).step, parameters)

    call(op, sizes("2x8x8", "20x8x8", "6x256x256", "1x1024x1024"))(prepare)


def _with_gradients(torch: Any, shape: Shape, scale: float = 0.01) -> list[Any]:
    count, *rest = shape
    parameters = [filled(torch, *rest).requires_grad_() for _ in range(count)]
    for parameter in parameters:
        parameter.grad = filled(torch, *rest, scale=scale)
    return parameters


_optimizer("SGD", "SGD", lr=0.01)
_optimizer("SGD_momentum", "SGD", lr=0.01, momentum=0.9)
_optimizer("Adam", "Adam", lr=0.001)
_optimizer("AdamW", "AdamW", lr=0.001, weight_decay=0.01)


@call("zero_grad", sizes("20x8x8"))
def _zero_grad(torch: Any, shape: Shape) -> Prepared:
    """Gradients that are there, given anew before each call, are dropped."""
    parameters = _with_gradients(torch, shape)
    gradients = [parameter.grad for parameter in parameters]
    optimizer = torch.optim.SGD(parameters, lr=0.1)

    def step() -> None:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.zero_grad()

    return Prepared(step, parameters)


@call("clip_grad_norm", sizes("4x4x8", "7x64x64", "4x64x512", "4x1024x1024"))
def _clip_grad_norm(torch: Any, shape: Shape) -> Prepared:
    parameters = _with_gradients(torch, shape, scale=1e-6)
    clip = torch.nn.utils.clip_grad_norm_
    return Prepared(lambda: clip(parameters, 1.0), parameters)


@call("tensor", sizes("1", "200"))
def _tensor(torch: Any, shape: Shape) -> Prepared:
    values = list(range(1, shape[0] + 1))
    return Prepared(lambda: torch.tensor(values), [])


@call("item", sizes("1"))
def _item(torch: Any, shape: Shape) -> Prepared:
    return Prepared(filled(torch, *shape).item, [])


@single("stack", sizes("200"))
def _stack(torch: Any, shape: Shape) -> Made:
    return lambda *numbers: torch.stack(numbers), [filled(torch) for _ in range(shape[0])]


@single("chain_mul", sizes("1", "50"))
def _chain_mul(torch: Any, shape: Shape) -> Made:
    def function(x: Any) -> Any:
        for _ in range(shape[0]):
            x = x * 1.01
        return x

    return function, [filled(torch)]
