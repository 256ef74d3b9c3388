"""What a row of the table of names says: the name is another's, a setting, an answer or a refusal.

A row makes its value when a program asks for the name, so the table costs nothing until then.

    module(
        "backends.mps",
        "Metal of Apple's computers: absent.",
        answers(False, is_available="Whether a Metal device can be used: no."),
        refusals("there is no Metal device", functions="get_core_count get_name"),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import GenericAlias, ModuleType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, get_origin

from retrograd.marks import refuses, unsupported, unsupported_class
from retrograd.notices import explained


class Row:
    """One name of a module: what it is, and how it is made."""

    kept = True  # whether the module keeps what was made

    def make(self, module: ModuleType, name: str) -> object:
        """The value of a name in a module."""
        raise NotImplementedError


class Alias(Row):
    """Something that is defined elsewhere; `kept` False asks again each time."""

    def __init__(self, place: str, name: str, kept: bool = True) -> None:
        self.place = place
        self.name = name
        self.kept = kept

    def make(self, module: ModuleType, name: str) -> object:
        return getattr(import_module(self.place), self.name)


def _empty(value: object) -> object:
    """What a type such as ``int | None`` or ``list[str]`` stands for in a row: None, or a new one.

    So stubs know more of it than None or an empty list tells.
    """
    if isinstance(value, UnionType):
        return None
    return get_origin(value)() if isinstance(value, GenericAlias) else value


class OnDevice(Alias):
    """What is defined elsewhere where there is a CUDA device, and another row where there is none.

    It is asked anew each time: a device is looked for when a program first needs one.
    """

    def __init__(self, place: str, name: str, otherwise: Row) -> None:
        super().__init__(place, name, kept=False)
        self.otherwise = otherwise
        self.made: object = None

    def make(self, module: ModuleType, name: str) -> object:
        from retrograd.backend.cuda import cuda_backend

        if cuda_backend() is not None:
            return super().make(module, name)
        if self.made is None:
            self.made = self.otherwise.make(module, name)
        return self.made


class Setting(Row):
    """A value that programs read, and may set: nothing else looks at it."""

    def __init__(self, value: object) -> None:
        self.value = value

    def make(self, module: ModuleType, name: str) -> object:
        return _empty(self.value)


class Made(Row):
    """Something that is made for a module, such as a function that changes its settings."""

    def __init__(
        self, maker: Callable[[ModuleType], object], kept: bool = True, inside: object = None
    ) -> None:
        self.maker = maker
        self.kept = kept
        self.inside = inside  # of `switches`

    def make(self, module: ModuleType, name: str) -> object:
        return self.maker(module)


class Answer(Row):
    """A function that always gives the same answer."""

    def __init__(self, value: object, doc: str, differs: str | None = None) -> None:
        self.value = value
        self.doc = doc
        self.differs = differs

    def make(self, module: ModuleType, name: str) -> object:
        value = self.value

        def answer(*args: object, **options: object) -> object:
            return _empty(value)

        if self.differs is not None:
            vars(answer)["__differs__"] = self.differs
        return _placed(answer, module, name, self.doc)


class Refusal(Row):
    """A function or class that says what to do instead, or raises PyTorch's own error."""

    def __init__(
        self, why: str, is_class: bool, error: tuple[type[Exception], str] | None = None
    ) -> None:
        self.why = why
        self.is_class = is_class
        self.error = error

    def make(self, module: ModuleType, name: str) -> object:
        path = f"torch{module.__name__.removeprefix('retrograd')}.{name}"
        if self.error is None:
            made = (unsupported_class if self.is_class else unsupported)(path, self.why)
            return _placed(made, module, name, made.__doc__)
        kind, text = self.error[0], self.error[1].format(name=name)

        def refuse(*args: object, **options: object) -> NoReturn:
            raise explained(kind(text), code="RG302")

        made = type(name, (), {"__new__": refuse}) if self.is_class else refuse
        return refuses(self.why)(_placed(made, module, name, f"Not supported: {self.why}."))


def _placed(made: Any, module: ModuleType, name: str, doc: str | None) -> object:
    """A function or class that knows its place: pickles find it there again."""
    made.__module__, made.__qualname__, made.__name__ = module.__name__, name, name
    made.__doc__ = doc
    return made


# ------------------------------------------------------------------------------ for the tables

Rows = dict[str, Row]


class Described(NamedTuple):
    """A module of the table: its documentation, and its rows by name."""

    doc: str
    rows: Rows


TABLE: dict[str, Described] = {}


