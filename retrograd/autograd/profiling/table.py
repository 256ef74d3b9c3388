"""The profiler's results as text: times, shares, memory, and the table of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_GAP = "  "
_WIDTH = 12  # of a column of numbers
_FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(microseconds: float) -> str:
    """A time in the unit that suits it.

    >>> format_time(12.5), format_time(2500)
    ('12.500us', '2.500ms')
    """
    unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return _in_unit(microseconds, unit)


def _in_unit(microseconds: float, unit: str) -> str:
    return f"{microseconds / {'s': 1e6, 'ms': 1e3, 'us': 1.0}[unit]:.3f}{unit}"


def format_share(part: float, total: float) -> str:
    """A part in percent of a total.

    >>> format_share(1, 4)
    '25.00%'
    """
    if total == 0:
        if part != 0:
            raise AssertionError(f"Expected time_us == 0 but got {part}")
        return "NaN"
    return f"{part * 100.0 / total:.2f}%"


def format_memory(count: int) -> str:
    """A number of bytes in the unit that suits it.

    >>> format_memory(-2048)
    '-2.00 KB'
    """
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


class _Column:
    """A heading, a width, and the side to which the text is set."""

    def __init__(self, heading: str, width: int = _WIDTH, side: str = ">") -> None:
        self.heading = heading
        self.width = width
        self.side = side

    def set(self, text: object) -> str:
        return f"{text!s:{self.side}{self.width}}"


def build_table(
    events: Sequence[Any],
    *,
    sort_by: str | None,
    header: str | None,
    row_limit: int,
    max_src_column_width: int | None,
    max_name_column_width: int | None,
    max_shapes_column_width: int | None,
    with_flops: bool,
    profile_memory: bool,
    top_level_events_only: bool,
    time_unit: str | None,
) -> str:
    """The table that `EventList.table` returns; empty without events."""
    if not events:
        return ""
    if sort_by is not None:
        key = device_name(sort_by)
        events = sorted(events, key=lambda event: getattr(event, key), reverse=True)

    def time(microseconds: float) -> str:
        if time_unit in ("s", "ms", "us"):
            return _in_unit(microseconds, time_unit)
        return format_time(microseconds)

    stacks = [event.stack for event in events if event.stack]
    shapes = any(event.input_shapes for event in events)
    overloads = any(event.overload_name for event in events)
    nodes = any(event.node_id != -1 for event in events)
    flops = [event.flops for event in events if event.flops] if with_flops else []
    scale = _flop_scale(min(flops)) if flops else 0

    name_width = _limit(max(len(event.key) for event in events) + 4, max_name_column_width)
    columns = [_Column("Name", name_width)]
    if overloads:
        columns.append(_Column("Overload Name", name_width))
    numbers = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    numbers += ["CPU Mem", "Self CPU Mem"] * profile_memory + ["# of Calls"] + ["Node ID"] * nodes
    columns += [_Column(heading) for heading in numbers]
    shape_width = _limit(max(len(str(e.input_shapes)) for e in events) + 4, max_shapes_column_width)
    source_width = 0
    if shapes:
        columns.append(_Column("Input Shapes", shape_width))
    if stacks:
        longest = max(len(entry) for stack in stacks for entry in stack)
        source_width = _limit(longest + 4, max_src_column_width)
        columns.append(_Column("Source Location", source_width, "<"))
    if flops:
        columns.append(_Column(f"Total {_FLOP_UNITS[scale]}"))

    total = sum(event.self_cpu_time_total for event in events)

    def values(event: Any) -> list[object]:
        event.self_cpu_percent = format_share(event.self_cpu_time_total, total)
        event.total_cpu_percent = format_share(event.cpu_time_total, total)
        if event.is_async:
            event.total_cpu_percent = 0
        row: list[object] = [_shorten(event.key, max_name_column_width)]
        if overloads:
            row.append(_shorten(event.overload_name, max_name_column_width))
        row += [event.self_cpu_percent, time(event.self_cpu_time_total)]
        row += [event.total_cpu_percent, time(event.cpu_time_total), time(event.cpu_time)]
        if profile_memory:
            row += [format_memory(event.cpu_memory_usage)]
            row += [format_memory(event.self_cpu_memory_usage)]
        row.append(event.count)
        if nodes:
            row.append(event.node_id)
        if shapes:
            row.append(str(event.input_shapes)[:shape_width])
        if stacks:
            row.append(_end_of_path(event.stack[0], source_width) if event.stack else "")
        if flops:
            row.append(f"{event.flops / 1000**scale:8.3f}" if event.flops else "--")
        return row

    def line(texts: Sequence[object]) -> str:
        return "".join(c.set(t) + _GAP for c, t in zip(columns, texts, strict=True))

    rule = line(["-" * column.width for column in columns])
    double_rule = "=" * (len(rule) - len(_GAP))
    lines = []
    if header is not None:
        lines += [double_rule, header]
    if top_level_events_only:
        lines += [double_rule, "This report only display top-level ops statistics"]
    lines += [rule, line([column.heading for column in columns]), rule]
    shown = [e for e in events if not (top_level_events_only and e.cpu_parent is not None)]
    for event in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(line(values(event)))
        if stacks:  # the rest of the stack below its first entry, and an empty line
            place = [column.heading for column in columns].index("Source Location")
            for entry in [*(event.stack or [])[1:], ""]:
                texts: list[object] = [""] * len(columns)
                texts[place] = _end_of_path(entry, source_width)
                lines.append(line(texts))
    lines += [rule, f"Self CPU time total: {time(total)}"]
    return "\n".join(lines) + "\n"


def device_name(attribute: str) -> str:
    """The attribute that a key such as ``cuda_time`` stands for."""
    for device in ("cuda", "xpu", "privateuse1"):
        attribute = attribute.replace(device, "device")
    return attribute


def _limit(width: int, most: int | None) -> int:
    return width if most is None else min(width, most)


def _shorten(name: str, width: int | None) -> str:
    if width is not None and len(name) >= width - 3:
        return name[: width - 3] + "..."
    return name


def _end_of_path(entry: str, width: int) -> str:
    """The end of a long path, which says more than its beginning."""
    if len(entry) <= width:
        return entry
    entry = entry[-width:]
    return "..." + entry[3:] if len(entry) > 3 else entry


def _flop_scale(smallest: int) -> int:
    """How many thousands to divide by, so that the smallest number is readable."""
    return int(max(0, min(math.log10(smallest) / 3, len(_FLOP_UNITS) - 1)))
