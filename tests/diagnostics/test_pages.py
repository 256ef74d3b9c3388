"""Every code has a page with the same headings; its examples fail and work as they say."""

from __future__ import annotations

import re
import warnings
from importlib.resources import files
from typing import Any

import pytest

from retrograd.diagnostics.catalogue import catalogue, causes, find
from retrograd.diagnostics.pages import CAUSE_HEADINGS, HEADINGS, parse_page
from retrograd.lint import RULES
from tests.cuda.fake import posing

ON_A_DEVICE = ("RG308", "RG309")
"""Codes whose examples need a CUDA device: the fake one poses as one for them."""


def run(source: str, code: str) -> list[Any]:
    """Run an example; the warnings and the error it ended with."""
    if code in ON_A_DEVICE and "retrograd" in source:
        with posing():
            return _run(source, code)
    return _run(source, code)


def _run(source: str, code: str) -> list[Any]:
    happened: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source, f"{code}.py", "exec"), {"__name__": code})
        except Exception as error:
            happened.append(error)
    return [warning.message for warning in caught] + happened


@pytest.mark.parametrize("code", catalogue())
def test_headings(code: str) -> None:
    page = parse_page(code)
    entry = catalogue()[code]
    assert page.title.splitlines()[0] == f"# {code}: {entry.slug}"
    assert tuple(page.sections) == HEADINGS
    assert all(page.sections.values())
    assert page.fails and page.works and page.fails != page.works
    for reason in entry.reasons if code in ("RG101", "RG102", "RG103", "RG106") else ():
        assert f"`{reason}`" in page.sections["Why"]


@pytest.mark.parametrize("code", catalogue())
def test_mentioned_codes_exist(code: str) -> None:
    items = re.split(r"^- ", parse_page(code).sections["See also"], flags=re.MULTILINE)[1:]
    assert items
    for item in items:
        found = re.fullmatch(r"(RG\d+) \(([\w-]+)\): (.+)", " ".join(item.split()))
        assert found is not None and found[1] != code
        other = catalogue()[found[1]]
        assert (found[2], found[3]) == (other.slug, other.summary)


def test_every_page_belongs_to_a_code() -> None:
    pages = sorted(path.name for path in (files("retrograd.diagnostics") / "explain").iterdir())
    assert pages == sorted(f"{name}.md" for name in (*catalogue(), *RULES, *causes()))


@pytest.mark.parametrize("slug", causes())
def test_page_of_a_cause(slug: str) -> None:
    cause, page = causes()[slug], parse_page(slug)
    summary = cause.summary[0].upper() + cause.summary[1:]
    assert " ".join(page.title.split()) == f"# {slug} {summary}."
    assert tuple(page.sections) == CAUSE_HEADINGS
    # what is printed there is kept current by tests/docs/test_printed.py
    assert re.search(rf"^(error|warning)\[{slug}\]: ", page.sections["Example"], re.MULTILINE)


SEEN_RUNNING = (
    *("repeated-hook", "clipped-before-unscale", "clipped-after-step", "left-in-eval-mode"),
    *("average-of-views", "ranks-differ", "ddp-unused-parameters"),
    *("freeze-without-effect", "target-with-gradient", "optimizer-never-steps"),
    *("wrong-loss-input", "loss-broadcast", "stepped-before-unscale", "clip-without-effect"),
    *("tied-by-data", "optimizer-made-anew", "dropped-losses", "scaler-order", "wrong-call"),
)
"""Causes that break nothing and that no text shows for certain."""


def test_causes_name_codes_that_exist() -> None:
    for cause in causes().values():
        assert set(cause.codes) <= set(catalogue()) and set(cause.rules) <= set(RULES)
        assert cause.codes or cause.rules or cause.slug in SEEN_RUNNING
        assert not cause.summary.endswith(".")


def test_errors_use_the_names_of_causes() -> None:
    """A reason that is a cause is listed with the code in both places."""
    for entry in catalogue().values():
        for reason in entry.reasons:
            if reason in causes():
                assert entry.code in causes()[reason].codes


@pytest.mark.parametrize("code", catalogue())
def test_lines_fit_a_narrow_terminal(code: str) -> None:
    page = parse_page(code)
    assert all(len(line) <= 88 for text in page.sections.values() for line in text.splitlines())


@pytest.mark.parametrize("code", catalogue())
def test_failing_example_fails_with_its_code(code: str) -> None:
    happened = run(parse_page(code).fails, code)
    # anomaly mode also warns, as in PyTorch
    happened = [item for item in happened if not str(item).startswith("Error detected in ")]
    assert [getattr(item, "code", item) for item in happened] == [code]


@pytest.mark.parametrize("code", catalogue())
def test_working_example_works(code: str) -> None:
    assert run(parse_page(code).works, code) == []


# `torch.compile` is what RG901 says is missing here. PyTorch has no strict mode (RG119), and says
# nothing of a graph that grows (RG120).
OURS = ("RG119", "RG120", "RG901")
PYTORCH_CODES = [code for code in catalogue() if code not in (*OURS, *ON_A_DEVICE)]


@pytest.mark.torch
@pytest.mark.parametrize("code", PYTORCH_CODES)
def test_pytorch_fails_with_the_same_message(code: str) -> None:
    """The catalogue recognises what PyTorch itself says to the failing example."""
    pytest.importorskip("torch")
    happened = run(parse_page(code).fails.replace("retrograd", "torch"), code)
    found = find(str(happened[-1]))
    assert found is not None and found[0].code == code
    happened = run(parse_page(code).works.replace("retrograd", "torch"), code)
    assert not [item for item in happened if isinstance(item, Exception) and find(str(item))]