def module(name: str, doc: str, *parts: Rows) -> None:
    """A module of the table, by its name below ``torch``."""
    rows: Rows = {}
    for part in parts:
        rows |= part
    TABLE[name] = Described(doc, rows)


def more(name: str, *parts: Rows) -> None:
    """More names of a module that has a file, which asks for them with `from_table`."""
    module(name, "", *parts)


def aliases(place: str, names: str, kept: bool = True) -> Rows:
    """Names from a module; ``public=own`` where it has another name there."""
    pairs = (entry.partition("=") for entry in names.split())
    return {public: Alias(place, own or public, kept) for public, _, own in pairs}


def on_device(module: str, place: str, names: str) -> None:
    """Names of a module of the table that are others where there is a CUDA device.

    ``public=own`` where it has another name there.
    """
    rows = TABLE[module].rows
    for public, alias in aliases(place, names).items():
        assert isinstance(alias, Alias)
        rows[public] = OnDevice(place, alias.name, rows[public])


def same(other: str) -> Rows:
    """The public names of another module of the table."""
    return aliases(f"retrograd.{other}", " ".join(n for n in TABLE[other].rows if n[0] != "_"))


def settings(**values: object) -> Rows:
    """Values that can be read and set."""
    return {name: Setting(value) for name, value in values.items()}


def answers(value: object, differs: str | None = None, /, **docs: str) -> Rows:
    """Functions with one answer: names with their documentation."""
    return {name: Answer(value, doc, differs) for name, doc in docs.items()}


def refusals(
    why: str,
    functions: str = "",
    classes: str = "",
    error: tuple[type[Exception], str] | None = None,
) -> Rows:
    """Functions and classes that refuse; instead `error` is raised: its type and its text, in
    which ``{name}`` is filled in.
    """
    rows: Rows = {name: Refusal(why, False, error) for name in functions.split()}
    return rows | {name: Refusal(why, True, error) for name in classes.split()}


def switches(**inside: object) -> Rows:
    """``set_flags`` and ``flags``: settings that are switched together.

    inside  the names of the settings, with what they are in ``flags()``
    """
    return {
        "set_flags": Made(lambda module: _switches(module, inside)[0], inside=inside),
        "flags": Made(lambda module: _switches(module, inside)[1], inside=inside),
    }


def _switches(module: ModuleType, inside: dict[str, object]) -> tuple[object, object]:
    names = tuple(inside)

    def set_flags(*values: object, **named: object) -> tuple[object, ...]:
        """Change settings, None leaving one as it is; returns all as they were."""
        old = tuple(getattr(module, name) for name in names)
        given = {**dict(zip(names, values, strict=False)), **named}
        for name, value in given.items():
            if name.lstrip("_") not in names:
                raise TypeError(f"set_flags() got an unexpected keyword argument '{name}'")
            if value is not None:
                setattr(module, name.lstrip("_"), value)
        return old

    @contextmanager
    def flags(*values: object, **named: object) -> Iterator[None]:
        """The context in which settings are changed."""
        old = set_flags(**{**inside, **dict(zip(names, values, strict=False)), **named})
        try:
            yield
        finally:
            vars(module).update(zip(names, old, strict=True))

    return set_flags, flags


def patch() -> Rows:
    """``patch``: the context in which settings are changed, as modules of the compiler have it."""
    return {"patch": Made(_patch)}


def _patch(module: ModuleType) -> object:
    @contextmanager
    def patch(
        changes: str | dict[str, object] | None = None, value: object = None, /, **named: object
    ) -> Iterator[None]:
        """The context in which settings are changed: ``patch("name", 1)`` or ``patch(name=1)``."""
        if isinstance(changes, str):
            named = {changes: value, **named}
        elif changes is not None:
            named = {**changes, **named}
        before = {name: getattr(module, name) for name in named if hasattr(module, name)}
        vars(module).update(named)
        try:
            yield
        finally:
            for name in named:
                del vars(module)[name]
            vars(module).update(before)

    return patch


class Settings:
    """Settings under one name; others cannot be asked for or set.

    >>> matmul = Settings(allow_tf32=False)
    >>> matmul.allow_tf32 = True
    >>> matmul.speed = 3
    Traceback (most recent call last):
    AttributeError: Unknown attribute speed
    """

    def __init__(self, **settings: object) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value


class Group:
    """Settings under one name, as ``config.triton``: each is None until it is set."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    if TYPE_CHECKING:  # any name can be set

        def __setattr__(self, name: str, value: object) -> None: ...
