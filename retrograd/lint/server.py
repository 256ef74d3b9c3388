"""Lint in an editor: a language server over standard input and output (`retrograd lint --lsp`).

It knows what a checker needs: documents come and change, diagnostics are published, and the fix of
a finding is a code action. Positions of the protocol count UTF-16 units from 0, findings count
characters from 1.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from . import fixing
from .check import lint_text
from .declare import Finding, Rule

Message = dict[str, Any]
Position = dict[str, int]

WHOLE_TEXT = 1  # TextDocumentSyncKind.Full: a change sends the whole document
WARNING, HINT = 2, 4  # DiagnosticSeverity; 1 is an error
METHOD_NOT_FOUND, INVALID_REQUEST = -32601, -32600

RulesOf = Callable[[str], Collection[Rule]]
"""The rules for a file, as the settings say."""


@dataclass
class Document:
    """A text as the editor has it, and what was found in it."""

    text: str
    version: int | None
    path: str
    findings: list[Finding] = field(default_factory=list)


class Server:
    """Reads messages until the editor says `exit`; the status is 0 if it said `shutdown` before."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, rules_of: RulesOf) -> None:
        self.source, self.sink, self.rules_of = source, sink, rules_of
        self.documents: dict[str, Document] = {}
        self.shut_down = False
        self.requests: dict[str, Callable[[Message], object]] = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "textDocument/codeAction": self._actions,
        }
        self.notices: dict[str, Callable[[Message], None]] = {
            "textDocument/didOpen": self._opened,
            "textDocument/didChange": self._changed,
            "textDocument/didSave": self._saved,
            "textDocument/didClose": self._closed,
        }

    def serve(self) -> int:
        """Answer until the end."""
        while (message := read_message(self.source)) is not None:
            if message.get("method") == "exit":
                return 0 if self.shut_down else 1
            self._take(message)
        return 1  # the editor is gone

    def _take(self, message: Message) -> None:
        method, given = message.get("method", ""), message.get("params") or {}
        if "id" not in message:
            if method in self.notices and not self.shut_down:
                self.notices[method](given)
        elif self.shut_down:
            self._fail(message, INVALID_REQUEST, "the server was shut down")
        elif method in self.requests:
            self._send({"id": message["id"], "result": self.requests[method](given)})
        elif method:  # without one it is an answer, and nothing was asked
            self._fail(message, METHOD_NOT_FOUND, f"there is no {method}")

    def _fail(self, message: Message, code: int, text: str) -> None:
        self._send({"id": message["id"], "error": {"code": code, "message": text}})

    def _send(self, message: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.sink.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.sink.flush()

    # ------------------------------------------------------------------------- requests

    def _initialize(self, given: Message) -> Message:
        return {
            "capabilities": {
                "textDocumentSync": {"openClose": True, "change": WHOLE_TEXT, "save": True},
                "codeActionProvider": {"codeActionKinds": ["quickfix"]},
                "positionEncoding": "utf-16",
            },
            "serverInfo": {"name": "retrograd lint"},
        }

    def _shutdown(self, given: Message) -> None:
        self.shut_down = True

    def _actions(self, given: Message) -> list[Message]:
        """The fixes of the findings in a range."""
        uri = given["textDocument"]["uri"]
        document = self.documents.get(uri)
        if document is None or not fixing.available():
            return []
        first, last = given["range"]["start"]["line"], given["range"]["end"]["line"]
        near = [
            finding
            for finding in document.findings
            if finding.start[0] - 1 <= last and first <= finding.end[0] - 1
        ]
        return [made for finding in near if (made := self._action(uri, document, finding))]

    def _action(self, uri: str, document: Document, finding: Finding) -> Message | None:
        if finding.repair is None:
            return None
        try:
            changed = fixing.apply_fixes(document.text, [finding], unsafe=True)
        except fixing.CannotFix:
            return None
        if not changed.done:
            return None
        return {
            "title": f"{finding.code}: {finding.repair.text}",
            "kind": "quickfix",
            "isPreferred": finding.repair.safe,
            "diagnostics": [diagnostic(document.text, finding)],
            "edit": {"changes": {uri: [smallest_edit(document.text, changed.text)]}},
        }

    # -------------------------------------------------------------------------- notices

    def _opened(self, given: Message) -> None:
        item = given["textDocument"]
        uri = item["uri"]
        self.documents[uri] = Document(item["text"], item.get("version"), path_of(uri))
        self._publish(uri)

    def _changed(self, given: Message) -> None:
        item = given["textDocument"]
        document = self.documents.get(item["uri"])
        if document is not None and given["contentChanges"]:
            document.text = given["contentChanges"][-1]["text"]
            document.version = item.get("version")
            self._publish(item["uri"])

    def _saved(self, given: Message) -> None:
        if given["textDocument"]["uri"] in self.documents:
            self._publish(given["textDocument"]["uri"])

    def _closed(self, given: Message) -> None:
        uri = given["textDocument"]["uri"]
        if self.documents.pop(uri, None) is not None:
            self._tell(uri, None, [])

    def _publish(self, uri: str) -> None:
        document = self.documents[uri]
        report = lint_text(document.text, document.path, self.rules_of(document.path))
        document.findings = report.findings  # a text that cannot be parsed has none, and no error:
        # the editor's own Python support says so already
        shown = [diagnostic(document.text, finding) for finding in report.findings]
        self._tell(uri, document.version, shown)

    def _tell(self, uri: str, version: int | None, diagnostics: list[Message]) -> None:
        given: Message = {"uri": uri, "diagnostics": diagnostics}
        if version is not None:
            given["version"] = version
        self._send({"method": "textDocument/publishDiagnostics", "params": given})


def read_message(source: BinaryIO) -> Message | None:
    """The next message; None at the end of the input.

    >>> import io
    >>> read_message(io.BytesIO(b'Content-Length: 2\\r\\n\\r\\n{}'))
    {}
    """
    length = None
    while line := source.readline():
        name, _, value = line.strip().partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        elif not name and length is not None:
            message: Message = json.loads(source.read(length))
            return message
    return None


def path_of(uri: str) -> str:
    """The file of a document; a document without one (`untitled:`) keeps its name.

    >>> path_of("file:///home/a%20b/train.py")
    '/home/a b/train.py'
    """
    parts = urllib.parse.urlsplit(uri)
    return urllib.request.url2pathname(parts.path) if parts.scheme == "file" else uri


def diagnostic(text: str, finding: Finding) -> Message:
    """A finding in the protocol's words."""
    lines = text.split("\n")
    helps = "".join(f"\nhelp: {fix.text}" for fix in finding.fixes)
    return {
        "range": {
            "start": _position(lines, *finding.start),
            "end": _position(lines, *finding.end),
        },
        "severity": HINT if finding.level == "hint" else WARNING,
        "code": finding.code,
        "source": "retrograd lint",
        "message": finding.title + helps,
    }


def _position(lines: list[str], line: int, column: int) -> Position:
    """A place of a finding, as the protocol counts."""
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return {"line": line - 1, "character": len(before.encode("utf-16-le")) // 2}


def smallest_edit(before: str, after: str) -> Message:
    """The lines that differ, replaced at once.

    >>> smallest_edit("a\\nb\\nc\\n", "a\\nB\\nc\\n")["newText"]
    'B\\n'
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    end = len(old) - tail
    last: Position = {"line": end, "character": 0}
    if end == len(old) and old and not old[-1].endswith(("\n", "\r")):
        last = _position(old, end, len(old[-1]) + 1)
    return {
        "range": {"start": {"line": head, "character": 0}, "end": last},
        "newText": "".join(new[head : len(new) - tail]),
    }
