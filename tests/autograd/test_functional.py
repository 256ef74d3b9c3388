"""`torch.autograd.functional`, told the same way by PyTorch and retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")


def vector(torch: Any, *values: float, grad: bool = False) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=grad)


def powers(x: Any) -> Any:
    return x.pow(3).cumsum(0)


def single(x: Any) -> Any:
    return (x**3).sum() * x[0]


def two(x: Any, y: Any) -> Any:
    return (x**2 * y).sum() * y.sin().sum()


# ------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("grads", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, create_graph: bool, grads: tuple[bool, bool]) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x = vector(torch, grad=grads[0])
        v = vector(torch, 0.5, -1.0, 2.0, grad=grads[1])
        function = powers if name in ("vjp", "jvp") else single
        value, found = product(function, x, v, create_graph=create_graph)
        second: Any = None
        if create_graph and grads[0]:
            second = torch.autograd.grad(found.sum() + value.sum(), [x, v] if grads[1] else [x])
        return value, found, second

    assert_same(torch, scenario)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_tuples(name: str, create_graph: bool) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x, y = vector(torch), vector(torch, 4.0, 5.0, 6.0, grad=True)
        v = (vector(torch, 1.0, 0.0, 2.0), vector(torch, -1.0, 0.5, 1.0))
        if name == "vjp":
            return (
                product(lambda x, y: (x * y, x.sum()), (x, y), (x, x.sum()), create_graph),
                product(two, (x, y), None, create_graph),
                product(lambda x: (x * 2, torch.ones(2)), x, (x, torch.ones(2)), create_graph),
            )
        if name == "jvp":
            return (
                product(lambda x, y: (x * y, x.sum()), (x, y), v, create_graph),
                product(two, (x, y), v, create_graph),
                product(lambda x: x * y, torch.tensor(2.0), None, create_graph),
                product(lambda x: (x * 2, torch.ones(2)), x, x, create_graph),
            )
        return (
            product(two, (x, y), v, create_graph),
            product(lambda x: x**3, torch.tensor(2.0), None, create_graph),
            product(lambda x: x.sum(), x, x, create_graph),
            product(lambda x: torch.ones(()), x, x, create_graph),
            product(lambda x: single(x).reshape(1, 1), x, x, create_graph),
        )

    assert_same(torch, scenario)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_without_grad_mode(name: str) -> None:
    def scenario(torch: Any) -> Any:
        product = getattr(torch.autograd.functional, name)
        x = vector(torch, grad=True)
        function = powers if name in ("vjp", "jvp") else single
        with torch.no_grad():
            return [product(function, x, x.detach(), create_graph=flag) for flag in (False, True)]

    assert_same(torch, scenario)


WAYS = [
    {},
    {"create_graph": True},
    {"vectorize": True},
    {"vectorize": True, "create_graph": True},
    {"vectorize": True, "strategy": "forward-mode"},
]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_jacobian(options: dict[str, Any], grad: bool) -> None:
    def scenario(torch: Any) -> Any:
        jacobian = torch.autograd.functional.jacobian
        x, y = vector(torch, grad=grad), vector(torch, 4.0, 5.0)
        found = [
            jacobian(powers, x, **options),
            jacobian(single, x, **options),
            jacobian(lambda x: x * 2, torch.tensor(3.0), **options),
            jacobian(lambda x, y: torch.outer(x, y), (x, y), **options),
            jacobian(lambda x, y: (x * y.sum(), y), (x, y), **options),
            jacobian(lambda x: (x**2,), (x,), **options),
            jacobian(lambda x, y: x**2, (x, y), **options),
            jacobian(lambda x: torch.ones(2), x, **options),
            jacobian(lambda x: x.reshape(1, 3).float(), x, **options),
        ]
        with torch.no_grad():
            found.append(jacobian(powers, x, **options))
        return found

    assert_same(torch, scenario)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_hessian(options: dict[str, Any], grad: bool) -> None:
    options = {
        "outer_jacobian_strategy" if name == "strategy" else name: value
        for name, value in options.items()
    }

    def scenario(torch: Any) -> Any:
        hessian = torch.autograd.functional.hessian
        x, y = vector(torch, grad=grad), vector(torch, 4.0, 5.0, 6.0)
        if "outer_jacobian_strategy" in options:
            # in PyTorch the results require grad here even where no input does
            x, y = vector(torch, grad=True), vector(torch, 4.0, 5.0, 6.0, grad=True)
        return [
            hessian(single, x, **options),
            hessian(two, (x, y), **options),
            hessian(lambda x: single(x).reshape(1, 1), x, **options),
            hessian(lambda x, y: (x**2).sum(), (x, y), **options),
            hessian(lambda x: x**3, torch.tensor(2.0, requires_grad=x.requires_grad), **options),
        ]

    assert_same(torch, scenario)


@scenarios.add
def second_order(torch: Any) -> Any:
    x = vector(torch, grad=True)
    functional = torch.autograd.functional
    rows = functional.jacobian(powers, x, create_graph=True)
    table = functional.hessian(single, x, create_graph=True)
    batched = functional.jacobian(powers, x, create_graph=True, vectorize=True)
    return [torch.autograd.grad(part.sum(), x) for part in (rows, table, batched)]


@scenarios.add
def no_gradient_is_left(torch: Any) -> Any:
    x, w = vector(torch, grad=True), vector(torch, grad=True)
    functional = torch.autograd.functional
    functional.jacobian(lambda x: x * w, x)
    functional.hvp(lambda x: (x * w).sum(), x, w)
    functional.vjp(lambda x: x * w, x, w, create_graph=True)
    return x.grad, w.grad


@scenarios.add
def complex_numbers(torch: Any) -> Any:
    functional = torch.autograd.functional
    z = torch.tensor([1 + 2j, 3 - 1j])
    return [
        functional.vjp(lambda z: z**2, z, z),
        functional.jvp(lambda z: z**2, z, z),
        functional.jacobian(lambda z: z**2, z),
    ]


@scenarios.add
def batched_gradients(torch: Any) -> Any:
    x, y = vector(torch, grad=True), vector(torch, 4.0, 5.0, 6.0, grad=True)
    first, second = (x**2 * y).sin(), x.sum()
    rows = torch.eye(3, dtype=torch.float64)
    grad = torch.autograd.grad

    def run(outputs: Any, inputs: Any, gradients: Any, **options: Any) -> Any:
        return grad(outputs, inputs, gradients, retain_graph=True, is_grads_batched=True, **options)

    return [
        run(first, [x, y], rows),
        run((first, second), [x, y], (rows, rows[0])),
        run(second, [x, y], rows[0], allow_unused=True),
        run(first, [x], rows, create_graph=True),
        grad(run(first, [x], rows, create_graph=True)[0].sum(), y, retain_graph=True),
    ]


# -------------------------------------------------------------------------------------- errors

CALLS = {
    "vjp": lambda f, x, function: f.vjp(function, x, x),
    "jvp": lambda f, x, function: f.jvp(function, x, x),
    "vhp": lambda f, x, function: f.vhp(function, x, x),
    "hvp": lambda f, x, function: f.hvp(function, x, x),
    "jacobian": lambda f, x, function: f.jacobian(function, x),
    "hessian": lambda f, x, function: f.hessian(function, x),
}
OUTPUTS = {
    "number": lambda torch, x: 1.0,
    "none": lambda torch, x: None,
    "list": lambda torch, x: [x.sum()],
    "text in a tuple": lambda torch, x: (x.sum(), "text"),
    "tuple": lambda torch, x: (x.sum(), x.sum()),
    "vector": lambda torch, x: x * 2,
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", CALLS)
def test_outputs(name: str, output: str) -> None:
    def scenario(torch: Any) -> Any:
        return CALLS[name](
            torch.autograd.functional, vector(torch), lambda x: OUTPUTS[output](torch, x)
        )

    assert_same(torch, scenario)


@pytest.mark.parametrize("inputs", ["number", "list", "tuple"])
@pytest.mark.parametrize("name", CALLS)
def test_inputs(name: str, inputs: str) -> None:
    def scenario(torch: Any) -> Any:
        x = vector(torch)
        given = {"number": 1.0, "list": [x], "tuple": (x, 1.0)}[inputs]
        return CALLS[name](torch.autograd.functional, given, lambda *x: x[0].sum())

    assert_same(torch, scenario)


VECTORS = ["none", "number", "shape", "few", "many", "shape in a tuple", "number in a tuple"]


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_vectors(name: str, kind: str) -> None:
    def scenario(torch: Any) -> Any:
        x = vector(torch)
        given = {
            "none": (x, None),
            "number": (x, 1.0),
            "shape": (x, torch.ones(2)),
            "few": ((x, x), (x,)),
            "many": (x, (x, x)),
            "shape in a tuple": ((x, x), (x, torch.ones(2))),
            "number in a tuple": ((x, x), (x, 1.0)),
        }
        inputs, v = given[kind]

        def function(*x: Any) -> Any:
            found = tuple([t * 2 for t in x])
            if name not in ("vjp", "jvp"):
                return x[0].sum()
            return found if len(x) > 1 else found[0]

        return getattr(torch.autograd.functional, name)(function, inputs, v)

    assert_same(torch, scenario)


STRICT = {
    "constant": lambda torch, x, y: torch.ones(()),
    "detached": lambda torch, x, y: x.detach().sum() + 0 * y.sum().detach(),
    "first only": lambda torch, x, y: (x**2).sum(),
    "linear": lambda torch, x, y: x.sum() + y.sum(),
    "half linear": lambda torch, x, y: (x**2).sum() + y.sum(),
    "quadratic": lambda torch, x, y: (x**2).sum() + (y**2).sum(),
    "fine": lambda torch, x, y: (x**3 * y**3).sum(),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", STRICT)
@pytest.mark.parametrize("name", (*PRODUCTS, "jacobian", "hessian"))
def test_strict(name: str, kind: str, create_graph: bool) -> None:
    def scenario(torch: Any) -> Any:
        x, y = vector(torch), vector(torch, 4.0, 5.0, 6.0, grad=True)
        call = getattr(torch.autograd.functional, name)
        options = {"strict": True, "create_graph": create_graph}

        def function(x: Any, y: Any) -> Any:
            return STRICT[kind](torch, x, y)

        if name in ("jacobian", "hessian"):
            return call(function, (x, y), **options)
        v = None if name == "vjp" else (x, x)
        return call(function, (x, y), v, **options)

    assert_same(torch, scenario)


REFUSED = [
    {"strategy": "sideways"},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "create_graph": True, "vectorize": True},
    {"strategy": "forward-mode", "strict": True, "vectorize": True},
    {"vectorize": True, "strict": True},
]


@pytest.mark.parametrize("options", REFUSED, ids=str)
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_refused_options(name: str, options: dict[str, Any]) -> None:
    def scenario(torch: Any) -> Any:
        given = dict(options)
        if name == "hessian" and "strategy" in given:
            given["outer_jacobian_strategy"] = given.pop("strategy")
        return getattr(torch.autograd.functional, name)(single, vector(torch), **given)

    assert_same(torch, scenario)


@pytest.mark.parametrize("kind", ["shape", "scalar", "sizes", "complex"])
def test_batched_errors(kind: str) -> None:
    def scenario(torch: Any) -> Any:
        x = vector(torch, grad=True)
        given = {
            "shape": (x * 2, torch.ones(3, 2)),
            "scalar": (x.sum(), torch.tensor(1.0)),
            "sizes": ((x * 2, x.sum()), (torch.ones(2, 3), torch.ones(4))),
            "complex": (x * 2, torch.ones(2, 3) * 1j),
        }
        outputs, gradients = given[kind]
        return torch.autograd.grad(outputs, x, gradients, is_grads_batched=True)

    assert_same(torch, scenario)


@pytest.mark.parametrize(**scenarios.cases())
def test_scenario(scenario: Any) -> None:
    assert_same(torch, scenario)
