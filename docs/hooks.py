"""What the site has beyond the files in `docs/`: the reference, the examples, the project's files.

The reference is made from the docstrings while the site is built. README, CONTRIBUTING, CHANGELOG
stay where people look for them, beside the code; the site shows copies, and links between them and
the pages are turned around so that they lead somewhere in both places.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from retrograd.compat.reference import reference_pages

ROOT = Path(__file__).resolve().parent.parent
COPIES = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
"""Files of the project, and the pages that show them."""

LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = reference_pages()
    for source, page in COPIES.items():
        pages[page] = (ROOT / source).read_text(encoding="utf-8")
    pages["examples.md"] += programs()
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that work on the disk into links that work on the site."""
    source = {copy: original for original, copy in COPIES.items()}.get(
        page.file.src_uri, f"docs/{page.file.src_uri}"
    )
    pieces = FENCE.split(markdown)
    pieces[::2] = [
        LINK.sub(lambda found: link_on_site(found, source, page), p) for p in pieces[::2]
    ]
    return "".join(pieces)


def link_on_site(link: re.Match[str], source: str, page: Page) -> str:
    """A link of a file of the project, for the page of the site that shows it."""
    anchor = link[2] or ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
    if target.startswith("examples"):
        name = posixpath.splitext(posixpath.basename(target))[0]
        found, anchor = "examples.md", f"#{name}" if target.endswith(".py") else anchor
    else:
        found = COPIES.get(target) or target.removeprefix("docs/")
    return posixpath.relpath(found, posixpath.dirname(page.file.src_uri) or ".") + anchor


def programs() -> str:
    """The example programs, each with its text to open."""
    parts = [""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        code = "\n".join("    " + line if line else "" for line in text.splitlines())
        parts += [f"## {path.stem}\n", first_paragraph(text), ""]
        parts += [f'??? example "examples/{path.name}"\n', "    ```python", code, "    ```", ""]
    return "\n".join(parts)


def first_paragraph(source: str) -> str:
    """The first paragraph of a program's docstring."""
    found = re.match(r'"""(.+?)(?:\n\n|""")', source, re.DOTALL)
    return "" if found is None else found[1].strip()
