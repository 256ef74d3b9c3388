"""Modules beside real PyTorch: each story runs in both libraries and must tell the same."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

STORIES = []


def story(function):
    STORIES.append(pytest.param(function, id=function.__name__))
    return function


def failure(action):
    """The kind and the text of what an action raises."""
    try:
        action()
    except Exception as error:
        # both libraries' own names are left out: only the words count
        return type(error).__name__, str(error).split("\n\n")[0].replace("retrograd.nn.", "nn.")
    return "no error"


def warned(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [(w.category.__name__, str(w.message)) for w in caught]


def told(value):
    """Values in a form that both libraries share."""
    if isinstance(value, (torch.Tensor, retrograd.Tensor)):
        return (type(value).__name__, str(value.dtype), value.tolist(), value.requires_grad)
    if isinstance(value, dict):
        return {key: told(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(part) for part in value]
    return value


def model(t):
    t.manual_seed(1)

    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = t.nn.Linear(3, 3)
            self.register_buffer("mean", t.zeros(3))
            self.register_buffer("hidden", t.ones(2), persistent=False)
            self.register_buffer("steps", t.tensor(0))
            self.register_parameter("nothing", None)

        def forward(self, x, *, scale=1.0):
            return self.linear(x) * scale + self.mean

    shared = Block()
    return t.nn.Sequential(t.nn.Linear(3, 3), shared, t.nn.ReLU(), shared)


@story
def walking(t):
    net = model(t)
    return [
        [name for name, _ in net.named_modules()],
        [name for name, _ in net.named_modules(remove_duplicate=False)],
        [name for name, _ in net.named_children()],
        [name for name, _ in net.named_parameters(prefix="net")],
        [name for name, _ in net.named_parameters(remove_duplicate=False)],
        [name for name, _ in net.named_parameters(recurse=False)],
        [name for name, _ in net.named_buffers()],
        len(list(net.modules())),
        len(list(net.modules(remove_duplicate=False))),
        len(list(net.children())),
        repr(net),
        list(net.state_dict(prefix="a.")),
        dict(net.state_dict()._metadata),
        [name for name in dir(net[1]) if name in ("linear", "mean", "nothing", "0")],
    ]


@story
def paths(t):
    net = model(t)
    net.set_submodule("1.linear", t.nn.Linear(3, 2))
    found = [
        repr(net.get_submodule("1.linear")),
        net.get_submodule("") is net,
        net.get_parameter("0.bias") is net[0].bias,
        net.get_buffer("1.mean") is net[1].mean,
    ]
    for action in (
        lambda: net.get_submodule("7"),
        lambda: net.get_submodule("0.weight"),
        lambda: net.get_submodule("1.linear.gone"),
        lambda: net.get_parameter("1.mean"),
        lambda: net.get_parameter("0.gone"),
        lambda: net.get_buffer("0.weight"),
        lambda: net.get_buffer("0.gone"),
        lambda: net.set_submodule("", t.nn.ReLU()),
        lambda: net.set_submodule("1.gone", t.nn.ReLU(), strict=True),
        lambda: net.set_submodule("1.mean", t.nn.ReLU()),
        lambda: net.set_submodule("9.x", t.nn.ReLU()),
        lambda: net.set_submodule("1.linear", 3),
    ):
        found.append(failure(action))
    return found


@story
def refused_names_and_values(t):
    module = t.nn.Linear(2, 2)
    module.register_buffer("mean", t.zeros(2))
    module.child = t.nn.ReLU()
    leaf = t.ones(2, requires_grad=True)

    class Early(t.nn.Module):
        def __init__(self, value):
            self.value = value
            super().__init__()

    class NoForward(t.nn.Module):
        pass

    return [
        failure(action)
        for action in (
            lambda: setattr(module, "weight", t.ones(2)),
            lambda: setattr(module, "weight", 3),
            lambda: setattr(module, "mean", 3),
            lambda: setattr(module, "child", 3),
            lambda: module.register_parameter("a.b", None),
            lambda: module.register_parameter("", None),
            lambda: module.register_parameter(3, None),
            lambda: module.register_parameter("forward", None),
            lambda: module.register_parameter("new", t.ones(2)),
            lambda: module.register_parameter("new", 3),
            lambda: module.register_buffer("a.b", None),
            lambda: module.register_buffer("", None),
            lambda: module.register_buffer(3, None),
            lambda: module.register_buffer("weight", t.ones(2)),
            lambda: module.register_buffer("new", 3),
            lambda: module.add_module("a.b", t.nn.ReLU()),
            lambda: module.add_module("", t.nn.ReLU()),
            lambda: module.add_module(3, t.nn.ReLU()),
            lambda: module.add_module("weight", t.nn.ReLU()),
            lambda: module.add_module("new", 3),
            lambda: module.register_module("new", "text"),
            lambda: module.gone,
            lambda: delattr(module, "gone"),
            lambda: Early(t.nn.Parameter(t.ones(1))),
            lambda: Early(t.nn.ReLU()),
            lambda: Early(t.nn.Buffer(t.ones(1))),
            lambda: Early(3),
            lambda: NoForward()(1),
            lambda: NoForward(3),
            lambda: NoForward(size=3),
            lambda: module.train("yes"),
            lambda: module.to(t.int32),
            lambda: module.to(dtype=t.bool),
            lambda: module.cuda(),
            lambda: module.to("cuda"),
            lambda: t.nn.Parameter([1.0]),
            lambda: t.nn.Parameter(t.tensor([1])),
            lambda: module.load_state_dict(3),
            lambda: leaf.sum().backward(),
        )
    ]


@story
def attributes_change_kind(t):
    module = t.nn.Module()
    module.part = t.nn.ReLU()
    module.part = t.nn.Parameter(t.ones(1))
    first = [list(module._modules), list(module._parameters)]
    module.part = None
    module.buffer = t.nn.Buffer(t.ones(2), persistent=False)
    module.kept = t.nn.Buffer(t.ones(2))
    second = [list(module._parameters), list(module._buffers), list(module.state_dict())]
    module.buffer = t.zeros(2)
    third = [list(module.state_dict()), module.buffer, isinstance(module.kept, t.nn.Buffer)]
    module.buffer = t.nn.Buffer(t.zeros(2))
    module.kept = t.nn.ReLU()
    fourth = [list(module.state_dict()), list(module._modules), module.part]
    del module.kept, module.buffer, module.part
    return [first, second, third, fourth, list(module._buffers), list(module._modules)]


@story
def conversions(t):
    net = model(t)
    net(t.ones(2, 3)).sum().backward()
    parameter = net[0].weight
    found = []
    for convert in (
        lambda: net.double(),
        lambda: net.half(),
        lambda: net.bfloat16(),
        lambda: net.float(),
        lambda: net.to(t.float64),
        lambda: net.to("cpu", t.float32),
        lambda: net.to(dtype=t.float64, device="cpu"),
        lambda: net.to(t.ones(1)),
        lambda: net.to(),
        lambda: net.cpu(),
        lambda: net.type(t.float64),
        lambda: net.to(t.device("cpu")),
    ):
        same = convert() is net
        now = told([parameter, parameter.grad, net[1].steps])
        found.append([same, parameter is net[0].weight, now])
    net.to_empty(device="cpu")
    found.append(tuple(net[0].weight.shape))
    return found


@story
def complex_modules_warn(t):
    module = t.nn.Linear(1, 1)
    return [warned(lambda: module.to(t.complex64)), str(module.weight.dtype)]


@story
def modes_and_gradients(t):
    net = model(t)
    found = [
        [m.training for m in net.eval().modules()],
        [m.training for m in net.train().modules()],
    ]
    net(t.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    found.append([p.grad for p in net.parameters()])
    net.zero_grad()
    found.append([p.grad for p in net.parameters()])
    found.append([p.requires_grad for p in net.requires_grad_(False).parameters()])
    order = []
    net.apply(lambda m: order.append(type(m).__name__))
    return [*found, order]


@story
def loading(t):
    source, target = model(t), model(t)
    with t.no_grad():
        for parameter in source.parameters():
            parameter.mul_(2)
    found = [repr(target.load_state_dict(source.state_dict())), target.state_dict()]
    state = source.state_dict()
    del state["0.bias"]
    state["extra"] = t.ones(1)
    state["1.more.x"] = t.ones(1)
    state["3.linear.weight"] = t.ones(2, 2)
    state["1.mean"] = "text"
    found.append(failure(lambda: target.load_state_dict(state)))
    found.append(failure(lambda: target.load_state_dict(state, strict=False)))
    state = {"1.steps": t.tensor([4]), "gone": t.ones(1)}
    found.append(repr(target.load_state_dict(state, strict=False)))
    found.append(target[1].steps)
    return found


@story
def loading_by_assignment(t):
    source, target = model(t).double(), model(t)
    source[0].requires_grad_(False)
    state = source.state_dict(keep_vars=True)
    target.load_state_dict(state, assign=True)
    return [
        target[0].weight is source[0].weight,
        target[0].weight,
        target[1].mean is source[1].mean,
        [p.requires_grad for p in target.parameters()],
    ]


@story
def state_hooks(t):
    net = model(t)
    log = []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))

    def after(module, state, prefix, metadata):
        log.append(("post", prefix, metadata))
        state["added"] = 1

    net[1].register_state_dict_post_hook(after)
    log.append(failure(lambda: net._register_state_dict_hook(after)))
    handle = net._register_state_dict_hook(lambda m, state, prefix, meta: {"only": len(state)})
    log.append(net.state_dict(prefix="p."))
    handle.remove()
    state = net.state_dict()

    def before_load(module, state, prefix, metadata, strict, missing, unexpected, errors):
        log.append((type(module).__name__, prefix, metadata, strict, missing, unexpected, errors))
        state.pop(prefix + "added", None)
        state.pop("added", None)

    net.register_load_state_dict_pre_hook(before_load)
    net.register_load_state_dict_post_hook(lambda m, keys: log.append(tuple(keys)))
    log.append(repr(net.load_state_dict(state)))
    net.register_load_state_dict_post_hook(lambda m, keys: keys)
    log.append(failure(lambda: net.load_state_dict(state)))
    net.register_state_dict_post_hook(lambda *args: 3)
    log.append(failure(net.state_dict))
    return log


@story
def extra_state(t):
    class Counting(t.nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"] + 1

    net = t.nn.Sequential(Counting())
    state = net.state_dict()
    net.load_state_dict(state)
    plain = t.nn.Sequential(t.nn.ReLU())
    return [
        dict(state),
        net[0].count,
        failure(lambda: net.load_state_dict({})),
        failure(lambda: plain.load_state_dict(state)),
    ]


@story
def positional_state_dict(t):
    module = t.nn.Linear(1, 1)
    found = {}
    return [warned(lambda: module.state_dict(found, "p.", True)), list(found)]


@story
def forward_hooks(t):
    net = model(t)[1]
    log = []
    net.register_forward_pre_hook(lambda m, args: log.append(("pre", len(args))))
    net.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"scale": 3.0}), with_kwargs=True, prepend=True
    )
    net.register_forward_pre_hook(lambda m, args: args[0] + 1)
    net.register_forward_hook(lambda m, args, out: log.append(("post", args, out)))
    net.register_forward_hook(
        lambda m, args, kwargs, out: log.append(("first", dict(kwargs))),
        with_kwargs=True,
        prepend=True,
    )
    handle = net.register_forward_hook(lambda m, args, out: out * 2)
    log.append(net(t.ones(1, 3)))
    handle.remove()
    log.append(net(t.ones(1, 3), scale=5.0))
    wrong = net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    log.append(failure(lambda: net(t.ones(1, 3))))
    wrong.remove()
    log.append([len(net._forward_pre_hooks), len(net._forward_pre_hooks_with_kwargs)])
    return log


@story
def hooks_called_always(t):
    class Failing(t.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    module = Failing()
    log = []
    module.register_forward_hook(lambda m, args, out: log.append(("no", out)))
    module.register_forward_hook(lambda m, args, out: log.append(("yes", out)), always_call=True)
    module.register_forward_hook(
        lambda m, args, kwargs, out: log.append(("kwargs", out)), always_call=True, with_kwargs=True
    )

    def raising(m, args, out):
        raise RuntimeError("also no")

    handle = module.register_forward_hook(raising, always_call=True)
    log.append(warned(lambda: log.append(failure(lambda: module(1)))))
    handle.remove()
    log.append(failure(lambda: module(1)))
    return log


def place_of(t, name):
    place = t.nn.module if t is retrograd else t.nn.modules.module
    return getattr(place, name)


@story
def global_hooks(t):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
    with t.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.5)
    log = []

    def note(kind):
        return lambda m, *rest: log.append((kind, type(m).__name__, told(rest)))

    handles = [
        place_of(t, "register_module_forward_pre_hook")(note("pre")),
        place_of(t, "register_module_forward_hook")(note("post")),
        place_of(t, "register_module_forward_hook")(note("kwargs"), with_kwargs=True),
        place_of(t, "register_module_full_backward_pre_hook")(note("back pre")),
        place_of(t, "register_module_full_backward_hook")(note("back")),
    ]
    net(t.ones(1, 2, requires_grad=True)).sum().backward()
    log.append(failure(lambda: place_of(t, "register_module_backward_hook")(note("older"))))
    for handle in handles:
        handle.remove()
    net(t.ones(1, 2))
    return log


@story
def registration_hooks(t):
    log = []
    handles = [
        place_of(t, f"register_module_{kind}_registration_hook")(
            lambda m, name, value: log.append((name, type(value).__name__))
        )
        for kind in ("buffer", "module", "parameter")
    ]
    net = t.nn.Sequential(t.nn.Linear(1, 1, bias=False))
    net.register_buffer("mean", t.zeros(1))
    net.child = t.nn.ReLU()
    net.child = None
    for handle in handles:
        handle.remove()
    net.other = t.nn.ReLU()
    return log


@story
def full_backward_hooks(t):
    class Two(t.nn.Module):
        def forward(self, a, number, b):
            return a * b, number, a.detach()

    module = Two()
    log = []
    module.register_full_backward_hook(lambda m, into, out: log.append(("hook", into, out)))
    module.register_full_backward_hook(
        lambda m, into, out: (into[0] * 2, None, into[2]), prepend=True
    )
    module.register_full_backward_pre_hook(lambda m, out: log.append(("pre", out)))
    module.register_full_backward_pre_hook(lambda m, out: (out[0] * 10, None, None), prepend=True)
    a, b = t.ones(2, requires_grad=True), t.full((2,), 3.0)
    result = module(a, 5, b)
    log.append([result[0].grad_fn.name(), result[1], result[2]])
    result[0].sum().backward(retain_graph=True)
    log.append(a.grad)
    result[0].sum().backward()
    log.append(a.grad)
    log.append(failure(lambda: module.register_backward_hook(print)))
    log.append(failure(lambda: result[0].mul_(2)))
    with t.no_grad():
        log.append(module(a, 5, b)[0])
    return log


@story
def full_backward_hooks_without_input_gradients(t):
    module = t.nn.Linear(2, 1)
    with t.no_grad():
        module.weight.fill_(1.0)
    log = []
    module.register_full_backward_hook(lambda m, into, out: log.append((into, out)))
    log.append(warned(lambda: module(t.ones(1, 2)).sum().backward()))
    log.append(module.weight.grad)
    module.register_full_backward_hook(lambda m, into, out: (t.ones(1),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.append(failure(lambda: module(t.ones(1, 2)).sum().backward()))
    return log


@story
def wrong_backward_hooks(t):
    module = t.nn.ReLU()
    x = t.ones(2, requires_grad=True)
    with module.register_full_backward_hook(lambda m, into, out: (into[0], into[0])):
        first = failure(lambda: module(x).sum().backward())
    with module.register_full_backward_pre_hook(lambda m, out: (out[0], out[0])):
        second = failure(lambda: module(x).sum().backward())
    return [first, second]


@story
def backward_hooks_and_other_results(t):
    class Listing(t.nn.Module):
        def forward(self, x):
            return [x * 2]

    module = Listing()
    module.register_full_backward_hook(lambda m, into, out: None)
    found = []
    text = warned(lambda: found.append(module(t.ones(1, requires_grad=True))))
    return [[kind for kind, _ in text], text[0][1][:60], found[0][0].grad_fn.name()]


@story
def older_backward_hooks(t):
    log = []
    module = t.nn.ReLU()
    module.register_backward_hook(lambda m, into, out: log.append((type(m).__name__, into, out)))
    x = (t.ones(2, requires_grad=True) * 2).clone()
    log.append(warned(lambda: module(x).sum().backward()))
    log.append(failure(lambda: module.register_full_backward_hook(print)))
    linear = t.nn.Sequential(t.nn.ReLU(), t.nn.ReLU())
    linear.register_backward_hook(lambda m, into, out: None)
    log.append(warned(lambda: linear(t.ones(2, requires_grad=True) * 2)))
    return log


@story
def copies_and_pickles(t):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
    net.tied = net[0]
    net[0].weight.grad = t.ones(2, 2)
    with t.no_grad():
        for parameter in net.parameters():
            parameter.fill_(2.0)
    net[0].weight.note = "kept"
    copied, pickled = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    file = io.BytesIO()
    t.save(net, file)
    file.seek(0)
    saved = t.load(file, weights_only=False)
    file = io.BytesIO()
    t.save(net.state_dict(), file)
    file.seek(0)
    state = t.load(file)
    found = []
    for made in (copied, pickled, saved):
        found.append([repr(made), made.state_dict(), made.tied is made[0], made[0].weight.grad])
    for made in (copied, pickled):
        found.append(sorted(made[0].weight.__dict__))
    return [*found, state, dict(state._metadata)]


@story
def cooperative_construction(t):
    class Other:
        def __init__(self, size):
            self.size = size

    class Both(t.nn.Module, Other):
        call_super_init = True

        def __init__(self, size):
            super().__init__(size)

    return Both(3).size


@story
def parameters_of_other_classes(t):
    class Special(t.Tensor):
        pass

    made = t.nn.Parameter(t.ones(2).as_subclass(Special))
    module = t.nn.Module()
    module.special = made
    return [
        type(made).__name__,
        isinstance(made, t.nn.Parameter),
        isinstance(t.ones(1), t.nn.Parameter),
        list(module._parameters),
        tuple(t.nn.Parameter().shape),
        t.nn.Parameter(t.ones(1), requires_grad=False),
        t.nn.Buffer(t.ones(1)),
    ]


@story
def text_of_nested_modules(t):
    class Talking(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = t.nn.Sequential(t.nn.ReLU())
            self.none = None
            self.register_module("empty", None)

        def extra_repr(self):
            return "first\n\nsecond"

    return repr(t.nn.Sequential(Talking(), t.nn.Sequential()))


@pytest.mark.parametrize("tell", STORIES)
def test_same_story(tell):
    assert told(tell(retrograd)) == told(tell(torch))
