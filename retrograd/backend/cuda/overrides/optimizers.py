"""Steps of optimizers over all parameters: a launch for each 64 of them.

A step takes a group's options and, for each parameter, its array, its gradient and its state. It
says which it did not take: arrays that do not lie row by row, or of another type than their state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import WIDE, source
from retrograd.backend.device import Backend

_MOST, _PIECE = 64, 4096  # as in the source
_ADDRESSES = struct.Struct(f"{5 * _MOST}Q")
_REST = struct.Struct(f"{_MOST}q{_MOST + 2}i")


def _fits(arrays: Sequence[Any]) -> bool:
    """Whether a parameter's arrays are alike and lie row by row."""
    first = arrays[0]
    if first.dtype.name not in WIDE:
        return False
    shape, dtype = first.shape, first.dtype
    return all([a._c_contiguous and a.dtype == dtype and a.shape == shape for a in arrays])


def _tables(rows: Sequence[Sequence[Any]]) -> list[tuple[bytes, int]]:
    """What launches are given, and their blocks; a row has a value, a gradient and its state."""
    found = []
    for start in range(0, len(rows), _MOST):
        part = rows[start : start + _MOST]
        addresses = [0] * (5 * _MOST)
        sizes, blocks = [0] * _MOST, [0]
        for place, row in enumerate(part):
            for kind, array in enumerate(row):
                addresses[kind * _MOST + place] = array.data.ptr
            size = sizes[place] = row[0].size
            blocks.append(blocks[-1] - (-size // _PIECE))
        count, all_blocks = len(part), blocks[-1]
        blocks += [all_blocks] * (_MOST + 1 - len(blocks))
        rest = _REST.pack(*sizes, *blocks, count)
        found.append((_ADDRESSES.pack(*addresses) + rest, all_blocks))
    return found


def _launched(name: str, rows: Sequence[Sequence[Any]], numbers: tuple[Any, ...]) -> None:
    """One step of rows, by the types that they have."""
    kinds: dict[Any, list[Sequence[Any]]] = {}
    for row in rows:
        if row[0].size:
            kinds.setdefault(row[0].dtype, []).append(row)
    for dtype, alike in kinds.items():
        function = getattr(source("steps", dtype), name)
        for table, blocks in _tables(alike):
            launch.launch(function, blocks, (table, *numbers))


class Given:
    """Where a recorded step reads its numbers: each replay sets them, as a step computes them."""

    def __init__(
        self, recording: Any, dtype: Any, numbers: Callable[[], tuple[float, ...]]
    ) -> None:
        self.place = recording.memory(3)
        self.put = source("steps", dtype).put_numbers
        self.numbers = numbers
        recording.before.append(self.refresh)

    def refresh(self) -> None:
        launch.launch(self.put, 1, (self.place.data.ptr, *self.numbers()), 1)


def adam(
    backend: Any, group: Any, states: Sequence[Any], values: Sequence[Any], slopes: Sequence[Any]
) -> Any:
    """A step of Adam or AdamW; which parameters it did."""
    recording = backend.recording
    names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
    beta1, beta2 = map(float, group["betas"])
    by_step: dict[float, list[Sequence[Any]]] = {}
    counts: dict[float, list[Any]] = {}
    done = []
    for state, value, slope in zip(states, values, slopes, strict=True):
        row = (value, slope, *[state[name]._array for name in names])
        fits = _fits(row)
        done.append(fits)
        if fits:
            count = state["step"]._array
            if recording is None:
                count += 1
            by_step.setdefault(float(count), []).append(row)
            counts.setdefault(float(count), []).append(count)
    coupled = not group.get("decoupled_weight_decay")
    decay = float(group["weight_decay"])

    def changing(step: float) -> tuple[float, float, float]:
        return float(group["lr"]), 1 - beta1**step, (1 - beta2**step) ** 0.5

    def of_next_step(counted: list[Any]) -> tuple[float, ...]:
        for count in counted:
            count += 1
        return changing(float(counted[0]))

    for step, rows in by_step.items():
        place = 0
        if recording is not None:
            numbers = partial(of_next_step, counts[step])
            place = Given(recording, rows[0][0].dtype, numbers).place.data.ptr
        rate, *corrections = changing(step) if recording is None else (0.0, 0.0, 0.0)
        fixed = (rate, 1 - beta1, beta2, float(group["eps"]), decay)
        flags = (int(coupled), int(bool(group["amsgrad"])), int(bool(group["maximize"])))
        _launched("adam", rows, (*fixed, *corrections, *flags, place))
    return done


def _rate_of(group: Any) -> tuple[float, float, float]:
    return float(group["lr"]), 0.0, 0.0


def descent(
    backend: Any, group: Any, states: Sequence[Any], values: Sequence[Any], slopes: Sequence[Any]
) -> Any:
    """A step of SGD along gradients, or along buffers that are there already."""
    recording = backend.recording
    momentum = float(group["momentum"])
    kept: list[Sequence[Any]] = []
    done = []
    for state, value, slope in zip(states, values, slopes, strict=True):
        row = [value, slope]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:  # the first step makes it, as it lies
                done.append(False)
                continue
            row.append(buffer._array)
        fits = _fits(row)
        done.append(fits)
        if fits:
            kept.append(row)
    flag = 0 if not momentum else 1 | (4 if group["nesterov"] else 0)
    numbers = (float(group["lr"]), momentum, 1 - float(group["dampening"]))
    place = 0
    if recording is not None and kept:
        place = Given(recording, kept[0][0].dtype, partial(_rate_of, group)).place.data.ptr
    more = (float(group["weight_decay"]), flag, int(bool(group["maximize"])))
    _launched("descent", kept, (*numbers, *more, place))
    return done


def install(backend: Backend) -> None:
    """Register them, by the names of the rules."""
    backend.steps.update(adam=partial(adam, backend), sgd=partial(descent, backend))
