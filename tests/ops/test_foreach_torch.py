"""``torch._foreach_*``: the same numbers and errors as PyTorch's lists."""

import pytest

torch = pytest.importorskip("torch")

import retrograd
from retrograd.foreach import PUBLIC

pytestmark = pytest.mark.torch

ONE = "abs ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg"
ONE += " reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc norm zero_"
CALLS = [(name, ()) for name in ONE.split()]
CALLS += [
    *[(name, (2.5,)) for name in "add sub mul div pow maximum minimum clamp_max norm".split()],
    *[(name, ([2.5, 0.5],)) for name in "add sub mul div pow maximum clamp_min".split()],
    *[(name, ("list",)) for name in "add sub mul div pow maximum minimum copy_".split()],
    *[(name, ("list", "list")) for name in ("addcmul", "addcdiv")],
    *[(name, ("list", "list", 0.3)) for name in ("addcmul", "addcdiv")],
    *[(name, ("list", "list", [0.3, 0.4])) for name in ("addcmul", "addcdiv")],
    *[("lerp", ("list", 0.3)), ("lerp", ("list", [0.3, 0.4])), ("lerp", ("list", "list"))],
]


def lists(library):
    return [library.tensor([0.5, 1.75, 3.0]), library.tensor([[0.25], [2.0]])]


def others(library):
    return [library.tensor([1.5, 0.75, 2.0]), library.tensor([[1.25], [0.5]])]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
@pytest.mark.parametrize("inplace", [False, True])
def test_numbers(name, arguments, inplace):
    full = f"_foreach_{name}" + ("_" if inplace and not name.endswith("_") else "")
    if full not in PUBLIC:
        pytest.skip("there is no such form")
    found = {}
    for library in (torch, retrograd):
        tensors = lists(library)
        given = [others(library) if a == "list" else a for a in arguments]
        result = getattr(library, full)(tensors, *given)
        found[library.__name__] = (
            type(result) is tuple,
            [(list(t.shape), t.numpy().tolist()) for t in [*result, *tensors]],
        )
    left, right = found["torch"], found["retrograd"]
    assert left[0] == right[0]
    for (shape, numbers), (own_shape, own) in zip(left[1], right[1], strict=True):
        assert shape == own_shape
        assert torch.allclose(torch.tensor(numbers), torch.tensor(own), rtol=1e-6, atol=1e-7)


def test_names():
    assert set(PUBLIC) == {name for name in dir(torch) if name.startswith("_foreach_")}


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._foreach_add([], 1),
        lambda t: t._foreach_add([t.ones(1)], [1, 2]),
        lambda t: t._foreach_add([t.ones(1), t.ones(1)], [t.ones(1)]),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError) as theirs:
        call(torch)
    with pytest.raises(RuntimeError) as ours:
        call(retrograd)
    assert str(ours.value) == str(theirs.value)


def test_number_to_powers_and_one_tensor_of_factors():
    for library in (torch, retrograd):
        assert library._foreach_pow(2.0, [library.tensor([3.0])])[0].item() == 8.0
        a = [library.ones(2), library.ones(1)]
        scaled = library._foreach_addcmul(a, a, a, library.tensor([2.0, 4.0]))
        assert [t.tolist() for t in scaled] == [[3.0, 3.0], [5.0]]


def test_gradients_flow():
    found = []
    for library in (torch, retrograd):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        library._foreach_mul([x, x], [x, x])[0].sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("factor", [1.1547, 0.73])
def test_in_place_factors_of_half_tensors_are_rounded_first(dtype, factor):
    found = []
    for library in (torch, retrograd):
        values = library.linspace(0.5, 2, 64).to(getattr(library, dtype))
        first, second = [values.clone()], [values.clone()]
        library._foreach_mul_(first, factor)
        library._foreach_mul_(second, [factor])
        fresh = library._foreach_mul([values], factor)
        found.append([each.tolist() for each in (*first, *second, *fresh)])
    assert found[0] == found[1]
    assert found[0][0] != found[0][2]
