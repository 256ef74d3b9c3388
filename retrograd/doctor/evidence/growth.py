"""Graph of earlier iterations that piles up: is it growth, who holds it, which line stores it?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from retrograd.doctor.evidence import source
from retrograd.doctor.session import Watched
from retrograd.watching.graph import Ranges, in_ranges
from retrograd.watching.growth import without_indices
from retrograd.watching.places import Place
from retrograd.watching.records import Call, GrowthSample, Holder

RISING = 4  # samples in a row that must rise
SAWTOOTH = 3  # or so many, twice: a sum that starts anew in each epoch
FULL_WINDOW = 16  # tensors in a collection of bounded length before it counts

ADDS = frozenset(
    "append appendleft extend insert add put put_nowait update setdefault push".split()
)


@dataclass
class Growing:
    """What piles up, and where."""

    sample: GrowthSample  # the last of those that rise
    nodes: int  # of earlier iterations, at that sample
    pace: float  # nodes per call
    holder: Holder  # a tensor that holds them
    made: list[Place]  # the stack that made it
    stored: Place  # the line that keeps it
    adds: bool  # that line is `name += value`
    name: str  # what it is kept in


def gather(watched: Watched) -> list[Growing]:
    """What grows, each line that stores it once."""
    calls = watched.recorder.calls
    by_site: dict[tuple[int, int], list[GrowthSample]] = {}
    for sample in watched.recorder.growth.samples:
        by_site.setdefault(sample.call.site, []).append(sample)
    found: dict[tuple[str, int], Growing] = {}
    for samples in by_site.values():
        counts = [_idle(sample, calls) for sample in samples]
        last = last_rising([sample.count for sample in samples], counts)
        if last is None:
            continue
        position, pace = last
        growing = _holders(samples[position], samples[:position], watched)
        for each in growing:
            each.nodes, each.pace = counts[position], pace
            found.setdefault((each.stored.file, each.stored.line), each)
    return list(found.values())


def _idle(sample: GrowthSample, calls: list[Call]) -> int:
    """How many of the old nodes no call went through from then on.

    What an inner `create_graph` call went through waits for an outer one: it is not counted.
    """
    if not sample.old:
        return 0
    lowest, highest = sample.old[0][0], sample.old[-1][1]
    near = [
        call
        for call in calls
        if call.log is sample.call.log
        and call.ranges
        and call.ranges[0][0] <= highest
        and call.ranges[-1][1] >= lowest
    ]
    here = sample.call.index
    wanted = [call for call in near if call.index < here and call.create]
    consumed = [call for call in near if call.index < here and not call.retain]
    idle = _numbers_outside(sample.old, [call.ranges for call in near if call.index >= here])
    return sum(
        1
        for number in idle
        if not any(in_ranges(c.ranges, number) for c in wanted)
        or any(in_ranges(c.ranges, number) for c in consumed)
    )


def _numbers_outside(ranges: Ranges, others: Iterable[Ranges]) -> set[int]:
    numbers = {number for low, high in ranges for number in range(low, high + 1)}
    for other in others:
        for low, high in other:
            if high - low < len(numbers):
                numbers.difference_update(range(low, high + 1))
            else:
                numbers = {number for number in numbers if not low <= number <= high}
    return numbers


def last_rising(positions: list[int], counts: list[int]) -> tuple[int, float] | None:
    """The last sample of a rise at one pace, and the pace; None for a plateau or a few samples.

    >>> last_rising([2, 3, 4, 5, 6], [10, 20, 30, 40, 50])
    (4, 10.0)
    >>> last_rising([2, 3, 4, 5, 6], [10, 20, 30, 30, 30]) is None  # a window that is full
    True
    >>> last_rising([2, 3, 4, 6, 7, 8], [10, 20, 30, 10, 20, 30])  # anew in each epoch
    (2, 10.0)
    """
    runs: list[list[int]] = []
    run = [0] if counts else []
    for index in range(1, len(counts)):
        change = counts[index] - counts[index - 1]
        if change > 0:
            run.append(index)
            continue
        if len(run) >= SAWTOOTH and counts[index] * 2 > counts[index - 1]:
            return None  # it stays where it is: a window, a cache
        runs.append(run)
        run = [index]
    runs.append(run)
    long = [run for run in runs if len(run) >= RISING and _one_pace(positions, counts, run)]
    short = [run for run in runs if len(run) >= SAWTOOTH and _one_pace(positions, counts, run)]
    chosen = long or (short if len(short) > 1 else [])
    if not chosen:
        return None
    best = max(chosen, key=len)
    return best[-1], median(_paces(positions, counts, best))


def _paces(positions: list[int], counts: list[int], run: list[int]) -> list[float]:
    return [(counts[b] - counts[a]) / (positions[b] - positions[a]) for a, b in pairwise(run)]


def _one_pace(positions: list[int], counts: list[int], run: list[int]) -> bool:
    paces = _paces(positions, counts, run)
    middle = median(paces)
    return paces[-1] >= middle / 3 and max(paces[1:]) <= 4 * middle


# ------------------------------------------------------------------------------- holders


def _holders(
    sample: GrowthSample, earlier: list[GrowthSample], watched: Watched
) -> Iterator[Growing]:
    """The kinds of holders (they share a path, indices left out) that grow themselves."""
    files = _files(watched)
    log = sample.call.log
    first = earlier[-3] if len(earlier) > 2 else earlier[0]
    rise = {kind: count - first.kinds.get(kind, 0) for kind, count in sample.kinds.items()}
    most = max(rise.values(), default=0)
    for pattern in sorted(rise, key=lambda kind: -rise[kind]):
        holder = next(h for h in sample.holders if without_indices(h.path or "") == pattern)
        if holder.window and sample.tensors < FULL_WINDOW:
            continue
        made = [place for _, place in log.stack_of(holder.number)]
        names = re.findall(r"[A-Za-z_]\w*", pattern)
        stored, adds = _accumulator(made, names[-1])
        if stored is None:
            stored = _written_into(made, names[-1], _items_of_last(pattern))
        # other collections may show some of the same values for a moment
        if stored is None and "[" in pattern and rise[pattern] > 0 and rise[pattern] * 2 >= most:
            stored, adds = _stored(made, names, files)
        if stored is not None:
            yield Growing(sample, 0, 0.0, holder, made, stored, adds, holder.path or "")


def _files(watched: Watched) -> list[str]:
    chains = watched.tracer.chains.known
    return list(dict.fromkeys(chain.code.co_filename for chain in chains if chain is not None))


def _accumulator(made: list[Place], name: str) -> tuple[Place | None, bool]:
    """The line that computes a value from itself; whether it is `name += value`."""
    for place in reversed(made):
        statement = source.statement_at(place.file, place.line)
        if isinstance(statement, ast.AugAssign) and _is_of(statement.target, name):
            return place, True
        value: ast.expr | None = None
        if isinstance(statement, ast.Assign) and any(_targets(t, name) for t in statement.targets):
            value = statement.value
        elif isinstance(statement, ast.Expr) and _changes_in_place(statement.value):
            value = statement.value
        elif isinstance(statement, ast.Expr) and _sets_from_itself(statement.value):
            return place, False
        if value is not None:
            same = {name, *_names_read_from(place, name)}
            if any(_is_of(inner, each) for inner in ast.walk(value) for each in same):
                return place, False
    return None, False


def _items_of_last(pattern: str) -> int:
    """How many brackets a path ends with.

    >>> _items_of_last("self.tables[][]"), _items_of_last("self.rows[].table")
    (2, 0)
    """
    return (len(pattern) - len(re.sub(r"(\[\])+$", "", pattern))) // 2


def _written_into(made: list[Place], name: str, items: int) -> Place | None:
    """The line `name[index] = value` that writes into a tensor, which so gets a longer history.

    The tensor itself has `items` brackets in its path; one more writes into it. With as many the
    line puts a tensor into a collection.
    """
    for place in reversed(made):
        statement = source.statement_at(place.file, place.line)
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            depth, inner = 0, target
            while isinstance(inner, ast.Subscript):
                depth, inner = depth + 1, inner.value
            if depth > items and _is_of(inner, name):
                return place
    return None


def _targets(target: ast.expr, name: str) -> bool:
    """Whether an assignment writes to a name, alone or among others: `total, n = ...`."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_targets(each, name) for each in target.elts)
    return _is_of(target, name)


