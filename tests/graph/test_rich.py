"""What notebooks show: pieces of HTML that are whole, escaped and say what matters."""

from __future__ import annotations

import importlib
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import pytest

import retrograd
from retrograd import graph

VOID = frozenset(("br", "hr", "img", "meta", "link", "input"))


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


class Checker(HTMLParser):
    """Fails where tags do not match; collects the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(value: Any) -> str:
    """The text that a notebook shows of a value."""
    return Checker(value._repr_html_()).text


def test_a_tensor_shows_its_graph() -> None:
    x = retrograd.ones(3, requires_grad=True)
    y = x.exp()
    assert "tensor([2.7183, 2.7183, 2.7183], grad_fn=<ExpBackward0>)" in shown(y)
    assert "made by ExpBackward0 at " in shown(y) and "test_rich.py:" in shown(y)
    y.sum().backward()
    assert "graph freed: 1 node, 1 leaf, 1 freed by backward call" in shown(y)
    assert "a leaf that requires grad" in shown(x)
    assert "no graph" in shown(x.detach())
    assert "no graph" in shown(retrograd.ones(2, 2).to_sparse())


def test_what_the_tools_give(torch: ModuleType) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    with graph.watch(engine=torch.__name__) as watched:
        loss = model(torch.ones(2, 3)).sum()
        loss.backward(retain_graph=True)
    assert "SumBackward0" in shown(graph.history(loss))
    assert shown(graph.state(loss)).startswith(graph.state(loss).name)
    assert "32 B" in shown(graph.ledger(loss))
    assert "The most at call 1" in shown(watched)


def test_texts_are_escaped() -> None:
    error: Any = None
    try:
        retrograd.ones(2, requires_grad=True).backward()
    except RuntimeError as caught:
        error = caught
    report = error.report
    assert report.code in shown(report)
    assert "<" not in shown(report) or "&lt;" in report._repr_html_()


def test_a_recording_is_the_page_in_a_frame() -> None:
    loss = retrograd.ones(2, requires_grad=True).exp().sum()
    html = graph.view(loss)._repr_html_()
    assert html.startswith("<iframe srcdoc=") and "<script" not in html
    Checker(html)
