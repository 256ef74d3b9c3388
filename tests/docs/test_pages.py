"""The generated pages are what the code says, and links lead somewhere, on disk too."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import pytest

from retrograd.compat.documentation import PAGES
from retrograd.compat.error_page import error_pages
from retrograd.compat.op_table import forward_mode, keeps
from retrograd.compat.reference import DIVIDED, reference_pages
from retrograd.compat.reference import PAGES as REFERENCE
from retrograd.compat.reference_families import FAMILIES
from retrograd.compat.reference_text import as_markdown
from retrograd.compat.status import api_names, status_of
from retrograd.diagnostics.catalogue import catalogue, causes
from retrograd.ops.registry import OPS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("**/*.md")),
]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name: str) -> None:
    """If this fails: python -m retrograd.compat.documentation docs/NAME."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_public_op_has_a_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ", PAGES["ops.md"](), re.MULTILINE)
    missing = [op.name for op in OPS.values() if op.namespace and op.name not in rows]
    assert missing == []
    assert len(rows) > 400


def test_what_ops_keep_is_what_their_nodes_save() -> None:
    """Against the graph itself: what a node has after one call."""
    import retrograd as torch

    x = torch.full((3,), 0.5, requires_grad=True)
    for name, saved in {"sin": "_saved_self", "tanh": "_saved_result"}.items():
        assert hasattr(getattr(torch, name)(x).grad_fn, saved)
    assert keeps(OPS["sin"]) == "`input`"
    assert keeps(OPS["tanh"]) == "result"
    assert keeps(OPS["div"]) == "`input`, `other`"
    assert forward_mode(OPS["transpose"]) == "linear"


def test_every_code_has_a_page() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(RG\d+)\]", page, re.MULTILINE) == list(catalogue())
    pages = error_pages()
    assert list(pages) == [f"errors/{name}.md" for name in (*catalogue(), *causes())]
    for path, text in pages.items():
        for target in LINK.findall(FENCE.sub("", text)):
            found = posixpath.normpath(posixpath.join("errors", target[0]))
            assert found in pages or (DOCS / found).exists(), f"{path}: {target}"


def anchors(text: str) -> set[str]:
    """The anchors of a page: its headings, as Markdown makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower()).strip()
        found.add(re.sub(r"[\s-]+", "-", plain))
    return found


@pytest.mark.parametrize("page", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere_on_disk(page: Path) -> None:
    for target, anchor in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{target} is not there"
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_every_page_of_the_reference_has_its_names() -> None:
    pages = reference_pages()
    whole = {f"reference/{name}.md" for name in (*REFERENCE, "retrograd")}
    parts = {f"reference/{name}.{family}.md" for name in DIVIDED for family in FAMILIES}
    assert whole < set(pages) <= whole | parts
    assert "{ #torch.exp }" in pages["reference/torch.elementwise.md"]
    assert "{ #torch.Tensor.backward }" in pages["reference/Tensor.other.md"]
    lead = pages["reference/torch.md"]
    for path, text in pages.items():
        if path.startswith("reference/torch."):
            for anchor in re.findall(r"\{ #(torch\.\w+) \}", text):
                assert f"{path.removeprefix('reference/')}#{anchor})" in lead.replace("\\_", "_")
        assert len(text) < 600_000, f"{path} is too long to read"
    for module in ("torch.nn", "torch.optim", "torch.linalg"):
        page = pages[f"reference/{module.removeprefix('torch.')}.md"]
        for name in api_names()[module]:
            if status_of(f"{module}.{name}").status == "works" and name[0].isupper():
                assert f"{{ #{module}.{name} }}" in page
    for text in pages.values():
        assert " at 0x" not in text, "an address is not the same in two builds"


def test_examples_in_docstrings_become_code_blocks() -> None:
    text = "Adds.\n\n>>> 1 + 1\n2\n\nOr with *args:\n\n    code(_here_)\n"
    wanted = "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nOr with \\*args:\n\n    code(_here_)\n"
    assert as_markdown(text) == wanted


def test_the_navigation_has_every_page() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"- (?:[^:\n]*: )?([\w./]+\.md)$", config, re.MULTILINE))
    written = {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md")}
    made = set(reference_pages())
    made |= {"readme.md", "contributing.md", "changelog.md", "examples.md"}
    assert listed == written | made
