"""What the site has beyond the files in `docs/`: reference, error codes, examples, project's files.

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

from retrograd.compat.error_page import error_pages
from retrograd.compat.reference import reference_pages

ROOT = Path(__file__).resolve().parent.parent
COPIES = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
"""Files of the project, and the pages that show them."""

EXPLAINED = "retrograd/diagnostics/explain/"
"""Where the texts of the error codes are; the site has a page for each."""

REPORT = re.compile(r'(<div class="language-text highlight">.*?<code>)(.*?)(</code>)', re.DOTALL)
COLOURS = {
    r"^(?:error|warning)\[RG\d+\]": "error",
    r"^(?:why|help|note|more):": "label",
    r"^-  +\|.*$": "removed",
    r"^\+  +\|.*$": "added",
    r"(?<=\| ) *[+~]+$": "added",
    r"(?<=\| ) *\^+(?: \d .*)?$": "error",
}
"""Parts of a report, and the classes of the style sheet that colour them as a terminal does."""

LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    pages = reference_pages() | error_pages()
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


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Colour the reports."""
    return REPORT.sub(lambda found: found[1] + coloured(found[2]) + found[3], html)


def coloured(text: str) -> str:
    """What a program printed; if a report is part of it, with its colours."""
    if "error[RG" not in text:
        return text
    for pattern, name in COLOURS.items():
        text = re.sub(
            pattern, rf'<span class="report-{name}">\g<0></span>', text, flags=re.MULTILINE
        )
    return text


def link_on_site(link: re.Match[str], source: str, page: Page) -> str:
    """A link of a file of the project, for the page of the site that shows it."""
    anchor = link[2] or ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
    if target.startswith("examples"):
        name = posixpath.splitext(posixpath.basename(target))[0]
        found, anchor = "examples.md", f"#{name}" if target.endswith(".py") else anchor
    elif target.startswith(EXPLAINED):
        found = f"errors/{posixpath.basename(target)}"
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
