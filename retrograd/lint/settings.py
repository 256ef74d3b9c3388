"""What `[tool.retrograd.lint]` in a pyproject.toml says.

[tool.retrograd.lint]
select = ["RGL1", "RGL201"]     # codes, their beginnings, names, or "ALL"
ignore = ["loss-accumulated"]
exclude = ["legacy/*"]
per-file-ignores = { "tests/*" = ["RGL102"] }
"""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from .rules import RULES

_LISTS = ("select", "ignore", "exclude")


class BadSettings(Exception):
    """The settings are wrong; the text says where and how."""


@dataclass(frozen=True)
class Settings:
    """Which rules run where."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path = Path()

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """The codes that are ignored in a file."""
        codes = list(self.ignore)
        for pattern, more in self.per_file_ignores.items():
            if self.matches(path, pattern):
                codes += more
        return tuple(codes)

    def excludes(self, path: str) -> bool:
        """Whether a file is not checked."""
        return any(self.matches(path, pattern) for pattern in self.exclude)

    def matches(self, path: str, pattern: str) -> bool:
        """Whether a pattern is about a file: its path from the settings' folder, or its name."""
        try:
            inside = Path(path).resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            inside = Path(path).as_posix()
        folder = pattern.rstrip("/") + "/*"
        name = Path(path).name
        return any(fnmatch.fnmatch(inside, form) for form in (pattern, folder)) or (
            fnmatch.fnmatch(name, pattern)
        )

    def with_options(self, select: str | None, ignore: str | None) -> Settings:
        """These settings with what the command line says instead."""
        changed = self
        if select is not None:
            changed = replace(changed, select=known_codes(select.split(","), "--select"))
        if ignore is not None:
            changed = replace(changed, ignore=known_codes(ignore.split(","), "--ignore"))
        return changed


def known_codes(codes: list[str], where: str) -> tuple[str, ...]:
    """Codes as rules have them; BadSettings for one that selects nothing.

    >>> known_codes(["rgl101", "backward-twice"], "--select")
    ('RGL101', 'RGL201')
    """
    by_slug = {rule.slug: rule.code for rule in RULES.values()}
    found = []
    for code in codes:
        code = code.strip()
        full = by_slug.get(code.lower(), code.upper())
        if (full != "ALL" and not any(rule.startswith(full) for rule in RULES)) or not full:
            raise BadSettings(f"{where}: there is no rule {code!r}")
        found.append(full)
    return tuple(found)


def find_settings(start: Path) -> Settings:
    """The settings of the nearest pyproject.toml that has some, from a folder upwards."""
    for folder in (start.resolve(), *start.resolve().parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            found = read_settings(file, required=False)
            if found is not None:
                return found
    return Settings(root=start)


def read_settings(file: Path, required: bool = True) -> Settings | None:
    """The settings in a file; None if it has none and need not."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettings(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{file}: {error}") from None
    table = data.get("tool", {}).get("retrograd", {}).get("lint")
    if table is None:
        return Settings(root=file.parent) if required else None
    return _from_table(table, file)


def _from_table(table: object, file: Path) -> Settings:
    where = f"{file}: [tool.retrograd.lint]"
    if not isinstance(table, dict):
        raise BadSettings(f"{where} is not a table")
    for key in table:
        if key not in (*_LISTS, "per-file-ignores"):
            raise BadSettings(f"{where}: there is no setting {key!r}")
    for key in _LISTS:
        _check_list(table.get(key, []), f"{where} {key}")
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise BadSettings(f"{where} per-file-ignores is not a table")
    for pattern, codes in per_file.items():
        _check_list(codes, f"{where} per-file-ignores {pattern!r}")
    return Settings(
        known_codes(table.get("select", []), f"{where} select"),
        known_codes(table.get("ignore", []), f"{where} ignore"),
        tuple(table.get("exclude", [])),
        {p: known_codes(c, f"{where} per-file-ignores") for p, c in per_file.items()},
        file.parent,
    )


def _check_list(value: list[str] | str, where: str) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise BadSettings(f"{where} is not a list of strings")
