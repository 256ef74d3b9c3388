"""The site can be built, without a warning, and its pages load nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT

pytest.importorskip("material", reason="needs the packages of the extra `docs`")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_site_is_built_and_stands_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.glob("**/*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"(https?:[^\"]*)", text
        )
        assert loaded == [], page.name
    guide = (tmp_path / "guides" / "carried_state.html").read_text(encoding="utf-8")
    assert '<span class="report-error">error[RG101]</span>' in guide
    assert re.search(r'<span class="report-added">\+  \| .*state\.detach\(\)', guide)
    assert 'href="../examples.html#word_lstm"' in guide
    styles = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("**/*.css"))
    assert not re.search(r"url\([\"']?https?:|@import", styles)
