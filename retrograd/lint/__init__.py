"""Autograd mistakes that can be seen without running a program: `retrograd lint PATHS`.

The program is read with Python's own parser, which is fast and says no to hostile input; a change
of the text (`--fix`) is made on LibCST's tree, which keeps comments and formatting.

>>> source = '''
... import torch
... from torch import nn
... model = nn.Linear(2, 1)
... optimizer = torch.optim.SGD(model.parameters())
... total = 0.0
... for x, y in batches:
...     optimizer.zero_grad()
...     loss = (model(x) - y).pow(2).mean()
...     loss.backward()
...     optimizer.step()
...     total += loss
... '''
>>> [(finding.code, finding.line) for finding in lint_text(source, "train.py").findings]
[('RGL101', 12)]
"""

from __future__ import annotations

from .check import Report, lint_text
from .declare import Finding, Repair, Rule
from .rules import RULES

__all__ = ["RULES", "Finding", "Repair", "Report", "Rule", "lint_text"]
