"""Autocast by itself: which dtypes come out, what is kept, where it is on."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import retrograd as torch
from retrograd.engine.state import HOT
from retrograd.ops.calling.autocasting import WEIGHTS
from tests.limits import LIMIT

F = torch.nn.functional
BF16, F32, F64, F16 = torch.bfloat16, torch.float32, torch.float64, torch.float16


@pytest.fixture(autouse=True)
def nothing_stays():
    before = HOT["UNUSUAL"]
    yield
    assert HOT["UNUSUAL"] == before
    assert not torch.is_autocast_enabled("cpu")
    assert not WEIGHTS.casts


def weight():
    return torch.ones(4, 4, requires_grad=True)


X = torch.ones(2, 4)


def cast_node(result):
    """The node that cast the weight of a linear function without a bias."""
    return result.grad_fn.next_functions[1][0].next_functions[0][0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a: a @ a, BF16),
        (lambda a: torch.matmul(a, a), BF16),
        (lambda a: a.mm(a), BF16),
        (lambda a: F.linear(a, a, a[0]), BF16),
        (lambda a: torch.einsum("ij,jk,kl->il", a, a, a), BF16),
        (lambda a: F.conv1d(a[None], a[None]), BF16),
        (lambda a: a + a, F32),
        (lambda a: a.exp(), F32),
        (lambda a: a @ a + a, F32),
        (lambda a: F.softmax(a @ a, 0), BF16),
        (lambda a: F.mse_loss(a @ a, a), F32),
        (lambda a: F.cross_entropy(a @ a, a), F32),
        (lambda a: (a @ a).prod(), F32),
        (lambda a: torch.linalg.inv(a @ a + torch.eye(4)), F32),
        (lambda a: torch.cat([a @ a, a]), F32),
        (lambda a: torch.cat([a @ a, a @ a]), BF16),
        (lambda a: torch.mm(a.double(), a.double()), F64),
        (lambda a: torch.mv(a, a[0]), F32),
        (lambda a: torch.mm(a, a, out=torch.empty(4, 4)), F32),
        (lambda a: torch.matmul(a, a, out=torch.empty(4, 4)), F32),
        (lambda a: a.clone().addmm_(a, a), F32),
    ],
)
def test_dtypes(function, expected):
    a = torch.ones(4, 4)
    with torch.autocast("cpu"):
        assert function(a).dtype is expected
    assert function(a).dtype is (F64 if expected is F64 else F32)


def test_float16_and_dtype_of_the_thread():
    with torch.autocast("cpu", dtype=F16):
        assert (X @ X.t()).dtype is F16
        assert torch.get_autocast_dtype("cpu") is F16
        with torch.autocast("cpu", F16):
            pass
    assert torch.get_autocast_dtype("cpu") is BF16


def test_nesting_and_disabled_regions():
    with torch.autocast("cpu"):
        assert (X @ X.t()).dtype is BF16
        with torch.autocast("cpu", enabled=False):
            assert not torch.is_autocast_enabled("cpu")
            assert (X @ X.t()).dtype is F32
            with torch.autocast("cpu", dtype=F16):
                assert (X @ X.t()).dtype is F16
        assert (X @ X.t()).dtype is BF16


def test_decorator():
    @torch.autocast("cpu")
    def product(a, b):
        """A product."""
        return a @ b

    assert product(X, X.t()).dtype is BF16
    assert (product.__name__, product.__doc__) == ("product", "A product.")
    assert (X @ X.t()).dtype is F32


def test_one_instance_may_be_nested():
    region = torch.autocast("cpu")
    with region:
        with region:
            pass
        assert torch.is_autocast_enabled("cpu")


def test_an_error_leaves_the_region():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"), torch.autocast("cpu"):
        F.linear(X, torch.ones(3, 3))
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def test_other_threads_are_not_in_the_region():
    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((X @ X.t()).dtype))
        thread.start()
        thread.join()
    assert seen == [F32]


# ------------------------------------------------------------------------------------ the graph


def test_casts_are_nodes():
    w = weight()
    with torch.autocast("cpu"):
        y = F.linear(X, w)
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(node.name())
        node = ([n for n, _ in node.next_functions if n is not None] or [None])[-1]
    assert names[:3] == ["MmBackward0", "TBackward0", "ToCopyBackward0"]
    y.sum().backward()
    assert w.grad.dtype is F32


def test_weights_are_cast_once():
    w = weight()
    with torch.autocast("cpu"):
        first, second = F.linear(X, w), F.linear(X, w)
        assert cast_node(first) is cast_node(second)
    with torch.autocast("cpu"):
        assert cast_node(F.linear(X, w)) is not cast_node(first)
    with torch.autocast("cpu", cache_enabled=False):
        assert cast_node(F.linear(X, w)) is not cast_node(F.linear(X, w))


def test_what_is_not_kept():
    w, x = weight(), torch.ones(2, 4)
    with torch.autocast("cpu"):
        F.linear(x, w * 1)  # no leaf
        F.linear(x, w[:2])  # a view
        F.linear(x, w.detach())  # needs no gradient
        F.linear(x, torch.ones(2, 4, dtype=F64).to(F32))
        assert not WEIGHTS.casts
        F.linear(x, w)
        assert len(WEIGHTS.casts) == 1
        torch.clear_autocast_cache()
        assert not WEIGHTS.casts
        with torch.inference_mode():
            F.linear(x, w)
        assert not WEIGHTS.casts


def test_first_use_under_no_grad():
    w = weight()
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not F.linear(X, w).requires_grad
        F.linear(X, w).sum().backward()
    assert w.grad.tolist() == [[2.0] * 4] * 4


def test_two_precisions_of_one_weight():
    w = weight()
    with torch.autocast("cpu"):
        assert F.linear(X, w).dtype is BF16
        with torch.autocast("cpu", dtype=F16):
            assert F.linear(X, w).dtype is F16


def test_backward_inside_is_autocast_too():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(4, 4, generator=generator, requires_grad=True) for _ in range(2))
    y = (a @ b).sum()
    (plain,) = torch.autograd.grad(y, a, retain_graph=True)
    with torch.autocast("cpu"):
        (lower,) = torch.autograd.grad(y, a)
    expected = torch.ones(4, 4, dtype=BF16) @ b.detach().t().to(BF16)
    assert lower.dtype is F32 and not lower.requires_grad
    assert torch.equal(lower, expected.float())
    assert not torch.equal(lower, plain)


def test_nodes_remember_the_line():
    with torch.autocast("cpu"):
        y = F.linear(X, weight())
    assert y.grad_fn.code is sys._getframe().f_code


def test_under_vmap_and_grad():
    w = weight()
    with torch.autocast("cpu"):
        y = torch.func.vmap(lambda x: F.linear(x, w.detach()))(X)
        assert y.dtype is BF16
        g = torch.func.grad(lambda m: F.linear(X, m).sum())(w.detach())
    assert g.dtype is F32
    assert g.tolist() == [[2.0] * 4] * 4


# --------------------------------------------------------------------------------- custom, cost


def test_custom_function():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append(torch.is_autocast_enabled("cpu"))
            a, b = ctx.saved_tensors
            return g @ b.t(), a.t() @ g

    w = weight()
    with torch.autocast("cpu"):
        y = Product.apply(X, w)
    assert y.dtype is BF16
    y.sum().backward()
    assert seen == [True]
    assert w.grad.dtype is F32
    Product.apply(X, w).sum().backward()
    assert seen == [True, False]


def test_nothing_is_loaded_or_exchanged_before_it_is_used():
    program = """
import sys
import retrograd as torch
code = torch.nn.functional.linear.__code__
assert "retrograd.amp" not in sys.modules
assert "retrograd.ops.calling.autocasting" not in sys.modules
torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
torch.amp.GradScaler("cpu")
assert torch.nn.functional.linear.__code__ is code
with torch.autocast("cpu"):
    pass
assert torch.nn.functional.linear.__code__ is not code
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT)


def test_exchanged_functions_look_as_before():
    import inspect

    with torch.autocast("cpu"):
        pass
    assert list(inspect.signature(F.linear).parameters) == ["input", "weight", "bias"]
    assert F.linear.__name__ == "linear"
    with pytest.raises(TypeError, match=r"linear\(\) missing 1 required positional argument"):
        F.linear(X)


def test_the_cuda_region_of_a_machine_without():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        region = torch.autocast("cuda")
    with region:
        assert not torch.is_autocast_enabled("cuda")
        assert (X @ X.t()).dtype is F32
