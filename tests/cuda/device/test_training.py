"""Training on a device: the losses are those of the CPU, and of PyTorch on the device."""

from __future__ import annotations

import importlib

import retrograd as torch
from benchmarks.device_models import MODELS, make_inputs, make_model
from tests.cuda.device.comparing import close

STEPS = 5
SMALL = [model for model in MODELS if not model.large]


def losses(library, model, device, half=False):
    """The losses of some steps; from one seed all make the same parameters."""
    library.manual_seed(0)
    module = make_model(library, model).to(device)
    inputs, target = (library.from_numpy(x).to(device) for x in make_inputs(model))
    optimizer = (
        library.optim.SGD(module.parameters(), lr=0.01)
        if model.kind == "cnn"
        else library.optim.Adam(module.parameters(), lr=1e-3)
    )
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with library.autocast(device, library.bfloat16, enabled=half):
            made = module(inputs)
            loss = library.nn.functional.cross_entropy(made.reshape(-1, made.shape[-1]), target)
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return found


def check(kind):
    """A model of a kind, in float32 and under autocast."""
    model = next(model for model in SMALL if model.kind == kind)
    for half, loose in ((False, 1e-4), (True, 2e-2)):
        ours = losses(torch, model, "cuda", half)
        assert ours[-1] < ours[0]
        close(ours, losses(torch, model, "cpu", half), loose)
        other = reference()
        if other is not None:
            close(ours, losses(other, model, "cuda", half), loose)


def reference():
    """Real PyTorch, where it is installed and has the device too."""
    try:
        other = importlib.import_module("torch")
    except ImportError:
        return None
    if not other.cuda.is_available():
        return None
    other.backends.cudnn.allow_tf32 = False
    return other


def test_mlp():
    check("mlp")


def test_cnn():
    check("cnn")


def test_gpt():
    check("gpt")


def test_lstm():
    check("lstm")
