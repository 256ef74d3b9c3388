"""Recordings in the page: what Python writes, read back without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from retrograd.graph import page
from retrograd.graph.schema import to_json
from tests.graph.recordings import carried_state, model, two_losses


def inside(text: str) -> dict[str, Any]:
    found = re.search(re.escape(page.MARKER) + "([^<]*)</script>", text)
    assert found
    data = json.loads(gzip.decompress(base64.b64decode(found[1])))
    assert isinstance(data, dict)
    return data


def test_the_page_carries_the_recordings_it_was_given(tmp_path: Path) -> None:
    recordings = [two_losses(), model()]
    path = page.write_page(recordings, tmp_path / "graph.html")
    assert inside(path.read_text("utf-8")) == json.loads(to_json(recordings))


def test_one_recording_is_a_list_of_one() -> None:
    assert [r["title"] for r in inside(page.page(two_losses()))["recordings"]] == ["two_losses.py"]


def test_the_same_recording_gives_the_same_page() -> None:
    assert page.page(two_losses()) == page.page(two_losses())


def test_a_source_text_cannot_end_the_script_it_is_in() -> None:
    recording = two_losses()
    recording.files[0].text = 'print("</script><script>alert(1)</script>")\n'
    text = page.page(recording)
    assert "alert(1)" not in text
    assert inside(text)["recordings"][0]["files"][0][1] == recording.files[0].text


def test_a_page_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "new" / "graph.html"
    page.write_page(two_losses(), target)
    page.write_page(model(), str(target))
    assert inside(target.read_text("utf-8"))["recordings"][0]["title"] == "model.py"
    assert [path.name for path in target.parent.iterdir()] == ["graph.html"]


def test_when_writing_fails_the_old_page_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = page.write_page(two_losses(), tmp_path / "graph.html")
    before = target.read_bytes()
    monkeypatch.setattr(page, "MARKER", "<nowhere>")
    with pytest.raises(ValueError, match="make page"):
        page.write_page(model(), target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["graph.html"]


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    text = page.ASSET.read_text("utf-8")
    addresses = {a for a in re.findall(r"https?://[\w./-]+", text) if "w3.org" not in a}
    assert addresses == set()
    assert not re.search(r"<(?:link|img|iframe|script)[^>]+(?:src|href)=", text)


def test_five_thousand_nodes_are_a_small_file() -> None:
    recording = carried_state()
    assert len(recording.nodes) > 5000
    extra = len(page.page(recording)) - len(page.page([]))
    assert extra < 60 * len(recording.nodes)
