"""Errors inside layers name the layer by its path from the user's variable."""

from __future__ import annotations

import gc
import pickle
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn

LINEAR = "(Linear(in_features=4, out_features=8, bias=True))"


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 8)

    def forward(self, x: Any) -> Any:
        return self.fc1(x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Identity(), nn.Identity(), Block()])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 8)})
        self.unregistered = [nn.Linear(4, 8)]
        self.weight = nn.Parameter(torch.ones(4, 4))

    def forward(self, x: Any, way: str = "layers") -> Any:
        if way == "layers":
            for layer in self.layers:
                x = layer(x)
        elif way == "skipping":
            self.layers[2].fc1(x)
        elif way == "heads":
            self.heads["a"](x)
        elif way == "unregistered":
            self.unregistered[0](x)
        elif way == "own":
            x = x @ self.weight
        elif way == "forward":
            self.layers[2].fc1.forward(x)
        else:
            raise KeyError(way)
        return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x: Any, way: str = "layers") -> Any:
        return self.encoder(x, way)


class Trainer:
    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def step(self, x: Any) -> Any:
        return self.model(x)

    @property
    def network(self) -> nn.Module:
        return self.model

    def other_step(self, x: Any) -> Any:
        return self.network(x)


X = torch.ones(3, 5)


def failure(function: Callable[[], Any]) -> Any:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


def told(function: Callable[[], Any]) -> str:
    """What the notes of the error say about the layer; they say it once."""
    error = failure(function)
    alone: list[str] = [note for note in error.__notes__ if note.startswith("inside ")]
    report = getattr(error, "report", None)
    if report is None:
        (text,) = alone
        return text
    assert not alone
    text = report.facts["inside"]
    assert text in re.sub(r"[\s|]+", " ", error.__notes__[0])
    return text


@pytest.mark.parametrize(
    ("way", "path"),
    [
        ("layers", f"inside model.encoder.layers[2].fc1 {LINEAR}"),
        ("skipping", f"inside model.encoder.layers[2].fc1 {LINEAR}"),
        ("forward", f"inside model.encoder.layers[2].fc1 {LINEAR}"),
        ("heads", f'inside model.encoder.heads["a"] {LINEAR}'),
        ("unregistered", f"inside model.encoder.unregistered[0] {LINEAR}"),
        ("own", "inside model.encoder (Encoder)"),
        ("none", "inside model.encoder (Encoder)"),
    ],
)
def test_the_path_from_the_variable(way: str, path: str) -> None:
    model = Model()
    assert told(lambda: model(X, way)) == path


def test_sequential_is_written_as_users_do() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Sequential(OrderedDict(first=nn.Linear(4, 8))))
    assert told(lambda: net(X)) == f"inside net[1].first {LINEAR}"


def test_the_model_of_another_object() -> None:
    trainer = Trainer(Block())
    assert told(lambda: trainer.step(X)) == f"inside self.model.fc1 {LINEAR}"
    assert told(lambda: trainer.other_step(X)) == f"inside self.network.fc1 {LINEAR}"
    assert told(lambda: trainer.model(X)) == f"inside trainer.model.fc1 {LINEAR}"


def test_models_in_a_list_and_without_a_name() -> None:
    models = [Block(), Block()]
    assert told(lambda: models[1](X)) == f"inside models[1].fc1 {LINEAR}"
    for member in models:
        assert told(lambda: member(X)) == f"inside member.fc1 {LINEAR}"  # noqa: B023
    assert told(lambda: Block()(X)) == f"inside Block.fc1 {LINEAR}"
    assert failure(lambda: nn.Linear(4, 8)(X)).report.facts["inside"] == (
        "inside Linear(in_features=4, out_features=8, bias=True)"
    )


def test_calls_through_other_functions() -> None:
    block = Block()
    assert told(lambda: list(map(block, [X]))) == f"inside block.fc1 {LINEAR}"
    assert told(lambda: torch.utils.checkpoint.checkpoint(block, X, use_reentrant=False)) == (
        f"inside block.fc1 {LINEAR}"
    )
    values = dict(block.named_parameters())
    assert told(lambda: torch.func.functional_call(block, values, (X,))) == (
        f"inside block.fc1 {LINEAR}"
    )


def test_source_that_is_not_at_hand() -> None:
    scope: dict[str, Any] = {"found": Block(), "x": X}
    code = compile("def call():\n    return found(x)\n", "<no such file>", "exec")
    exec(code, scope)
    assert told(scope["call"]) == f"inside found.fc1 {LINEAR}"


def test_hooks_and_losses() -> None:
    def refuse(module: nn.Module, args: Any) -> None:
        raise ValueError("refused")

    model = Model()
    model.encoder.layers[1].register_forward_pre_hook(refuse)
    assert told(lambda: model(X)) == "inside model.encoder.layers[1] (Identity())"
    criterion = nn.CrossEntropyLoss()
    assert told(lambda: criterion(torch.ones(2, 3), torch.tensor([1, 7]))) == (
        "inside criterion (CrossEntropyLoss())"
    )


class Mine(Exception):
    pass


class Raising(nn.Module):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def forward(self) -> None:
        raise self.error


class Outer(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self) -> Any:
        return self.inner()


def test_a_users_error_is_itself() -> None:
    given = Mine("text", 3)
    outer = Outer(Raising(given))
    error = failure(lambda: outer())
    assert error is given and error.args == ("text", 3)
    assert error.__notes__ == ["inside outer.inner (Raising())"]
    assert pickle.loads(pickle.dumps(error)).args == ("text", 3)
    failure(lambda: outer())  # raised again: told once
    assert error.__notes__ == ["inside outer.inner (Raising())"]


def test_what_is_no_error_stays_alone() -> None:
    outer = Outer(Raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        outer()
    assert not hasattr(caught.value, "__notes__")


def test_short_reports_have_no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETROGRAD_REPORT", "short")
    outer = Outer(Raising(Mine()))
    assert not hasattr(failure(lambda: outer()), "__notes__")


def test_a_report_has_the_path_as_a_fact() -> None:
    model = Model()
    error = failure(lambda: model(X))
    assert error.report.facts["inside"] == f"inside model.encoder.layers[2].fc1 {LINEAR}"
    assert error.to_dict()["facts"]["inside"].startswith("inside model.encoder")
    assert str(error) == "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x8)"


def test_variables_are_not_kept_alive() -> None:
    class Big:
        pass

    def run() -> weakref.ref[Any]:
        held = Big()
        watched = weakref.ref(held)
        block = Block()
        try:
            block(X)
        except RuntimeError:
            pass
        del held
        return watched if watched() is None else weakref.ref(Big)

    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


def test_the_programs_own_locals_stay() -> None:
    block = Block()
    mine = locals()
    with pytest.raises(RuntimeError):
        block(X)
    assert mine["block"] is block


def test_nodes_made_in_a_forward_say_so() -> None:
    class Squashing(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.tanh()

    result = Squashing()(torch.ones(2, requires_grad=True))
    result.add_(1)
    error = failure(lambda: result.sum().backward())
    assert ", in Squashing.forward," in error.report.spans[0].label
