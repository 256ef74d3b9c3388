"""The engine and the public interface of autograd, without PyTorch: facts known to be PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as torch

TWICE = "Trying to backward through the graph a second time"


def leaf(*values, **options):
    return torch.tensor(list(values), requires_grad=True, **options)


def test_order_is_newest_first_and_leaves_at_once():
    seen = []

    def note(tensor, name):
        tensor.register_hook(lambda g: seen.append(name))
        return tensor

    x = note(leaf(1.0), "x")
    y = note(x * 2, "y")
    u = note(leaf(2.0), "u")
    a = note(y * 3, "a")
    b = note(y * 4, "b")
    c = note(u * 5, "c")
    ((a + b) * c).backward()
    assert seen == ["c", "u", "b", "a", "y", "x"]


def test_graph_without_saved_arrays_may_be_walked_twice():
    x = leaf(1.0, 2.0)
    total = (x + 2).sum()
    total.backward()
    total.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    product = (x * 2).sum()  # a number operand counts as saved
    product.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        product.backward()


def test_only_the_walked_part_is_freed():
    x, y = leaf(2.0), leaf(3.0)
    trunk = x.exp()
    left, right = trunk * trunk, y.exp()
    both = left + right
    both.backward(inputs=[x])
    right.backward()  # its branch was pruned, so its values are still there
    with pytest.raises(RuntimeError, match=TWICE):
        left.backward()


def test_retain_graph_and_accumulation():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    first = x.grad
    loss.backward()
    assert x.grad is first  # added in place
    assert first.tolist() == [4.0, 8.0]
    assert first._version == 1


def test_create_graph_does_not_write_into_grad():
    x = leaf(2.0)
    (x * x).backward(create_graph=True)
    first = x.grad
    (x * x * x).backward(create_graph=True)
    assert first.tolist() == [4.0]
    assert x.grad.tolist() == [16.0]
    assert x.grad.requires_grad
    x.grad = None  # the cycle leaf -> grad -> graph -> leaf is the user's to cut


def test_a_given_gradient_is_not_adopted():
    x = leaf(1.0, 2.0)
    given = torch.ones(2)
    (x + 0).backward(given)
    x.grad.add_(5)
    assert given.tolist() == [1.0, 1.0]


def test_gradient_keeps_the_layout_of_the_leaf():
    x = torch.rand(3, 2).t().contiguous().t().requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.stride() == x.stride()


def test_grad_returns_without_touching_grad():
    x, y = leaf(3.0), leaf(4.0)
    found = torch.autograd.grad(x * x, [x, y], allow_unused=True)
    assert found[0].tolist() == [6.0]
    assert found[1] is None
    assert x.grad is None
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(x * x, [y])
    zeros = torch.autograd.grad(x * x, [y], materialize_grads=True)
    assert zeros[0].tolist() == [0.0]
    named = torch.autograd.grad(x * y, {"x": x, "y": y})
    assert named["y"].tolist() == [3.0]


def test_batched_gradients():
    x = leaf(1.0, 2.0, 3.0)
    (rows,) = torch.autograd.grad(x * x, x, torch.eye(3), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


def test_capture_before_and_after_hooks():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = y * 3
    alone = torch.autograd.grad(z, [y], retain_graph=True)[0]
    assert alone.tolist() == [30.0]  # only y asked for: after its hooks
    both = torch.autograd.grad(z, [x, y])
    assert both[1].tolist() == [3.0]  # y runs on the way to x: before its hooks
    assert both[0].tolist() == [60.0]


def test_third_order():
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    value = x**5
    for expected in (80.0, 160.0, 240.0, 240.0):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
        assert value.item() == pytest.approx(expected)


def test_several_roots_and_shared_leaves():
    x = leaf(1.0, 2.0)
    torch.autograd.backward([x.sum(), (x * x).sum(), x * 3], [None, None, torch.ones(2)])
    assert x.grad.tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: (x * 2).backward(), "grad can be implicitly created only for scalar outputs"),
        (
            lambda x: x.detach().sum().backward(),
            "does not require grad and does not have a grad_fn",
        ),
        (lambda x: (x * 2).backward(torch.ones(3)), "Mismatch in shape"),
        (lambda x: x.sum().backward(inputs=[]), "cannot be empty"),
        (lambda x: torch.autograd.grad(x.sum(), []), "cannot be empty"),
        (lambda x: torch.autograd.grad(x.sum(), [torch.ones(1)]), "does not require grad"),
        (lambda x: x.add_(1), "a leaf Variable that requires grad is being used in an in-place"),
        (lambda x: x[0].add_(1), "a view of a leaf Variable that requires grad"),
        (
            lambda x: (x * 2).unbind()[0].add_(1),
            "is the output of a function that returns multiple",
        ),
        (
            lambda x: setattr(x * 2, "requires_grad", False),
            "you can only change requires_grad flags",
        ),
        (lambda x: torch.ones(2, dtype=torch.int64).requires_grad_(), "can require gradients"),
        (lambda x: x.numpy(), "Can't call numpy"),
        (lambda x: setattr(x, "grad", torch.ones(3)), "attempting to assign a gradient of size"),
    ],
)
def test_misuse(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(leaf(1.0, 2.0))


def test_saved_value_written_in_place():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"which is output 0 of Exp, is at version 1; expected"):
        y.sum().backward()
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\] is at version 1"):
        loss.backward()


def test_write_through_a_view_changes_the_history_of_the_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    row = y[1:]
    row.mul_(10)
    assert type(y.grad_fn).__name__ == "CopySlices"
    assert type(row.grad_fn).__name__ == "AsStridedBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 10.0]


def test_saved_attributes_and_identity():
    a, b = leaf(1.0), leaf(2.0)
    product = a * b
    assert product.grad_fn._saved_self is a
    assert product.grad_fn._saved_other is b
    product.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        _ = product.grad_fn._saved_self
    assert (a.exp()).grad_fn._saved_result.tolist() == pytest.approx([np.e])
    assert a.sum().grad_fn.name() == "SumBackward0"


def test_grad_modes():
    x = leaf(1.0)
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def quiet(value):
        return value * 2

    @torch.no_grad
    def also_quiet(value):
        return value * 2

    assert not quiet(x).requires_grad
    assert not also_quiet(x).requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with torch.inference_mode():
        made = torch.ones(1)
        assert made.is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        made.add_(1)


def test_grad_of_a_nonleaf_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="is not a leaf Tensor is being accessed"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
        assert y.grad.tolist() == [1.0]


def test_detach_shares_memory_and_version():
    x = leaf(1.0, 2.0)
    y = x * 1
    d = y.detach()
    d.zero_()
    assert y.tolist() == [0.0, 0.0]
    assert y._version == 1
    assert not y.data._version
    assert d.data_ptr() == y.data_ptr()


def test_mixed_precision_gradients_have_the_types_of_their_leaves():
    vector = torch.ones(3, requires_grad=True)
    scalar = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    half = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    (vector * scalar * half).sum().backward()
    assert vector.grad.dtype is torch.float32
    assert scalar.grad.dtype is torch.float64
    assert half.grad.dtype is torch.bfloat16
    assert scalar.grad.item() == 3.0


def test_complex_gradients_are_conjugate_linear():
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z * z).abs().sum().backward()
    numeric = 2 * np.array([1 + 2j])  # d|z^2| is 2 z for the conjugate convention
    assert z.grad.numpy() == pytest.approx(numeric, rel=1e-6)
