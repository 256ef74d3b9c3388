"""`retrograd lint --lsp`: a conversation with an editor, message by message."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest

from retrograd.lint.check import selected
from retrograd.lint.server import Server, read_message

Message = dict[str, Any]
URI = "file:///work%20place/train.py"
BAD = "import torch\nname = '\U0001f525'; loss.backward\n"
SUM = """\
import torch
total = 0.0
for x in xs:
    loss = model(x).mean()
    loss.backward()
    total += loss
"""


def packed(*messages: Message) -> bytes:
    parts = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(part), part) for part in parts)


def unpacked(data: bytes) -> list[Message]:
    source, found = io.BytesIO(data), []
    while (message := read_message(source)) is not None:
        found.append(message)
    return found


def talk(*messages: Message) -> tuple[int, list[Message]]:
    sink = io.BytesIO()
    status = Server(io.BytesIO(packed(*messages)), sink, lambda path: selected()).serve()
    return status, unpacked(sink.getvalue())


def opened(text: str) -> Message:
    document = {"uri": URI, "languageId": "python", "version": 1, "text": text}
    return {"method": "textDocument/didOpen", "params": {"textDocument": document}}


def changed(text: str, version: int) -> Message:
    document = {"uri": URI, "version": version}
    given = {"textDocument": document, "contentChanges": [{"text": text}]}
    return {"method": "textDocument/didChange", "params": given}


def notice(method: str) -> Message:
    return {"method": f"textDocument/{method}", "params": {"textDocument": {"uri": URI}}}


def actions(line: int) -> Message:
    place = {"line": line, "character": 0}
    given = {
        "textDocument": {"uri": URI},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": []},
    }
    return {"id": "a", "method": "textDocument/codeAction", "params": given}


START: Message = {"id": 0, "method": "initialize", "params": {"capabilities": {}}}
STOP: Message = {"id": 9, "method": "shutdown"}
EXIT: Message = {"method": "exit"}


def test_a_whole_conversation() -> None:
    command = [sys.executable, "-m", "retrograd", "lint", "--lsp"]
    said = packed(START, opened(BAD), changed("import torch\n", 2), STOP, EXIT)
    done = subprocess.run(command, input=said, capture_output=True, timeout=120, check=True)
    assert done.stderr == b""
    first, found, clean, last = unpacked(done.stdout)
    assert first["id"] == 0 and first["jsonrpc"] == "2.0"
    assert first["result"]["capabilities"]["textDocumentSync"]["change"] == 1
    assert found["method"] == clean["method"] == "textDocument/publishDiagnostics"
    assert found["params"]["uri"] == URI and found["params"]["version"] == 1
    assert clean["params"] == {"uri": URI, "version": 2, "diagnostics": []}
    assert last == {"jsonrpc": "2.0", "id": 9, "result": None}


def test_places_count_utf16_from_zero() -> None:
    _, (message,) = talk(opened(BAD))
    (found,) = message["params"]["diagnostics"]
    assert found["range"] == {
        "start": {"line": 1, "character": 13},
        "end": {"line": 1, "character": 26},
    }
    assert (found["code"], found["severity"], found["source"]) == ("RGL205", 2, "retrograd lint")
    assert found["message"] == "`loss.backward` is not called\nhelp: add the parentheses"


def test_saved_and_closed() -> None:
    _, messages = talk(opened(BAD), notice("didSave"), notice("didClose"), notice("didSave"))
    counts = [len(message["params"]["diagnostics"]) for message in messages]
    assert counts == [1, 1, 0]


@pytest.mark.parametrize("end", ["\n", ""])
def test_the_fix_is_an_action(end: str) -> None:
    pytest.importorskip("libcst")
    text = SUM.rstrip("\n") + end
    _, (_, answer, nothing) = talk(opened(text), actions(5), actions(0))
    (action,) = answer["result"]
    assert answer["id"] == "a" and nothing["result"] == []
    assert action["title"].startswith("RGL101: ") and action["isPreferred"] is True
    assert action["diagnostics"][0]["code"] == "RGL101"
    (edit,) = action["edit"]["changes"][URI]
    assert edit["newText"] == "    total += loss.item()" + end
    start, stop = edit["range"]["start"], edit["range"]["end"]
    assert start == {"line": 5, "character": 0}
    assert stop == ({"line": 6, "character": 0} if end else {"line": 5, "character": 17})


def test_a_text_that_is_being_typed_has_no_findings() -> None:
    _, (_, typing) = talk(opened(BAD), changed("import torch\nloss.backward(", 2))
    assert typing["params"] == {"uri": URI, "version": 2, "diagnostics": []}


def test_what_is_not_known_is_refused_or_passed_over() -> None:
    status, messages = talk(
        START,
        {"method": "initialized", "params": {}},
        {"id": 1, "method": "textDocument/hover", "params": {}},
        notice("didSave"),
        changed(BAD, 3),
        actions(0),
        STOP,
        {"id": 2, "method": "textDocument/hover", "params": {}},
        EXIT,
    )
    assert status == 0
    _, hover, none, stopped, late = messages
    assert hover["error"]["code"] == -32601 and none["result"] == []
    assert stopped["result"] is None and late["error"]["code"] == -32600


def test_an_editor_that_goes_away() -> None:
    assert talk(START)[0] == 1
    assert talk(EXIT)[0] == 1