def _sets_from_itself(node: ast.expr) -> bool:
    """`setattr(self, key, 0.9 * getattr(self, key) + value)`."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "setattr":
        return False
    where = [ast.dump(argument) for argument in node.args[:2]]
    return any(
        isinstance(inner, ast.Call)
        and getattr(inner.func, "id", "") == "getattr"
        and [ast.dump(argument) for argument in inner.args[:2]] == where
        for inner in ast.walk(node)
    )


def _names_read_from(place: Place, name: str) -> Iterator[str]:
    """The variables of a function that hold an item: `old` of `old = self.weights[key]`."""
    function = source.function_around(place.file, place.line) or source.tree_of(place.file)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_of(node.value, name):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, (ast.For, ast.comprehension)):
            if any(_is_of(inner, name) for inner in ast.walk(node.iter)):
                inner = ast.walk(node.target)
                yield from (part.id for part in inner if isinstance(part, ast.Name))


def _changes_in_place(node: ast.expr) -> bool:
    """`mean.mul_(0.9).add_(value)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name.endswith("_") and not name.endswith("__"):
            return True
        node = node.func.value
    return False


def _stored(made: list[Place], names: list[str], files: list[str]) -> tuple[Place | None, bool]:
    """The line that puts the value into a collection."""
    ordered = list(dict.fromkeys([place.file for place in reversed(made)] + files))
    for name in reversed(names):
        for wanted in (_grows, _assigns):
            lines = [
                (file, node.lineno, isinstance(node, ast.AugAssign))
                for file in ordered
                for node in ast.walk(source.tree_of(file))
                if isinstance(node, (ast.stmt, ast.expr)) and wanted(node, name)
            ]
            if lines:
                file, line, adds = _nearest(lines, made)
                return Place(file, line), adds
    return None, False


def _nearest(lines: list[tuple[str, int, bool]], made: list[Place]) -> tuple[str, int, bool]:
    """The store that follows one of the lines which made the value, else the first."""
    for place in reversed(made):
        same = [found for found in lines if found[0] == place.file]
        after = [found for found in same if found[1] >= place.line]
        if after:
            return min(after, key=lambda found: found[1])
    return lines[0]


def _grows(node: ast.AST, name: str) -> bool:
    """`name.append(x)`, `name[key].append(x)`, `name[key] = x`, `name += [x]`."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ADDS:
            return _is_of(node.func.value, name)
        return False
    if isinstance(node, ast.AugAssign):
        return _is_of(node.target, name)
    if isinstance(node, ast.Assign):
        if any(isinstance(t, ast.Subscript) and _is_of(t, name) for t in node.targets):
            return True
        # name = name + [x], name = [*name, x]
        return any(_is_of(t, name) for t in node.targets) and any(
            _is_of(inner, name) for inner in ast.walk(node.value)
        )
    return False


def _assigns(node: ast.AST, name: str) -> bool:
    """`name = x`, `self.name = x`, but not an empty collection."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return False
    if isinstance(node.value, (ast.List, ast.Dict, ast.Constant)):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(_is_of(target, name) for target in targets)


def _is_of(node: ast.AST, name: str) -> bool:
    """Whether an expression is a name, an attribute of that name, or an item of one."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node.func, ast.Attribute) and node.func.attr in ("setdefault", "get"):
            node = node.func.value
        else:
            return False
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Attribute) and node.attr == name
