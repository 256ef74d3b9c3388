"""Small models trained some steps under autocast, beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def perceptron(t):
    nn = t.nn
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    return model, model, t.randn(8, 6), t.randint(0, 3, (8,)), nn.CrossEntropyLoss()


def convolutional(t):
    nn = t.nn
    model = nn.Sequential(
        *(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.ConvTranspose2d(4, 3, 2), nn.PReLU(), nn.Flatten(), nn.Linear(75, 3)),
    )
    return model, model, t.randn(4, 2, 8, 8), t.randint(0, 3, (4,)), nn.CrossEntropyLoss()


def transformer(t):
    layer = t.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return layer, layer, t.randn(2, 5, 8), t.randn(2, 5, 8), t.nn.MSELoss()


def embedded(t):
    model = t.nn.Sequential(t.nn.Embedding(7, 8), t.nn.Linear(8, 7, bias=False))

    def run(tokens):
        return model(tokens).transpose(1, 2)

    return model, run, t.randint(0, 7, (3, 5)), t.randint(0, 7, (3, 5)), t.nn.CrossEntropyLoss()


def recurrent(kind, **options):
    def make(t):
        model = getattr(t.nn, kind)(4, 6, **options)
        size = 12 if options.get("bidirectional") else options.get("proj_size", 6)
        x, target = t.randn(5, 3, 4), t.randn(5, 3, size)
        return model, lambda x: model(x)[0], x, target, t.nn.SmoothL1Loss()

    return make


MODELS = {
    "perceptron": perceptron,
    "convolutional": convolutional,
    "transformer": transformer,
    "embedded": embedded,
    "lstm": recurrent("LSTM"),
    "lstm two layers": recurrent("LSTM", num_layers=2, bidirectional=True),
    "gru": recurrent("GRU", num_layers=2),
    "rnn": recurrent("RNN"),
}
TOLERANCE = {"bfloat16": 2**-5, "float16": 2**-7}  # a few units in the last place


def train(t, make, lower, steps=4):
    t.manual_seed(3)
    model, run, x, target, loss_function = make(t)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, kinds = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        with t.autocast("cpu", dtype=getattr(t, lower)):
            output = run(x)
            loss = loss_function(output, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        kinds.append((str(output.dtype), str(loss.dtype)))
    parameters = {n: p.detach().numpy() for n, p in model.named_parameters()}
    gradients = {n: p.grad.numpy() for n, p in model.named_parameters()}
    return losses, kinds, parameters, gradients


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", MODELS)
def test_training(name, lower):
    if lower == "float16" and name.startswith("lstm"):
        pytest.skip("PyTorch's kernel needs a CPU with float16 arithmetic")
    (losses, kinds, parameters, gradients), theirs = (
        train(t, MODELS[name], lower) for t in (retrograd, torch)
    )
    tolerance = TOLERANCE[lower]
    assert kinds == theirs[1]
    assert losses == pytest.approx(theirs[0], rel=tolerance)
    assert losses[-1] < losses[0]
    for found, expected in ((parameters, theirs[2]), (gradients, theirs[3])):
        assert found.keys() == expected.keys()
        for key, value in found.items():
            scale = max(np.abs(expected[key]).max(), 1e-2)
            np.testing.assert_allclose(
                value / scale, expected[key] / scale, atol=tolerance, err_msg=key
            )


@pytest.mark.parametrize("name", MODELS)
def test_backward_inside_of_the_region(name):
    """Not recommended, but common: gradients are then computed under autocast as well."""
    found = []
    for t in (retrograd, torch):
        t.manual_seed(3)
        model, run, x, target, loss_function = MODELS[name](t)
        with t.autocast("cpu"):
            loss_function(run(x), target).backward()
        found.append([p.grad for p in model.parameters()])
    for mine, other in zip(*found, strict=True):
        assert str(mine.dtype) == str(other.dtype)
        scale = max(other.abs().max().item(), 1e-2)
        np.testing.assert_allclose(mine.numpy() / scale, other.numpy() / scale, atol=3e-2)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {"proj_size": 2}),
        ("LSTM", {"batch_first": True, "bias": False}),
        ("RNN", {"nonlinearity": "relu", "bidirectional": True}),
        ("GRU", {}),
    ],
)
@pytest.mark.parametrize("form", ["padded", "packed", "one", "bfloat16", "state"])
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_recurrent_dtypes(kind, options, form):
    found = []
    for t in (retrograd, torch):
        t.manual_seed(0)
        layer = getattr(t.nn, kind)(3, 4, **options)
        x, args = t.randn(2, 2, 3), ()
        if form == "packed":
            lengths = t.tensor([2, 1])
            first = options.get("batch_first", False)
            x = t.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=first)
        elif form == "one":
            x = x[0]
        elif form == "bfloat16":
            x = x.bfloat16()
        elif form == "state":
            hidden = t.zeros(
                2 if options.get("bidirectional") else 1, 2, options.get("proj_size", 4)
            )
            args = ((hidden, t.zeros(1, 2, 4)),) if kind == "LSTM" else (hidden,)
        with t.autocast("cpu"):
            output, state = layer(x, *args)
        output = getattr(output, "data", output)
        states = state if isinstance(state, tuple) else (state,)
        found.append([(str(one.dtype), tuple(one.shape)) for one in (output, *states)])
    assert found[0] == found[1]
