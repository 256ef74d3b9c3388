"""How tensors print, character for character as in PyTorch.

The text of a tensor is made in four steps:

1. *summarise*: a large array is cut down to the first and last few entries of each dimension;
2. *format*: the entries that are left become equally wide strings, their *cells*;
3. *lay out*: the cells are nested in brackets and wrapped at the line width;
4. *add suffixes*: what the entries do not tell (``dtype=...``, ``grad_fn=<...>``) follows.

Everything here works on NumPy arrays, so that the tensor class only passes on what it knows:

>>> import numpy
>>> format_tensor(
...     numpy.array([1.0, 2.5]), dtype_name="float64", grad_fn_name="MulBackward0"
... )
'tensor([1.0000, 2.5000], dtype=torch.float64, grad_fn=<MulBackward0>)'
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy

from retrograd.backend.arrays import Array

__all__ = [
    "format_parameter",
    "format_scalar_spec",
    "format_size",
    "format_tensor",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]

# Numbers spread wider than this ratio, or outside these bounds, print in scientific notation.
_LARGEST_RATIO = 1000.0
_LARGEST_FIXED = 1.0e8
_SMALLEST_FIXED = 1.0e-4


@dataclass(frozen=True, slots=True)
class _PrintOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = _PrintOptions()


# ---------------------------------------------------------------------------------------------
# Options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors print from now on.

    Args:
        precision: digits after the decimal point (4).
        threshold: tensors with more entries than this are summarised (1000).
        edgeitems: entries kept at each end of a summarised dimension (3).
        linewidth: columns after which lines are wrapped (80).
        profile: ``"default"``, ``"short"`` or ``"full"``, a preset which the options above
            refine. As in PyTorch, any other name is ignored.
        sci_mode: scientific notation always (True), never (False), or where the values call for
            it (None). As in PyTorch, every call sets it: leaving it out means None.

    >>> import numpy
    >>> set_printoptions(precision=2)
    >>> format_tensor(numpy.array(3.14159), dtype_name="float32")
    'tensor(3.14)'
    >>> set_printoptions(profile="default")
    """
    global _options
    if edgeitems is not None and edgeitems < 0:
        raise ValueError(f"edgeitems counts entries and cannot be negative, but got {edgeitems}")
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes: dict[str, Any] = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    changes.update((name, value) for name, value in given.items() if value is not None)
    _options = replace(_options, **changes, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The current print options, by name.

    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Apply :func:`set_printoptions` inside a ``with`` block, then restore what was before.

    >>> import numpy
    >>> with printoptions(precision=1):
    ...     format_tensor(numpy.array(0.25), dtype_name="float32")
    'tensor(0.2)'
    """
    global _options
    before = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = before


# ---------------------------------------------------------------------------------------------
# Whole texts


def format_tensor(
    array: Array | None,
    *,
    dtype_name: str,
    shape: tuple[int, ...] = (),
    default_float: str = "float32",
    default_complex: str = "complex64",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    prefix: str = "tensor(",
    indent: int = 0,
    device: str | None = None,
    extra: Sequence[str] = (),
) -> str:
    """The text of ``repr(tensor)`` and ``str(tensor)``.

    Args:
        array: the entries; None where there are none, of a tensor of the device meta.
        shape: the shape of such a tensor.
        dtype_name: the tensor's dtype without ``torch.``; printed where the entries do not show it.
        default_float: name of the default dtype of Python floats, which goes without saying.
        default_complex: the same for complex numbers: ``"complex128"`` if ``default_float`` is
            ``"float64"``, otherwise ``"complex64"``.
        requires_grad: printed for leaves, that is, where there is no ``grad_fn_name``.
        grad_fn_name: class name of the node that made the tensor, if any.
        prefix: the opening, ``"tensor("`` or a subclass' name and a parenthesis.
        indent: the column where the text will start; later lines align with it.
        device: the device's name, where it should be printed.
        extra: further suffixes, such as ``"tangent=..."``, to print last.

    >>> import numpy
    >>> format_tensor(numpy.zeros((0, 3)), dtype_name="float32", requires_grad=True)
    'tensor([], size=(0, 3), requires_grad=True)'
    """
    options = _options
    text_column = indent + len(prefix)
    suffixes = [] if device is None else [f"device='{device}'"]
    if array is None:
        body = "..."
        size_is_visible, dtype_is_visible = False, dtype_name == default_float
    elif array.size == 0:
        body = "[]"
        # No entries: neither their number of dimensions nor their kind can be seen.
        size_is_visible = array.ndim == 1
        dtype_is_visible = dtype_name == default_float
    else:
        body = _format_body(array, text_column, options)
        # Without edge items any summarised tensor reads "[...]", so the size is always given.
        size_is_visible = options.edgeitems != 0
        dtype_is_visible = dtype_name in (
            default_float,
            default_complex,
            "int64",
            "bool",
        )
    if not size_is_visible:
        suffixes.append(f"size={shape if array is None else array.shape}")
    if not dtype_is_visible:
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    suffixes.extend(extra)
    return _add_suffixes(prefix + body, suffixes, indent, text_column, options.linewidth)


def format_parameter(tensor_text: str) -> str:
    """The text of a parameter, given its text as a tensor.

    >>> print(format_parameter("tensor([1.], requires_grad=True)"))
    Parameter containing:
    tensor([1.], requires_grad=True)
    """
    return "Parameter containing:\n" + tensor_text


def format_size(shape: Sequence[int]) -> str:
    """The text of a tensor's size.

    >>> format_size((2, 3))
    'torch.Size([2, 3])'
    """
    return f"torch.Size([{', '.join(map(str, shape))}])"


def format_scalar_spec(array: Array, spec: str, *, class_name: str = "Tensor") -> str:
    """What ``format(tensor, spec)`` gives: only 0-d tensors understand a format specification.

    They format as the Python number they hold. All other tensors, and all subclasses (parameters
    too), accept only an empty ``spec``, which means ``str(tensor)`` and is left to the caller.

    >>> import numpy
    >>> format_scalar_spec(numpy.array(2.0), ".3f")
    '2.000'
    """
    if array.ndim == 0 and class_name == "Tensor":
        (value,) = _python_numbers(array)
        return format(value, spec)
    raise TypeError(f"unsupported format string passed to {class_name}.__format__")


# ---------------------------------------------------------------------------------------------
# Step 1: summarise


def _summarise(array: Array, options: _PrintOptions) -> tuple[Array, tuple[bool, ...]]:
    """The entries to print, and for each dimension whether some were left out in its middle."""
    if array.size <= options.threshold:
        return array, (False,) * array.ndim
    edge = options.edgeitems
    shortened = tuple(length > 2 * edge for length in array.shape)
    kept = [
        [*range(edge), *range(length - edge, length)] if is_shortened else range(length)
        for length, is_shortened in zip(array.shape, shortened, strict=True)
    ]
    # One indexing operation for all dimensions copies nothing but the entries to print.
    return (array[numpy.ix_(*kept)] if any(shortened) else array), shortened


# ---------------------------------------------------------------------------------------------
# Step 2: format


def _python_numbers(array: Array) -> list[Any]:
    """The entries in row-major order as Python numbers, which hold each of them exactly."""
    if array.dtype.kind in "fciub":
        return array.reshape(-1).tolist()
    if array.dtype.name == "complex32":
        return array.reshape(-1).astype(numpy.complex64).tolist()
    if array.dtype.name == "bfloat16":
        return array.reshape(-1).astype(numpy.float32).tolist()
    raise TypeError(f"cannot print entries of dtype {array.dtype.name}")


def _format_cells(array: Array, options: _PrintOptions) -> tuple[list[str], int]:
    """One string per entry, and the columns each is counted with when lines are wrapped."""
    numbers = _python_numbers(array)
    kind = array.dtype.kind
    if kind == "c" or array.dtype.name == "complex32":
        real_cells, real_width = _format_floats([number.real for number in numbers], options)
        imag_cells, imag_width = _format_floats([number.imag for number in numbers], options)
        cells = [
            real + _with_sign(imag.lstrip()) + "j"
            for real, imag in zip(real_cells, imag_cells, strict=True)
        ]
        # The sign between the parts is not counted: PyTorch's complex lines run over by that much.
        return cells, real_width + imag_width + 1
    if kind in "iub":
        texts = [str(number) for number in numbers]
        width = max(map(len, texts))
        return [text.rjust(width) for text in texts], width
    return _format_floats(numbers, options)


def _with_sign(number: str) -> str:
    return number if number.startswith("-") else "+" + number


def _format_floats(numbers: list[float], options: _PrintOptions) -> tuple[list[str], int]:
    """Cells of real numbers, all in the one notation that suits them together.

    Zeros, infinities and NaNs have no say in the notation or the width. A cell may therefore be
    wider than the width returned, as in ``tensor([0., -0.])``.
    """
    typical = [number for number in numbers if number and math.isfinite(number)]
    if not typical:
        return [_format_whole(number) for number in numbers], 1
    whole = all(map(float.is_integer, typical))
    scientific = options.sci_mode
    if scientific is None:
        smallest, largest = min(map(abs, typical)), max(map(abs, typical))
        scientific = (
            largest / smallest > _LARGEST_RATIO
            or largest > _LARGEST_FIXED
            or (not whole and smallest < _SMALLEST_FIXED)
        )
    if whole and not scientific:
        texts = [_format_whole(number) for number in numbers]
        width = max(len(_format_whole(number)) for number in typical)
    else:
        spec = f".{options.precision}{'e' if scientific else 'f'}"
        texts = [format(number, spec) for number in numbers]
        width = max(len(format(number, spec)) for number in typical)
    return [text.rjust(width) for text in texts], width


def _format_whole(number: float) -> str:
    text = f"{number:.0f}"
    return text + "." if math.isfinite(number) else text


# ---------------------------------------------------------------------------------------------
# Step 3: lay out


def _format_body(array: Array, column: int, options: _PrintOptions) -> str:
    """Everything between the parentheses but the suffixes, starting in the given column."""
    if array.ndim and options.edgeitems == 0 and array.size > options.threshold:
        return "[...]"
    shown, shortened = _summarise(array, options)
    cells, width = _format_cells(shown, options)
    if array.ndim == 0:
        return cells[0]
    return _lay_out(cells, width, shown.shape, shortened, column, options)


def _lay_out(
    cells: list[str],
    width: int,
    shape: tuple[int, ...],
    shortened: tuple[bool, ...],
    column: int,
    options: _PrintOptions,
) -> str:
    """Cells in brackets. ``shape`` and ``shortened`` begin at the dimension to open here."""
    margin = " " * (column + 1)
    if len(shape) == 1:
        if shortened[0]:
            # The space belongs to the dots, also where they begin a line.
            cells = [*cells[: options.edgeitems], " ...", *cells[options.edgeitems :]]
        per_line = max(1, math.floor((options.linewidth - column) / (width + 2)))
        lines = [
            ", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)
        ]
        return "[" + f",\n{margin}".join(lines) + "]"
    step = len(cells) // shape[0]
    blocks = [
        _lay_out(
            cells[start : start + step],
            width,
            shape[1:],
            shortened[1:],
            column + 1,
            options,
        )
        for start in range(0, len(cells), step)
    ]
    if shortened[0]:
        blocks.insert(options.edgeitems, "...")
    # Matrices are set apart by one empty line, stacks of matrices by two, and so on.
    separator = "," + "\n" * (len(shape) - 1) + margin
    return "[" + separator.join(blocks) + "]"


# ---------------------------------------------------------------------------------------------
# Step 4: add suffixes


def _add_suffixes(
    text: str, suffixes: Sequence[str], indent: int, text_column: int, linewidth: int
) -> str:
    """Append each suffix to the last line where it fits, to a new line otherwise."""
    head, _, last_line = text.rpartition("\n")
    # Two columns stay free beside the entries (for a comma or the closing parenthesis), none
    # beside a suffix that begins a line: this decides cases on the border as PyTorch does.
    used = len(last_line) + 2 + (0 if head else indent)
    parts = [text]
    for suffix in suffixes:
        if used + len(suffix) + 2 > linewidth:
            parts.append(",\n" + " " * text_column + suffix)
            used = text_column + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    parts.append(")")
    return "".join(parts)
