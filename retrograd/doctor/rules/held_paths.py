"""Parts of the path by which a program reaches a value: `agent.tracker._latent[2]`."""

from __future__ import annotations


def base_name(path: str) -> str:
    """The variable that a path begins with: hidden of hidden[0]; self of self.memory."""
    for position, letter in enumerate(path):
        if letter in ".[ ":
            return path[:position]
    return path


def last_attribute(path: str) -> str | None:
    """The last attribute of a path: _latent of agent.tracker._latent[2]; None if there is none."""
    plain = path.split("[")[0].split(" ")[0]
    return plain.rpartition(".")[2] if "." in plain else None


def is_container_item(path: str) -> bool:
    """Whether the path ends inside a list, tuple or dict."""
    return path.endswith("]")


def inner_variable(path: str) -> str | None:
    """The variable of a closure or of a suspended generator: state of "running (its state)"."""
    _, found, name = path.partition("(its ")
    return name.split(")")[0] if found else None
