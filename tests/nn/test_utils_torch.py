"""nn.utils beside real PyTorch: packing, padding, clipping, parameters as a vector."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
BOTH = (retrograd, torch)


def values(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def plain(found):
    """A nested result as lists, numbers and text that compare with ==."""
    if isinstance(found, (tuple, list)):
        return [plain(part) for part in found]
    if hasattr(found, "numpy"):
        return str(found.dtype), tuple(found.shape), found.detach().numpy().tolist()
    return found


def same(function):
    """Run on both libraries: equal results, or equal errors and warnings."""
    found = []
    for t in BOTH:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = plain(function(t))
            except Exception as raised:
                result = type(raised).__name__, str(raised).split("\n")[0]
        found.append((result, [(w.category, str(w.message), w.filename) for w in seen]))
    assert found[0] == found[1]
    return found[0][0]


# -------------------------------------------------------------------------------- sequences


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("rest", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize(
    "lengths", [[5, 5, 3, 1], [2, 5, 1, 5], [3, 3, 2, 3], [1, 1, 1, 1]], ids=str
)
def test_pack_and_pad(lengths, rest, batch_first):
    ordered = lengths == sorted(lengths, reverse=True)
    shape = (4, 5, *rest) if batch_first else (5, 4, *rest)

    def run(t):
        rnn = t.nn.utils.rnn
        input = t.tensor(values(1, *shape), requires_grad=True)
        packed = rnn.pack_padded_sequence(input, lengths, batch_first, enforce_sorted=ordered)
        results = [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices]
        for options in ({}, {"batch_first": True, "padding_value": 0.5, "total_length": 7}):
            padded, counts = rnn.pad_packed_sequence(packed, **options)
            results += [padded, counts, padded.stride()]
            results += t.autograd.grad((padded**2).sum(), [input], retain_graph=True)
        results += rnn.unpack_sequence(packed)
        return results

    assert len(same(run)) > 10


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences(batch_first, side):
    def run(t):
        rnn = t.nn.utils.rnn
        parts = [t.tensor(values(n, n, 2), requires_grad=True) for n in (2, 4, 1)]
        padded = rnn.pad_sequence(parts, batch_first, 1.5, side)
        gradients = t.autograd.grad((padded**3).sum(), parts)
        packed = rnn.pack_sequence(parts, enforce_sorted=False)
        counts = t.tensor([2, 4, 1])
        back = rnn.unpad_sequence(rnn.pad_sequence(parts, batch_first), counts, batch_first)
        return [padded, padded.stride(), *gradients, *packed, *rnn.unpack_sequence(packed), *back]

    assert len(same(run)) == 15


def test_text_conversions_and_pickling():
    def run(t):
        rnn = t.nn.utils.rnn
        packed = rnn.pack_sequence([t.tensor([1, 3]), t.tensor([2, 4, 5])], enforce_sorted=False)
        results = [str(packed), packed.is_cuda, packed.is_pinned(), packed.cpu() is packed]
        results += [packed.to(t.int64) is packed, packed.to("cpu") is packed]
        for name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
            converted = getattr(packed, name)()
            results += [converted.data, converted is packed, type(converted).__name__]
        results += [str(pickle.loads(pickle.dumps(packed)))]
        pair = rnn.PackedSequence((packed.data, packed.batch_sizes), None, packed.sorted_indices)
        return [*results, *pair, rnn.invert_permutation(t.tensor([3, 1, 0, 2]))]

    assert len(same(run)) > 30


@pytest.mark.parametrize(
    "misuse",
    [
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(5, 3, 2), [3, 4, 5]),
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(5, 3, 2), [5, 4]),
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(5, 3, 2), [5, 4, 0]),
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(5, 3, 2), [[5, 4, 0]]),
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(0, 3, 2), []),
        lambda t, rnn: rnn.pack_padded_sequence(t.ones(3), [3]),
        lambda t, rnn: rnn.pack_sequence([t.ones(2), t.ones(3)]),
        lambda t, rnn: rnn.pad_packed_sequence(rnn.pack_sequence([t.ones(3)]), total_length=2),
        lambda t, rnn: rnn.PackedSequence(t.ones(5, 2)),
        lambda t, rnn: rnn.pad_sequence([]),
        lambda t, rnn: rnn.pad_sequence(3),
        lambda t, rnn: rnn.pad_sequence([1, 2]),
        lambda t, rnn: rnn.pad_sequence([t.ones(2, 3), t.ones(3, 4)]),
        lambda t, rnn: rnn.pad_sequence([t.ones(2), t.ones(3, 3)]),
        lambda t, rnn: rnn.pad_sequence([t.ones(2)], padding_side="middle"),
        lambda t, rnn: rnn.pad_sequence([t.ones(2, dtype=t.int64), t.ones(3)], padding_value=1.5),
        lambda t, rnn: rnn.pad_sequence(t.ones(2, 3)),
        lambda t, rnn: rnn.unpad_sequence(t.ones(2, 3), t.tensor([1, 2, 3])),
        lambda t, rnn: rnn.unpad_sequence(t.ones(2, 3), t.tensor([1, 2])),
        lambda t, rnn: rnn.invert_permutation(None),
    ],
)
def test_misuse_of_sequences(misuse):
    same(lambda t: misuse(t, t.nn.utils.rnn))


# ---------------------------------------------------------------------------------- clipping


def parameters(t, scale=1.0):
    """Three parameters, two with gradients."""
    made = [t.nn.Parameter(t.zeros(*shape)) for shape in ((3, 4), (2,), (5,))]
    made[0].grad = t.tensor(values(1, 3, 4) * np.float32(scale))
    made[2].grad = t.tensor(values(2, 5) * np.float32(scale))
    return made


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("norm_type", [2.0, 1, 3.5, float("inf"), "inf", 0])
@pytest.mark.parametrize("limit", [0.5, 1000, 0])
def test_clip_grad_norm(limit, norm_type, foreach):
    found = []
    for t in BOTH:
        many = parameters(t)
        total = t.nn.utils.clip_grad_norm_(iter(many), limit, norm_type, foreach=foreach)
        again = t.nn.utils.get_total_norm([many[0].grad, many[2].grad], norm_type)
        assert many[1].grad is None
        assert not total.requires_grad
        found.append([x.numpy() for x in (total, again, many[0].grad, many[2].grad)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "use",
    [
        lambda t, u: u.clip_grad_norm_([], 1.0),
        lambda t, u: u.clip_grad_norm_((p for p in []), 1.0),
        lambda t, u: u.clip_grad_norm(parameters(t, 0.0), 1.0),
        lambda t, u: u.clip_grad_norm_(parameters(t, float("inf")), 1.0, error_if_nonfinite=True),
        lambda t, u: u.clip_grad_norm_(parameters(t, float("nan")), 1.0, 3, True),
        lambda t, u: u.clip_grad_norm_(parameters(t), "a"),
        lambda t, u: u.get_total_norm([]),
        lambda t, u: u.get_total_norm(t.tensor([3.0, 4.0])),
        lambda t, u: u.get_total_norm([t.ones(2), t.ones(2, dtype=t.float64)]),
        lambda t, u: u.clip_grads_with_norm_(t.ones(2), 1.0, t.tensor(2.0)),
        lambda t, u: u.clip_grad_value_(parameters(t), "a"),
        lambda t, u: u.vector_to_parameters([1.0], []),
        lambda t, u: u.vector_to_parameters(t.ones(3), [t.ones(2), t.ones(2)]),
        lambda t, u: u.parameters_to_vector([]),
    ],
)
def test_uses_and_misuses(use):
    same(lambda t: use(t, t.nn.utils))


def test_clip_one_parameter_and_values():
    def run(t):
        one = parameters(t)[0]
        t.nn.utils.clip_grads_with_norm_(one, 2.0, t.tensor(8.0))
        halves = one.grad.clone()
        t.nn.utils.clip_grad_value_(one, 0.1)
        many = parameters(t)
        t.nn.utils.clip_grad_value_(many, 0.25, foreach=True)
        return [halves, one.grad, many[0].grad, many[2].grad]

    assert len(same(run)) == 4


def test_parameters_as_a_vector_and_back():
    def run(t):
        t.manual_seed(0)
        layer = t.nn.Linear(3, 2)
        vector = t.nn.utils.parameters_to_vector(layer.parameters())
        gradients = t.autograd.grad((vector**2).sum(), list(layer.parameters()))
        new = t.arange(8.0)
        t.nn.utils.vector_to_parameters(new, layer.parameters())
        new[0] = 50.0  # the parameters share the vector's memory
        flags = [p.requires_grad and p.is_leaf for p in layer.parameters()]
        return [vector, *gradients, *layer.parameters(), flags]

    assert len(same(run)) == 6
