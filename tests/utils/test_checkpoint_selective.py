"""Selective checkpointing, side by side with PyTorch: what policies see, what runs, errors."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import retrograd
import retrograd.nn.functional
from retrograd.backend.device import KERNELS
from retrograd.engine.state import HOT, STATE
from tests.utils.selective_pairs import WATCH, Side, both, chain

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = HOT["UNUSUAL"]
    yield
    assert STATE.op_modes == ()
    assert HOT["UNUSUAL"] == before


# -------------------------------------------------------------------------------------- models


def mlp(s: Side, x: Any, w: Any, b: Any) -> Any:
    hidden = s.nn.linear(x, w, b).relu()
    hidden = s.nn.gelu(s.nn.linear(hidden, w)) + x
    hidden = s.nn.layer_norm(hidden, (4,), b, b)
    return (hidden * 2 - 1).tanh().sum(1, keepdim=True) / 3


def attention(s: Side, x: Any, w: Any, b: Any) -> Any:
    x = x.unsqueeze(0).expand(2, 4, 4)
    query, key, value = s.nn.linear(x, w, b), x @ w, x.matmul(w)
    weights = s.t.softmax(query @ key.transpose(-2, -1) * 0.5, -1)
    weights = weights.masked_fill(s.t.ones(4, 4).triu(1) > 0, 0.0)
    mixed = (weights @ value).permute(1, 0, 2).reshape(4, -1)
    return s.t.cat([mixed[:, :4], mixed[1:2, 4:8].sigmoid()]).log_softmax(0).mean()


def convolution(s: Side, x: Any, w: Any, b: Any) -> Any:
    image = x.view(1, 1, 4, 4)
    found = s.nn.conv2d(image, w.view(4, 1, 2, 2), b).relu()
    found = s.nn.max_pool2d(found, 2) + s.nn.adaptive_avg_pool2d(found, (1, 1))
    return found.flatten(1).exp().log().mean(0).var()


def lookup(s: Side, x: Any, w: Any, b: Any) -> Any:
    rows = s.nn.embedding(s.t.tensor([0, 2, 2]), x)
    picked = x[s.t.tensor([1, 3])] - x.gather(1, s.t.tensor([[0, 1], [2, 3]])).sum()
    chosen = s.t.where(x > 0, x, w)
    parts = x.split(2, 1) + x.chunk(2) + tuple(x.unbind(0))
    total = sum(part.pow(2).mean() for part in parts)
    return rows.abs().sqrt().sum() + picked.std() + chosen.clamp(-1, 1).sum() + total + 1 / b.sum()


def addition(s: Side, x: Any, w: Any, b: Any) -> Any:
    out = s.t.add(x, w, alpha=2).sub(b).mul(b).div(2)
    out = s.t.rsub(out, 1)
    out = s.t.addmm(b, out, w, beta=0.5)
    out = s.t.bmm(out.unsqueeze(0), w.unsqueeze(0)).squeeze(0)
    return s.nn.mse_loss(out.t().contiguous().view(16)[1:15:2], out.flatten()[:7])


def written(s: Side, x: Any, w: Any, b: Any) -> Any:
    out = x * 1
    out.add_(w).mul_(2)
    out[0] = b
    out[:, 1].copy_(b)
    return out.sin()


MODELS = [mlp, attention, convolution, lookup, addition, written]


@pytest.mark.parametrize("model", MODELS)
def test_policies_see_the_same_ops_and_arguments(model: Any) -> None:
    def scenario(s: Side) -> None:
        inputs = s.leaf(4, 4), s.leaf(4, 4, seed=1), s.leaf(4, seed=2)
        out = s.run(partial(model, s), *inputs, policy=s.watch())
        out.sum().backward()
        s.note(out, *[x.grad for x in inputs])

    factories = ("aten.ones.default", "aten.scalar_tensor.default")
    theirs, ours = both(scenario)
    assert ours.seen == [call for call in theirs.seen if call[0] not in factories]


@pytest.mark.parametrize("model", MODELS)
def test_every_single_op_can_be_kept(model: Any) -> None:
    """Kept or not, the gradients are those without a checkpoint."""
    s = Side(retrograd)
    plain = [s.leaf(4, 4), s.leaf(4, 4, seed=1), s.leaf(4, seed=2)]
    model(s, *plain).sum().backward()
    s.run(partial(model, s), *plain, policy=s.watch())
    names = {name for name, *_ in s.seen if not name.split(".")[1].endswith("_")}
    assert len(names) > 2
    if model is written:
        names -= {"aten.mul.Tensor"}  # its result is written to
    for saved in [*({name} for name in names), names]:
        inputs = [s.leaf(4, 4), s.leaf(4, 4, seed=1), s.leaf(4, seed=2)]
        s.run(partial(model, s), *inputs, policy=s.watch(*saved)).sum().backward()
        for ours, expected in zip(inputs, plain, strict=True):
            np.testing.assert_array_equal(ours.grad.numpy(), expected.grad.numpy(), str(saved))


# ------------------------------------------------------------------------------- what runs again


class Kernels:
    """Counts how often the kernels of some ops run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.counts: Counter[str] = Counter()
        for name in names:
            kernel, ufunc = KERNELS[name]
            monkeypatch.setitem(KERNELS, name, (self._counted(name, kernel), ufunc))

    def _counted(self, name: str, kernel: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.counts[name] += 1
            return kernel(*args, **kwargs)

        return run

    def take(self) -> dict[str, int]:
        taken = dict(self.counts)
        self.counts.clear()
        return taken


@pytest.mark.parametrize(
    ("saved", "again"),
    [
        ((), {"mm": 2, "sin": 2, "exp": 1}),
        (("aten.mm.default",), {"sin": 2, "exp": 1}),
        (("aten.sin.default",), {"mm": 2, "exp": 1}),
        (("aten.mm.default", "aten.exp.default", "aten.sin.default"), {}),
    ],
)
def test_only_what_is_not_kept_runs_again(
    monkeypatch: pytest.MonkeyPatch, saved: tuple[str, ...], again: dict[str, int]
) -> None:
    s = Side(retrograd)
    x = s.leaf(3, 3)
    kernels = Kernels(monkeypatch, "mm", "sin", "exp")
    out = s.run(chain, x, policy=s.watch(*saved))
    assert kernels.take() == {"mm": 2, "sin": 2, "exp": 1}
    out.sum().backward()
    # backward multiplies arrays itself: through the raw face, which is not counted
    assert kernels.take() == again


def test_the_same_number_of_ops_runs_again_as_in_pytorch() -> None:
    modes = pytest.importorskip("torch.utils._python_dispatch")

    class Counted(modes.TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.counts: Counter[str] = Counter()

        def __torch_dispatch__(
            self, op: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.counts[str(op)] += str(op) not in WATCH
            return op(*args, **(kwargs or {}))

    class CountedHere:
        def __init__(self) -> None:
            self.counts: Counter[str] = Counter()

        def run(self, op: Any, args: Any, targets: Any, form: str, compute: Any) -> Any:
            from retrograd.ops.calling.aten_names import overload_name

            self.counts[overload_name(op, args, form)] += 1
            return compute()

    def recomputed(s: Side, saved: tuple[str, ...]) -> Counter[str]:
        x = s.leaf(3, 3)

        def contexts() -> Any:
            keep, recall = s.lib.create_selective_checkpoint_contexts(s.watch(*saved))
            return keep, Both(recall)

        class Both:
            """The recomputation's context inside of one that counts what reaches the kernels."""

            def __init__(self, inner: Any) -> None:
                self.inner = inner

            def __enter__(self) -> None:
                if s.t is torch:
                    counter.__enter__()
                else:
                    from retrograd.engine.state import set_op_modes

                    set_op_modes((*STATE.op_modes, counter))
                self.inner.__enter__()

            def __exit__(self, *exception: Any) -> None:
                self.inner.__exit__(*exception)
                if s.t is torch:
                    counter.__exit__(*exception)
                else:
                    from retrograd.engine.state import set_op_modes

                    set_op_modes(STATE.op_modes[:-1])

        counter = Counted() if s.t is torch else CountedHere()
        out = s.lib.checkpoint(chain, x, use_reentrant=False, context_fn=contexts)
        out.sum().backward()
        return +counter.counts

    for saved in ((), ("aten.mm.default",), ("aten.sin.default", "aten.exp.default")):
        assert recomputed(Side(retrograd), saved) == recomputed(Side(torch), saved)


def test_a_list_of_ops_is_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Side(retrograd)
    kernels = Kernels(monkeypatch, "mm", "sin")
    x = s.leaf(3, 3)
    out = s.run(chain, x, policy=[s.t.ops.aten.mm.default])
    kernels.take()
    out.sum().backward()
    assert kernels.take() == {"sin": 2}


@pytest.mark.parametrize("answer", [True, False, None, 3, *range(10, 16)])
def test_answers_of_policies(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    s = Side(retrograd)
    kernels = Kernels(monkeypatch, "sin")
    if answer not in (True, False, None, 3):
        answer = s.policy(answer - 10)
    x = s.leaf(3)
    out = s.run(lambda x: x.sin().exp(), x, policy=lambda *args, **kwargs: answer)
    out.sum().backward()
    saves = answer is True or answer in (s.policy.MUST_SAVE, s.policy.PREFER_SAVE)
    assert kernels.take() == {"sin": 1 if saves else 2}


def test_nested_checkpoints() -> None:
    def scenario(s: Side) -> None:
        def inner(x: Any) -> Any:
            return (x @ x).sin().exp()

        def outer(x: Any) -> Any:
            return s.run(inner, x.cos(), policy=s.watch("aten.mm.default")).sin() @ x

        for policy in (s.watch("aten.sin.default"), s.watch("aten.exp.default"), s.watch()):
            x = s.leaf(3, 3)
            out = s.run(outer, x, policy=policy)
            out.sum().backward()
            s.note(out, x.grad)

    both(scenario)


def test_an_outer_plain_checkpoint() -> None:
    def scenario(s: Side) -> None:
        def outer(x: Any) -> Any:
            return s.run(chain, x.cos(), policy=s.watch("aten.mm.default")).sin()

        x = s.leaf(3, 3)
        out = s.lib.checkpoint(outer, x, use_reentrant=False)
        out.sum().backward()
        s.note(out, x.grad)

    theirs, ours = both(scenario)
    assert [name for name, *_ in ours.seen] == [name for name, *_ in theirs.seen]


def test_backward_inside_of_the_function() -> None:
    """It recomputes during the forward pass, and leaves what is kept for the real backward."""

    def scenario(s: Side) -> None:
        def function(x: Any) -> Any:
            y = x.sin()
            (slope,) = s.t.autograd.grad(y.sum(), x, create_graph=True)
            return (slope * y).exp()

        x = s.leaf(3)
        s.run(function, x, policy=lambda *args, **kwargs: True).sum().backward()
        s.note(x.grad)

    both(scenario)


def test_ops_of_transforms_and_of_functions() -> None:
    s = Side(retrograd)

    class Twice(s.t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.sin()
            ctx.save_for_backward(x, y)
            return y.exp()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y.exp() * x.cos()

    def mapped(x: Any) -> Any:
        return s.t.vmap(lambda row: (row @ x).sin().exp())(Twice.apply(x * 2)).tanh()

    for answer in (True, False):
        x = s.leaf(3, 3)
        s.run(mapped, x, policy=lambda *args, a=answer, **kwargs: a).sum().backward()
        kept = x.grad
        x.grad = None
        mapped(x).sum().backward()
        assert kept.tolist() == x.grad.tolist()


def test_half_precision_and_promotion() -> None:
    def scenario(s: Side) -> None:
        x = s.leaf(3, 3).detach().to(s.t.bfloat16).requires_grad_()
        w = s.leaf(3, 3, seed=1).detach().float()

        def function(x: Any) -> Any:
            return ((x * w).sin() + (x @ x).sin()).exp().sin()

        names = ("aten.mul.Tensor", "aten.mm.default", "aten.sin.default")
        s.run(function, x, policy=s.watch(*names)).sum().backward()
        kept = x.grad
        x.grad = None
        function(x).sum().backward()
        assert bool((kept == x.grad).all())
        s.log.append(str(kept.dtype))

    both(scenario)


def test_random_numbers_after_a_kept_random_op() -> None:
    s = Side(retrograd)

    def function(x: Any) -> Any:
        first = s.t.bernoulli(x.sigmoid())
        return (x * first).sin() * s.nn.dropout(x.exp(), 0.5)

    grads = []
    for saved in ((), ("aten.bernoulli.default",)):
        x = s.leaf(5, 5)
        s.t.manual_seed(0)
        s.run(function, x, policy=s.watch(*saved)).sum().backward()
        grads.append(x.grad)
    x = s.leaf(5, 5)
    s.t.manual_seed(0)
    function(x).sum().backward()
    for grad in grads:
        assert grad.tolist() == x.grad.tolist()


def test_views_of_kept_results_share_their_memory() -> None:
    s = Side(retrograd)
    x = s.leaf(4)

    def function(x: Any) -> Any:
        doubled = (x * 2).view(2, 2)
        doubled[0] *= 3
        return doubled.sin().exp()

    s.run(function, x, policy=s.watch("aten.view.default", "aten.select.int")).sum().backward()
    kept = x.grad
    x.grad = None
    function(x).sum().backward()
    assert kept.tolist() == x.grad.tolist()


def test_what_a_policy_computes_is_no_part_of_the_function() -> None:
    def scenario(s: Side) -> None:
        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            s.log.append(str(op))
            return bool((args[0] * 2).sum() > 0)

        x = s.leaf(3)
        s.run(lambda x: x.sin().exp().cos(), x, policy=policy).sum().backward()
        s.note(x.grad)

    both(scenario)


# -------------------------------------------------------------------------------------- errors


def test_errors_of_backward() -> None:
    def scenario(s: Side) -> None:
        def grads(function: Any, *saved: str, allow: bool = False, times: int = 1) -> None:
            def action() -> None:
                x = s.leaf(2, 2)
                out = s.run(function, x, policy=s.watch(*saved), allow=allow)
                for _ in range(times):
                    out.sum().backward(retain_graph=True)
                s.note(x.grad)

            s.fails(action)

        def relu_(x: Any) -> Any:
            return (x * 2).relu_().exp()

        grads(relu_, "aten.mul.Tensor")
        grads(relu_, "aten.relu_.default")
        grads(relu_, "aten.relu_.default", allow=True)
        grads(relu_, "aten.exp.default")
        grads(lambda x: (x * 2).mul_(3).sin().exp(), "aten.mul.Tensor", allow=True)
        grads(lambda x: x.sin().exp().sin(), "aten.sin.default", times=2)
        grads(lambda x: x.view(4).exp().sin(), "aten.view.default", times=2)
        grads(lambda x: x.sin().exp().sin(), times=2)

        calls: list[int] = []

        def differs(name: str) -> Callable[[Any], Any]:
            def function(x: Any) -> Any:
                calls.append(1)
                x = (x * 2).exp()
                return (getattr(x, name)() if len(calls) % 2 == 0 else x).sin()

            return function

        grads(differs("cos"))
        grads(differs("exp"))

    both(scenario)


def test_nothing_is_asked_of_the_ops_that_are_not_needed_again() -> None:
    """The recomputation ends with the operands of the last op: its own result may be written to."""

    def scenario(s: Side) -> None:
        x, w = s.leaf(2, 2), s.leaf(2, 2, seed=1)
        out = s.run(lambda x, w: x.sin() @ w, x, w, policy=s.watch("aten.mm.default"))
        out.add_(x)
        for _ in range(2):
            out.sum().backward(retain_graph=True)
        s.note(x.grad, w.grad)
        end = s.run(
            lambda x, w: x.sin() @ w,
            *(x, w),
            policy=s.watch("aten.mm.default"),
            early_stop=False,
        )
        end.add_(x)
        s.fails(lambda: end.sum().backward())

    both(scenario)


def test_writes_after_the_forward_pass_are_noticed() -> None:
    def scenario(s: Side) -> None:
        x = s.leaf(3)
        kept: list[Any] = []

        def function(x: Any) -> Any:
            kept.append(x.sin())
            return kept[0].exp().cos()

        out = s.run(function, x, policy=s.watch("aten.sin.default"))
        kept[0].detach().zero_()
        s.fails(lambda: out.sum().backward())

    both(scenario)


def test_errors_of_arguments() -> None:
    def scenario(s: Side) -> None:
        create = s.lib.create_selective_checkpoint_contexts
        aten = s.t.ops.aten
        s.fails(lambda: create(3))
        s.fails(lambda: create((aten.mm.default,)))
        s.fails(lambda: create(["aten::mm"]))
        s.fails(lambda: s.lib.SelectiveCheckpointContext())

        def broken(*args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError("policy")

        s.fails(lambda: s.run(chain, s.leaf(3, 3), policy=broken))
        s.fails(lambda: s.run(chain, s.leaf(3, 3), policy=s.watch(), debug=True))
        with pytest.raises(ValueError, match=r"change it to `torch\.ops\.aten\.mm\.default`"):
            create([aten.mm])

    both(scenario)


def test_names_and_values() -> None:
    def facts(library: Any) -> list[Any]:
        s = Side(library)
        context = s.lib.SelectiveCheckpointContext(is_recompute=True, op_output=4)
        return [
            [(member.name, member.value) for member in s.policy],
            repr(s.policy.MUST_SAVE),
            sorted(str(op) for op in s.lib.SAC_IGNORED_OPS),
            vars(context),
        ]

    assert facts(retrograd) == facts(torch)
    policy = retrograd.utils.checkpoint.CheckpointPolicy
    assert pickle.loads(pickle.dumps(policy.MUST_SAVE)) is policy.MUST_SAVE
