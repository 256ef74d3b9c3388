"""Loss layers beside real PyTorch: values, gradients, state, text."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CLASSES = np.array([1, 0, 3, 2, 1])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
LABELS = np.array([[3, 0, -1, 1], [1, -1, 0, 0], [0, 2, 1, -1], [-1, 0, 0, 0], [2, 3, -1, -1]])
WEIGHT = np.array([0.5, 2.0, 1.0, 0.25])


def numbers(*shape, low=-2.0, high=2.0):
    return np.random.default_rng(sum(shape) + 7).uniform(low, high, shape)


SCORES = numbers(5, 4)
OTHERS = np.roll(SCORES, 1, 0) * 0.7
SHARES = np.exp(OTHERS) / np.exp(OTHERS).sum(1, keepdims=True)
LOGS = np.log(SHARES)
BITS = (OTHERS > 0).astype(float)
INSIDE = 1 / (1 + np.exp(-SCORES))

# name, options, inputs (the first one is differentiated)
CASES = [
    ("L1Loss", {}, [SCORES, OTHERS]),
    ("MSELoss", {}, [SCORES, OTHERS]),
    ("SmoothL1Loss", {"beta": 0.4}, [SCORES, OTHERS]),
    ("HuberLoss", {"delta": 0.7}, [SCORES, OTHERS]),
    ("PoissonNLLLoss", {"full": True}, [SCORES, np.array([0.0, 1, 2, 3])]),
    ("PoissonNLLLoss", {"log_input": False, "eps": 1e-3}, [INSIDE, BITS]),
    ("GaussianNLLLoss", {"full": True, "eps": 1e-2}, [SCORES, OTHERS, SHARES]),
    ("NLLLoss", {"weight": WEIGHT, "ignore_index": 3}, [LOGS, CLASSES]),
    ("CrossEntropyLoss", {"weight": WEIGHT, "label_smoothing": 0.2}, [SCORES, CLASSES]),
    ("CrossEntropyLoss", {"ignore_index": 1}, [SCORES, CLASSES]),
    ("CrossEntropyLoss", {}, [SCORES, SHARES]),
    ("KLDivLoss", {}, [LOGS, SHARES]),
    ("KLDivLoss", {"log_target": True}, [LOGS, np.roll(LOGS, 1, 0)]),
    ("BCELoss", {"weight": WEIGHT}, [INSIDE, BITS]),
    ("BCEWithLogitsLoss", {"weight": WEIGHT, "pos_weight": WEIGHT[::-1].copy()}, [SCORES, BITS]),
    ("HingeEmbeddingLoss", {"margin": 0.6}, [SCORES[:, 0], SIGNS]),
    ("MultiLabelMarginLoss", {}, [SCORES, LABELS]),
    ("SoftMarginLoss", {}, [SCORES[:, 0], SIGNS]),
    ("MultiLabelSoftMarginLoss", {"weight": WEIGHT}, [SCORES, BITS]),
    ("CosineEmbeddingLoss", {"margin": 0.2}, [SCORES, OTHERS, SIGNS]),
    ("MarginRankingLoss", {"margin": 0.3}, [SCORES[:, 0], OTHERS[:, 0], SIGNS]),
    ("MultiMarginLoss", {"p": 2, "margin": 0.5, "weight": WEIGHT}, [SCORES, CLASSES]),
    ("TripletMarginLoss", {"margin": 0.8, "p": 1, "swap": True}, [SCORES, OTHERS, LOGS]),
    ("TripletMarginWithDistanceLoss", {"swap": True}, [SCORES, OTHERS, LOGS]),
]
ALL = [
    pytest.param(name, options, inputs, way, id=f"{name}-{index}-{way}")
    for index, (name, options, inputs) in enumerate(CASES)
    for way in ("mean", "sum", "none")
]


def build(library, name, options, **more):
    given = {
        key: library.tensor(value) if isinstance(value, np.ndarray) else value
        for key, value in options.items()
    }
    return getattr(library.nn, name)(**given, **more)


def outcome(library, loss, inputs):
    tensors = [library.tensor(value) for value in inputs]
    tensors[0].requires_grad_()
    value = loss(*tensors)
    value.sum().backward()
    return value.detach().numpy(), tensors[0].grad.numpy()


@pytest.mark.parametrize(("name", "options", "inputs", "way"), ALL)
def test_values_and_gradients(name, options, inputs, way):
    ours, theirs = (build(t, name, options, reduction=way) for t in (retrograd, torch))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.reduction == theirs.reduction
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both warn of sizes that are broadcast
        expected = outcome(torch, theirs, inputs)
        for loss in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            for a, b in zip(outcome(retrograd, loss, inputs), expected, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES} | {"CTCLoss"}))
def test_signatures(name):
    ours, theirs = (inspect.signature(getattr(t.nn, name)) for t in (retrograd, torch))
    assert list(ours.parameters) == list(theirs.parameters)
    for key, parameter in theirs.parameters.items():
        assert ours.parameters[key].default == parameter.default
        assert ours.parameters[key].kind == parameter.kind


OLD = [
    {"size_average": False},
    {"size_average": True},
    {"reduce": False},
    {"reduce": True, "size_average": False},
    {"reduce": True},
]


@pytest.mark.parametrize("options", OLD)
@pytest.mark.parametrize("name", ["L1Loss", "CrossEntropyLoss", "TripletMarginLoss"])
def test_old_arguments(name, options):
    found = []
    for t in (retrograd, torch):
        with pytest.warns(UserWarning) as caught:
            loss = getattr(t.nn, name)(**options)
        found.append((loss.reduction, str(caught[0].message)))
    assert found[0] == found[1]


FRAMES = np.log(np.exp(numbers(7, 3, 5)) / np.exp(numbers(7, 3, 5)).sum(2, keepdims=True))
CTC = [
    ({}, [[1, 2, 2, 4], [3, 3, 0, 0], [4, 1, 2, 0]], [7, 5, 6], [4, 2, 3]),
    ({}, [1, 2, 2, 4, 3, 3, 4, 1, 2], [7, 5, 6], [4, 2, 3]),
    ({"blank": 4}, [0, 1, 2], [7, 7, 7], [1, 0, 2]),
    ({"zero_infinity": True}, [[1, 1, 1], [2, 3, 1], [2, 2, 1]], [3, 3, 7], [3, 3, 2]),
    ({}, [[1, 1, 1], [2, 3, 1], [2, 2, 1]], [3, 2, 7], [3, 3, 2]),
    ({}, [[1, 1, 1], [2, 3, 1], [2, 2, 1]], [0, 0, 7], [3, 0, 2]),
]


@pytest.mark.parametrize("way", ["mean", "sum", "none"])
@pytest.mark.parametrize(("options", "targets", "inputs", "outputs"), CTC)
def test_ctc(options, targets, inputs, outputs, way):
    found = []
    for t in (retrograd, torch):
        loss = t.nn.CTCLoss(**options, reduction=way)
        frames = t.tensor(FRAMES, requires_grad=True)
        value = loss(frames, t.tensor(targets), t.tensor(inputs), t.tensor(outputs))
        value.sum().backward()
        found.append((repr(loss), value.detach().numpy(), frames.grad.numpy()))
    ours, theirs = found
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-8, atol=1e-11)


def test_ctc_of_half_a_second_of_speech():
    """A realistic size in float32, where the probabilities are far below the smallest float."""
    generator = np.random.default_rng(0)
    frames = generator.normal(size=(120, 4, 30)).astype(np.float32)
    targets = generator.integers(1, 30, (4, 40))
    found = []
    for t in (retrograd, torch):
        scores = t.tensor(frames, requires_grad=True)
        lengths = t.tensor([120, 100, 110, 90]), t.tensor([40, 30, 20, 35])
        value = t.nn.CTCLoss()(scores.log_softmax(2), t.tensor(targets), *lengths)
        value.backward()
        found.append((value.detach().numpy(), scores.grad.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_ctc_has_no_second_derivative():
    found = []
    for t in (retrograd, torch):
        frames = t.tensor(FRAMES, requires_grad=True)
        value = t.nn.functional.ctc_loss(frames, t.tensor([[1], [2], [3]]), (7, 7, 7), (1, 1, 1))
        (slope,) = t.autograd.grad(value, frames, create_graph=True)
        with pytest.raises(RuntimeError) as caught:
            slope.sum().backward()
        found.append(str(caught.value).splitlines()[0])
    assert found[0] == found[1]


BAD = [
    ("HuberLoss", {"delta": "1"}),
    ("MultiMarginLoss", {"p": 3}),
    ("MultiMarginLoss", {"weight": np.ones((2, 2))}),
    ("TripletMarginLoss", {"margin": 0}),
    ("TripletMarginWithDistanceLoss", {"margin": -1.0}),
]


@pytest.mark.parametrize(("name", "options"), BAD)
def test_refused_options(name, options):
    found = []
    for t in (retrograd, torch):
        with pytest.raises((TypeError, ValueError)) as caught:
            build(t, name, options)
        found.append((type(caught.value).__name__, str(caught.value).splitlines()[0]))
    assert found[0] == found[1]
