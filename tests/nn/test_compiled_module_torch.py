"""`torch.compile` of a module: a module around it, with PyTorch's names."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def _compiled(library: Any) -> tuple[Any, Any]:
    model = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.ReLU())
    options = {"backend": "eager"} if library is torch else {}
    return model, library.compile(model, **options)


def _observed(library: Any) -> list[Any]:
    """What a program can see of a compiled module that it does not call."""
    model, compiled = _compiled(library)
    seen: list[Any] = [
        compiled._orig_mod is model,
        isinstance(compiled, library.nn.Module),
        isinstance(compiled, type(model)),
        isinstance(compiled, library._dynamo.OptimizedModule),
        repr(compiled),
        list(compiled.state_dict()),
        [name for name, _ in compiled.named_modules()],
        [name for name, _ in compiled.named_parameters()],
        len(compiled),
    ]
    compiled.note = 3
    seen += [model.note, compiled.note, "note" in vars(compiled)]
    del compiled.note
    seen += [hasattr(model, "note"), hasattr(compiled, "note")]
    compiled.eval()
    seen += [model.training, compiled.training, model[0].training]
    model.train()
    seen.append(compiled.training)
    compiled.double()
    seen.append(str(model[0].weight.dtype))
    compiled.head = library.nn.Linear(1, 1)
    seen.append(list(compiled.state_dict()))
    again = copy.deepcopy(compiled)
    seen += [list(again.state_dict()), again._orig_mod is model]
    seen.append(str(compiled.load_state_dict(again.state_dict())))
    for action in (lambda: compiled.nothing, lambda: compiled[0], lambda: len(again.head)):
        try:
            action()
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return seen


def test_looks_as_in_pytorch() -> None:
    assert _observed(retrograd) == _observed(torch)


def test_is_called_and_trained_as_the_module() -> None:
    model, compiled = _compiled(retrograd)
    calls: list[str] = []
    model.register_forward_hook(lambda *_: calls.append("inner"))
    compiled.register_forward_hook(lambda *_: calls.append("outer"))
    x = retrograd.ones(1, 2)
    result = compiled(x)
    assert calls == ["inner", "outer"]
    assert result.tolist() == model(x).tolist()
    result.sum().backward()
    assert model[0].weight.grad is compiled._orig_mod[0].weight.grad is not None


def test_checkpoints_go_both_ways() -> None:
    _, theirs = _compiled(torch)
    _, ours = _compiled(retrograd)
    ours.load_state_dict(
        {key: retrograd.tensor(value.tolist()) for key, value in theirs.state_dict().items()}
    )
    theirs.load_state_dict(
        {key: torch.tensor(value.tolist()) for key, value in ours.state_dict().items()}
    )
    found = {key: value.tolist() for key, value in ours.state_dict().items()}
    assert found == {key: value.tolist() for key, value in theirs.state_dict().items()}


def test_functions_give_the_same_and_a_module_is_wrapped_once() -> None:
    _, compiled = _compiled(retrograd)
    assert retrograd.compile(compiled) is compiled
    assert isinstance(retrograd.compile(mode="default")(retrograd.nn.ReLU()), type(compiled))
    again = pickle.loads(pickle.dumps(compiled))
    assert list(again.state_dict()) == list(compiled.state_dict())
    assert [retrograd.compile(abs)(number) for number in (-2, 3, -4)] == [2, 3, 4]
