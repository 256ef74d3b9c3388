"""How masked tensors print: two dashes in the place of what is masked out."""

from __future__ import annotations

from retrograd.tensor import Tensor

_ABSENT = "--"
_WIDTH = 8  # of a number with a fraction, and of what is absent


def _number(value: float | int | bool) -> str:
    return f"{value:{_WIDTH}.4f}" if isinstance(value, float) else str(value)


def text_of(data: Tensor, mask: Tensor) -> str:
    """The text of a masked tensor of these parts."""
    data = data.detach()
    if not data.dim():
        counts = mask.item()
        return f"MaskedTensor({_number(data.item()) if counts else _ABSENT}, {counts})"
    inside = "\n".join("  " + line for line in _lines(data, mask))
    return f"MaskedTensor(\n{inside}\n)"


def _lines(data: Tensor, mask: Tensor) -> list[str]:
    if data.dim() > 1:
        lines = ["["]
        count = data.size(0)
        for place in range(count):
            inner = ["  " + line for line in _lines(data[place], mask[place])]
            if place < count - 1:
                inner[-1] += ","
            lines += inner
        return [*lines, "]"]
    texts = [_number(value) for value in data.tolist()]
    counts = mask.tolist()
    absent = [
        _WIDTH if not counted else len(text) for text, counted in zip(texts, counts, strict=True)
    ]
    width = max(absent)
    shown = [
        t if counted else _ABSENT.rjust(width) for t, counted in zip(texts, counts, strict=True)
    ]
    return [f"[{', '.join(shown)}]"]
