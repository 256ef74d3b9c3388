"""Programs whose report is looked at as a page, and what a page has in it.

`tests.graph.recordings` writes some of them for the tests in a browser.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from retrograd.doctor.report import html
from retrograd.doctor.result import Result
from retrograd.graph.page import MARKER
from tests import forked
from tests.doctor.running import command

CARRIED = """\
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(8, 16)
        self.carry = nn.Linear(16, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.inside(x) + self.carry(hidden))
        return self.head(hidden), hidden


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
hidden = torch.zeros(4, 16)
for step in range(5):
    x, y = torch.randn(4, 8), torch.randn(4, 1)
    out, hidden = net(x, hidden)
    loss = (out - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

INPLACE = """\
import torch

weight = torch.ones(4, 4, requires_grad=True)
h = torch.sigmoid(torch.ones(3, 4) @ weight)
out = h * 2
h += 1
loss = out.sum() + h.sum()
loss.backward()
"""

COLLECTED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for step in range(40):
    loss = model(torch.ones(4, 8)).tanh().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
print(float(sum(losses)))
"""


@dataclass
class Link:
    """A place of a report that leads into the graph: its label, nodes and time."""

    label: str
    nodes: list[int]
    time: int


class Page(HTMLParser):
    """What a page says, its links into the graph, and the recording it carries."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[Link] = []
        self._within: list[str] = []
        self.feed(text[text.index('<article id="report"') : text.index("</article>")])
        self.said = " ".join(" ".join(self.words).split())
        data = text.partition(MARKER)[2].partition("<")[0]
        self.recordings: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(data)))[
            "recordings"
        ]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if "data-nodes" in found:
            nodes = [int(node) for node in (found["data-nodes"] or "").split()]
            self.links.append(Link("", nodes, int(found["data-time"] or 0)))
            assert found["href"] == f"#a=0,all,{self.links[-1].time},n{nodes[0]}"
            self._within = []
        if self.links and not self.links[-1].label:
            self._within.append(tag)

    def handle_data(self, text: str) -> None:
        self.words.append(text)
        if self._within[-2:] == ["span", "b"] and not self.links[-1].label:
            self.links[-1].label = text

    def node(self, index: int) -> dict[str, Any]:
        """A node of the recording, as far as the tests ask."""
        recording = self.recordings[0]
        fields = dict(zip(recording["node_fields"], recording["nodes"][index], strict=True))
        line = (recording["chains"][fields["places"]] or [0, 0])[1]
        return {**fields, "name": recording["strings"][fields["name"]], "line": line}


def report_page(folder: Path, text: str, *options: str, engine: str = "retrograd") -> str:
    """Run the doctor on a program as a user would; the page that it writes."""
    folder = folder.resolve()  # the doctor runs in it
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(text)
    out = folder / "report.html"
    asked = [*command("--engine", engine, *options), "--html", str(out), "train.py"]
    imported = forked.WITH_TORCH if engine == "torch" else forked.WITH_DOCTOR
    forked.python(asked[1:], folder, imported=imported)
    return out.read_text("utf-8")


def write_reports(folder: Path) -> list[Path]:
    """Pages for the tests in a browser: with a graph, without one, and one that is not tried."""
    alone = Result(script="train.py", engine="retrograd", unseen=["what a thread did"])
    pages = {
        "report": report_page(folder / "report", CARRIED),
        "collected": report_page(folder / "collected", COLLECTED, "--no-verify"),
        "alone": html.page(alone, "the recorder failed: OSError"),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return [folder / f"{name}.html" for name in pages]
