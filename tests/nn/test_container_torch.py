"""Containers beside real PyTorch: each story runs in both libraries and must tell the same."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def failure(action):
    """The kind and the text of what an action raises."""
    try:
        action()
    except Exception as error:
        text = str(error).replace("retrograd.nn.container", "torch.nn.modules.container")
        return type(error).__name__, text.replace("retrograd.nn.module", "torch.nn.modules.module")
    return "no error"


def named(t, *names):
    return t.nn.Sequential(OrderedDict((name, t.nn.Linear(1, 1)) for name in names))


def sequential(t):
    relu, tanh, linear = t.nn.ReLU(), t.nn.Tanh(), t.nn.Linear(2, 2)
    net = t.nn.Sequential(relu, tanh)
    found = [net[0] is relu, net[-1] is tanh, len(net), repr(net[:1]), [*map(repr, net)]]
    net[1] = linear
    net.append(tanh).insert(0, t.nn.Sigmoid()).insert(-1, t.nn.ELU())
    net.extend([relu, relu])
    found.append(repr(net))
    found.append(repr(net.pop(1)))
    del net[0]
    del net[1:3]
    found.append([repr(net), list(net._modules)])
    both = net + t.nn.Sequential(relu)
    both += t.nn.Sequential(tanh)
    found += [repr(both), repr(net * 2), repr(2 * net)]
    net *= 3
    found += [repr(net), repr(named(t, "a", "b", "c")[1:])]
    other = named(t, "a", "b")
    other[0] = relu
    found.append(repr(other))
    del other[0]
    found.append([repr(other), [name for name in dir(other) if name.isdigit()]])
    for action in (
        lambda: net[50],
        lambda: net[-50],
        lambda: net["a"],
        lambda: net.insert(50, relu),
        lambda: net.insert(0, 3),
        lambda: net + 3,
        lambda: net.__iadd__([relu]),
        lambda: net * 0,
        lambda: net * 1.5,
        lambda: net.__imul__("a"),
        lambda: t.nn.Sequential(3),
        lambda: t.nn.Sequential(relu, None)(t.ones(1)),
        lambda: net.append(None),
    ):
        found.append(failure(action))
    return found


def module_list(t):
    relu, tanh = t.nn.ReLU(), t.nn.Tanh()
    parts = t.nn.ModuleList([relu, tanh])
    found = [parts[0] is relu, parts[-1] is tanh, len(parts), relu in parts, repr(parts[1:])]
    parts += [t.nn.Linear(2, 2) for _ in range(3)]
    parts.append(t.nn.Sequential(relu)).append(t.nn.Sequential(relu))
    parts.insert(1, t.nn.Sigmoid())
    found.append(repr(parts))
    parts[0] = t.nn.ELU()
    del parts[1]
    del parts[2:4]
    found += [repr(parts), list(parts._modules), repr(parts.pop(-1)), repr(parts.pop(slice(0, 2)))]
    found += [
        repr(parts + t.nn.ModuleList([tanh])),
        repr(t.nn.ModuleList()),
        list(parts.state_dict()),
    ]
    found.append(repr(t.nn.Sequential(t.nn.ModuleList([relu, relu]))))
    for action in (
        lambda: parts[50],
        lambda: parts.extend(3),
        lambda: t.nn.ModuleList([3]),
        lambda: parts(t.ones(1)),
        lambda: parts["a"],
    ):
        found.append(failure(action))
    return found


def module_dict(t):
    relu, tanh = t.nn.ReLU(), t.nn.Tanh()
    parts = t.nn.ModuleDict({"b": relu, "a": tanh})
    found = [parts["b"] is relu, len(parts), "a" in parts, list(parts), list(parts.keys())]
    parts["c"] = t.nn.Linear(1, 1)
    parts.update([("d", relu), ("b", tanh)])
    parts.update(t.nn.ModuleDict({"e": relu}))
    found += [repr(parts), [name for name, _ in parts.items()], [*map(repr, parts.values())]]
    found.append([repr(parts.pop("a")), list(parts)])
    del parts["b"]
    found.append([list(parts), list(parts.state_dict())])
    for action in (
        lambda: parts["gone"],
        lambda: parts.pop("gone"),
        lambda: parts.update(3),
        lambda: parts.update([3]),
        lambda: parts.update([(1, 2, 3)]),
        lambda: parts.__setitem__("x.y", relu),
        lambda: parts.__setitem__("x", 3),
        lambda: parts.__setitem__("keys", relu),
        lambda: parts.__setitem__(3, relu),
    ):
        found.append(failure(action))
    parts.clear()
    return [*found, repr(parts)]


def parameter_list(t):
    parts = t.nn.ParameterList([t.ones(2, 3), t.nn.Parameter(t.zeros(1)), "text"])
    parts.append(t.tensor(3.0))
    parts += [t.ones(1, dtype=t.float64)]
    parts[1] = t.ones(4)
    found = [repr(parts), len(parts), [name for name, _ in parts.named_parameters()]]
    found += [repr(parts[1:3]), parts[-1].tolist(), type(parts[0]).__name__, list(parts)[2]]
    found.append([name for name in dir(parts) if name.isdigit()])
    for action in (
        lambda: parts[50],
        lambda: parts.extend(t.ones(2)),
        lambda: parts.extend(3),
        lambda: parts(1),
        lambda: t.nn.ParameterList([t.tensor([1])]),
    ):
        found.append(failure(action))
    return [*found, repr(t.nn.ParameterList()), list(parts.state_dict())]


def parameter_dict(t):
    parts = t.nn.ParameterDict({"b": t.ones(2), "a": t.zeros(1, 2), "c": "text"})
    found = [repr(parts), list(parts), list(reversed(parts)), len(parts), "a" in parts]
    parts.update(OrderedDict([("z", t.ones(1)), ("y", t.ones(1))]))
    parts.update([("pair", t.ones(1))])
    found += [list(parts.keys()), type(parts["z"]).__name__, parts.get("gone"), parts.get("c")]
    found.append(parts.setdefault("new", t.ones(2)).tolist())
    found.append([parts.pop("new").tolist(), parts.popitem()[0], list(parts)])
    joined = parts | t.nn.ParameterDict({"joined": t.ones(1)})
    joined |= t.nn.ParameterDict({"more": t.ones(1)})
    found += [list(joined), list(joined.copy()), [type(value).__name__ for value in parts.values()]]
    found.append(list(parts.fromkeys(["k", "l"], t.ones(1))))
    found.append([name for name, _ in parts.named_parameters()])
    for action in (
        lambda: parts["gone"],
        lambda: parts[3],
        lambda: parts.pop("gone"),
        lambda: parts.update(3),
        lambda: parts.update([3]),
        lambda: parts.update([(1, 2, 3)]),
        lambda: parts(1),
        lambda: t.nn.ParameterDict().popitem(),
    ):
        found.append(failure(action))
    parts.clear()
    return [*found, len(parts), repr(parts)]


STORIES = [sequential, module_list, module_dict, parameter_list, parameter_dict]


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_same_story(tell):
    assert tell(retrograd) == tell(torch)
