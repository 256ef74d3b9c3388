"""Watching that begins late: what was made before is taken in, and said to be made before."""

import copy
from typing import Any

import pytest

import retrograd
from retrograd.doctor.library import Report, watch


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


def made(torch: Any, kind: str = "SGD") -> tuple[Any, Any]:
    layer = torch.nn.Linear(3, 1)
    return layer, getattr(torch.optim, kind)(layer.parameters(), 0.1)


def fine(report: Report) -> None:
    """Nothing failed inside."""
    assert not [sentence for sentence in report.unseen if "failed" in sentence], report.unseen


def test_a_healthy_loop(torch: Any) -> None:
    layer, optimizer = made(torch, "Adam")
    with watch(engine=torch.__name__) as report:
        for _ in range(5):
            optimizer.zero_grad()
            layer(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    assert report.diagnoses == [] and report.unseen == []


def test_other_parameters_get_gradients(torch: Any) -> None:
    """The optimizer looks at leaves that it does not hold."""
    layer, optimizer = made(torch)
    other = torch.nn.Linear(3, 3)
    with watch(engine=torch.__name__) as report:
        for _ in range(5):
            optimizer.zero_grad()
            layer(other(torch.ones(2, 3))).sum().backward()
            optimizer.step()
    fine(report)


def test_an_optimizer_that_was_copied_while_watched(torch: Any) -> None:
    layer, optimizer = made(torch)
    with watch(engine=torch.__name__) as report:
        both = copy.deepcopy([layer, optimizer])
        for _ in range(5):
            both[0](torch.ones(2, 3)).sum().backward()
            both[1].step()
    fine(report)
    assert [found.cause for found in report.diagnoses] == ["zero-grad-misuse"]


def test_gradients_that_are_never_cleared(torch: Any) -> None:
    layer, optimizer = made(torch)
    with watch(engine=torch.__name__) as report:
        for _ in range(5):
            layer(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    fine(report)
    (found,) = report.diagnoses
    assert found.cause == "zero-grad-misuse"
    assert "+" in found.fixes[0].diff and "zero_grad()" in found.fixes[0].diff


def test_a_graph_that_was_made_before(torch: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    hidden = (weight * weight).exp()
    with pytest.raises(RuntimeError) as raised, watch(engine=torch.__name__) as report:
        for _ in range(3):
            (hidden * weight).sum().backward()
    fine(report)
    (found,) = report.diagnoses
    assert found.cause == "precomputed-outside-loop" and found.tensor == "hidden"
    assert any("before watching began" in note for note in found.notes)
    text = "\n".join(raised.value.__notes__)
    assert f"error[{found.cause}]" in text and "(hidden * weight).sum().backward()" in text


def test_a_graph_that_was_freed_before(torch: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    loss.backward()
    with pytest.raises(RuntimeError), watch(engine=torch.__name__) as report:
        loss.backward()
    fine(report)


def test_a_value_that_was_written_before(torch: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    hidden = weight * 2
    loss = (hidden * hidden).sum()
    with torch.no_grad():
        hidden += 1
    with pytest.raises(RuntimeError), watch(engine=torch.__name__) as report:
        loss.backward()
    fine(report)


def test_parameters_that_were_trained_before(torch: Any) -> None:
    """A phase without a gradient for some of them is no proof that they never get one."""
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 0.1)
    second(first(torch.ones(2, 3))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    with watch(engine=torch.__name__) as report:
        for _ in range(4):
            optimizer.zero_grad()
            second(first(torch.ones(2, 3)).detach()).sum().backward()
            optimizer.step()
    assert report.diagnoses == []
    fine(report)
