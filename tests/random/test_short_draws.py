"""Draws by the compiled way give the numbers, counts and errors of the Python functions."""

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import core

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")

GENERATOR = torch.Generator()

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("normal_", (), {}),
    ("normal_", (1, 2.5), {}),
    ("normal_", (), {"std": 0.5}),
    ("normal_", (1.0,), {"std": 3, "generator": None}),
    ("normal_", (), {"generator": GENERATOR}),
    ("normal_", (True, 2), {}),
    ("normal_", (0.0, -1.0), {}),
    ("normal_", (0.0,), {"mean": 1.0}),
    ("normal_", (10**400,), {}),
    ("normal_", ("a",), {}),
    ("normal_", (), {"other": 1.0}),
    ("normal_", (), {"generator": 3}),
    ("uniform_", (), {}),
    ("uniform_", (-1, 1), {}),
    ("uniform_", (), {"to": 4.0}),
    ("uniform_", (2.0, 1.0), {}),
    ("uniform_", (), {"from": -1, "to": 0, "generator": GENERATOR}),
    ("bernoulli_", (), {}),
    ("bernoulli_", (0.3,), {}),
    ("bernoulli_", (), {"p": 1}),
    ("bernoulli_", (2.0,), {}),
    ("bernoulli_", (None,), {}),
    ("exponential_", (), {}),
    ("exponential_", (), {"lambd": 0.25}),
    ("exponential_", (-1.0,), {}),
    ("geometric_", (0.5,), {}),
    ("geometric_", (), {}),
    ("geometric_", (1.5,), {}),
    ("cauchy_", (1.0, 2.0), {}),
    ("cauchy_", (1.0, -2.0), {}),
    ("log_normal_", (), {}),
    ("log_normal_", (0.0,), {"std": 0.1}),
    ("random_", (), {}),
    ("random_", (10,), {}),
    ("random_", (-5, 5), {}),
    ("random_", (5, -5), {}),
    ("random_", (5, None), {}),
    ("random_", (2**40,), {}),
    ("random_", (2.5,), {}),
    ("random_", (1, 2, 3), {}),
    ("random_", (2**30, 2**30 + 100), {}),
]


def targets() -> list[tuple[Any, ...]]:
    """Tensors to write to, and what else to look at; each time anew."""
    made: list[tuple[Any, ...]] = []
    for kind in (torch.float32, torch.float64, torch.int64, torch.float16, torch.bool):
        made += [(torch.zeros(size, dtype=kind),) for size in ((), (0,), (3,), (4, 5), (700,))]
    base = torch.zeros(4, 6)
    made += [(base.t(), base), (torch.zeros(4, 6)[:, ::2],)]
    base = torch.zeros(4, 6)
    made += [(base[1], base), (torch.zeros(1).expand(3),)]
    leaf = torch.zeros(3, requires_grad=True)
    made += [(leaf,), (leaf * 1,), (leaf.detach(), leaf), (torch.nn.Parameter(torch.zeros(3)),)]
    return made


def outcome(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    try:
        return function(*args, **named)
    except (AttributeError, TypeError):  # in whose words is the matter of tests/ops/test_refusals
        return "refused", ""
    except Exception as error:
        return type(error), str(error)


def seen(function: Callable[..., Any], tensors: tuple[Any, ...], args: Any, named: Any) -> Any:
    torch.manual_seed(3)
    GENERATOR.manual_seed(4)
    torch.rand(610)  # the draw goes across the end of a block
    found = outcome(function, tensors[0], *args, **named)
    return (
        found if isinstance(found, tuple) else found is tensors[0],
        [(str(t.dtype), t.tolist(), t._version, repr(t.grad_fn)[:20]) for t in tensors],
        torch.get_rng_state().tolist() + GENERATOR.get_state().tolist(),
    )


@pytest.mark.parametrize(("name", "args", "named"), CALLS)
def test_written(name: str, args: Any, named: Any) -> None:
    method = getattr(torch.Tensor, name)
    assert method is not method.python
    for short, plain in zip(targets(), targets(), strict=True):
        assert seen(method, short, args, named) == seen(method.python, plain, args, named)
        with torch.no_grad():
            assert seen(method, short, args, named) == seen(method.python, plain, args, named)


@pytest.mark.parametrize("name", ["rand", "randn", "rand_like", "randn_like"])
def test_made(name: str) -> None:
    function = getattr(torch, name)
    sizes: list[tuple[Any, ...]] = [(3,), (4, 5), ((2, 3),), ([2, 3],), (torch.Size([2, 9]),), (0,)]
    sizes += [(), (-1,), (2.5,), ((),), (700,), ("a",)]
    values = [made[:1] for made in targets()] + [(3,), (None,)]
    for arguments in values if name.endswith("_like") else sizes:
        found = []
        for way in (function, function.python):
            for double in (False, True):
                torch.set_default_dtype(torch.float64 if double else torch.float32)
                torch.manual_seed(3)
                made = outcome(way, *arguments)
                found.append(made if isinstance(made, tuple) else (made.dtype, made.tolist()))
                found[-1] = (*found[-1], torch.get_rng_state().tolist())
        torch.set_default_dtype(torch.float32)
        assert found[:2] == found[2:]


def test_a_written_tensor_knows_the_line() -> None:
    x = torch.zeros(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.detach().normal_()
    with pytest.raises(RuntimeError, match=r"normal_[\s\S]*y\.detach\(\)\.normal_\(\)"):
        z.sum().backward()


def test_modes_go_the_python_way() -> None:
    drawn = torch.func.vmap(lambda x: x.clone().normal_(), randomness="different")(
        torch.zeros(2, 3)
    )
    assert drawn.shape == (2, 3) and len(set(drawn.flatten().tolist())) == 6
    with torch.inference_mode():
        assert torch.randn_like(torch.zeros(2)).is_inference()
        assert torch.rand(2).is_inference()
