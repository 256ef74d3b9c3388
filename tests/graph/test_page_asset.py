"""The page that ships is the one that its sources give. No Node is needed to see that."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from retrograd.graph.page import ASSET, STYLE

PAGE = Path(__file__).parents[2] / "page"
MADE_OF = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"]  # as in build.mjs

pytestmark = pytest.mark.skipif(not PAGE.is_dir(), reason="the sources are not here")


def source_hash() -> str:
    names = [*MADE_OF, *(f"src/{path.name}" for path in (PAGE / "src").iterdir())]
    parts = ((name.encode(), (PAGE / name).read_bytes()) for name in sorted(names))
    return hashlib.sha256(b"".join(part + b"\0" for pair in parts for part in pair)).hexdigest()


def test_the_asset_was_built_from_these_sources() -> None:
    built = re.search(r'<meta name="source" content="(\w+)">', ASSET.read_text("utf-8"))
    assert built and built[1] == source_hash(), "page/ has changed: run `make page`"
    beside = re.match(r"<!-- source: (\w+) -->", STYLE.read_text("utf-8"))
    assert beside and beside[1] == built[1], "page/ has changed: run `make page`"


def test_every_package_is_pinned_and_no_registry_is_named() -> None:
    wanted = json.loads((PAGE / "package.json").read_text("utf-8"))
    pins = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pins.values())
    lock = json.loads((PAGE / "package-lock.json").read_text("utf-8"))
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_the_license_of_what_is_built_in_is_in_the_asset() -> None:
    text = ASSET.read_text("utf-8")
    assert "dagre" in text and "Permission is hereby granted, free of charge" in text
