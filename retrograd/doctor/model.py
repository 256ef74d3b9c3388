"""What the doctor says: a diagnosis with its places and fixes, as plain data.

The vocabulary of causes and kinds of fixes is fixed: programs read it from ``--json``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from retrograd.diagnostics.report import Fix, Place, Report, Span

CAUSES = {
    "same-loss-twice": "backward is called again on a loss that was already sent back",
    "shared-subgraph": "two losses hang on one forward pass; the first backward released it",
    "stale-state-carried": "a value kept from an earlier iteration still has its history",
    "precomputed-outside-loop": "a function of parameters was computed once and is reused",
    "accumulated-history": "losses or outputs are collected over iterations with their graphs",
    "freed-by-grad-call": "torch.autograd.grad released the graph that a later call needs",
    "inplace-after-save": "an in-place operation changed a value that backward needs",
    "param-updated-before-backward": "parameters were stepped before a backward that needs them",
    "leaf-inplace": "a leaf that requires grad is modified in place with gradients on",
    "broken-graph": "the path from the loss to parameters is cut",
    "no-grad-scope": "the forward pass ran with gradients switched off",
    "non-scalar": "backward on a tensor of several elements without a gradient argument",
    "missing-create-graph": "a gradient is differentiated again but was taken without create_graph",
    "zero-grad-misuse": "gradients are not cleared, or cleared at the wrong time",
    "needless-retain": "retain_graph or create_graph without any further use of the graph",
    "stale-optimizer-params": "the optimizer does not hold the parameters that the model uses",
    "nonleaf-grad": "the .grad of, or an optimizer over, a tensor that is not a leaf",
}


@dataclass
class Diagnosis(Report):
    """One finding, most likely cause first in the list that holds it."""

    spans: list[Span] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error_line: Place | None = None  # innermost own line of the error; where a silent fault shows
    created_at: list[Place] = field(default_factory=list)  # where the value at fault was made
    freed_at: Place | None = None
    error: str = ""  # "RuntimeError: first line"; "" for a silent fault
    tensor: str = ""  # what the user calls it: "hidden", "self.memory", "buffer[3]"
    why_not_retain: str = ""  # why retain_graph=True is not the answer, where it is not

    def __post_init__(self) -> None:
        assert self.cause in CAUSES, self.cause

    def to_json(self) -> dict[str, object]:
        """The fields that programs read, and the rest of the report beside them."""
        best = self.fixes[0] if self.fixes else None
        return {
            "category": self.cause,
            "error_line": None if self.error_line is None else self.error_line.to_json(),
            "created_at": [place.to_json() for place in self.created_at],
            "freed_at": None if self.freed_at is None else self.freed_at.to_json(),
            "fix": None if best is None else {"kind": best.kind, **best.place.to_json()},
            "report": asdict(self),
        }
