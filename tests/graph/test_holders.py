"""What keeps a graph alive, on retrograd and on PyTorch: known situations, known paths."""

import gc
import warnings
import weakref
from typing import Any

import pytest

import retrograd
from retrograd import graph
from retrograd.watching import keepers
from retrograd.watching.heap import tracked
from retrograd.watching.places import OWN_FOLDERS
from retrograd.watching.referrers import Effort
from tests.graph import situations

KEPT: dict[str, Any] = {}


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing is left behind; and the modules of a thousand other tests are not searched."""
    own = ("__main__", __name__, situations.__name__)
    monkeypatch.setattr(keepers, "is_own", lambda module: module in own)
    yield
    KEPT.clear()
    situations.clear()


def line_of(function: Any, text: str) -> int:
    """The line of the situation's source that holds a text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


# situation: path (with {line} of the source that holds the given text), kind, through
EXPECTED: dict[str, tuple[str, str, str, str]] = {
    "in_list": ("situations.LOSSES[0]", "", "variable", ""),
    "hidden": ("situations.KEEP['model'].hidden", "", "variable", ""),
    "closure": ("closure of step: h", "", "closure", "situations.KEEP['step']"),
    "in_dict": ("situations.CACHE[(1, 'a')]['out'][0]", "", "variable", ""),
    "generator": (
        *("frame of batches: loss (line {line})", "yield loss.grad_fn"),
        *("generator", "situations.KEEP['batches']"),
    ),
    "exception": (
        *("frame of bad: loss (line {line})", "raise ValueError"),
        *("exception", "situations.KEEP['error'].__traceback__"),
    ),
    "optimizer": (
        "situations.KEEP['sgd'].state"
        "[situations.KEEP['sgd'].param_groups[0]['params'][0]]['average']",
        *("", "variable", ""),
    ),
    "tensor_hook": (
        *("hook on situations.KEEP['weight'] (situations.py:{line}): h", "register_hook"),
        *("hook", ""),
    ),
    "module_hook": (
        "hook on situations.KEEP['model'] (situations.py:{line}): features[0]",
        *("register_forward_hook", "hook", ""),
    ),
    "grad": (".grad of situations.KEEP['weight'] (made with create_graph)", "", "grad", ""),
    "saved": ("situations.KEEP['product']", "", "variable", ""),
    "ctx": ("ctx of KeepsBackward: others[0]", "", "ctx", "situations.KEEP['kept']"),
    "node": ("situations.KEEP['fn']", "", "variable", ""),
    "node_hook": (
        *("hook on MulBackward0 (situations.py:{line}): h", "register_hook"),
        *("hook", "situations.KEEP['y']"),
    ),
    "lru": ("cache of situations.cached", "", "cache", ""),
    "in_deque": ("situations.KEEP['recent'][0]", "", "variable", ""),
    "partial": ("situations.KEEP['call'].args[0]", "", "variable", ""),
    "accumulate_hook": (
        *("hook on situations.KEEP['weight'] (situations.py:{line}): h", "register_post"),
        *("hook", ""),
    ),
}
ON_TORCH = {
    "node_hook": (
        "hook on a node, which PyTorch does not show (situations.py:{line}): h",
        *("register_hook", "hook", ""),
    )
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_each_situation_is_named(torch: Any, name: str) -> None:
    situation = getattr(situations, name)
    found = graph.holders(situation(torch))
    expected = EXPECTED[name] if torch is retrograd else ON_TORCH.get(name, EXPECTED[name])
    path, text, kind, through = expected
    path = path.format(line=line_of(situation, text)) if text else path
    assert [(holder.path, holder.kind, holder.through) for holder in found] == [
        (path, kind, through)
    ], str(found)


def test_a_variable_of_a_function(torch: Any) -> None:
    def train() -> Any:
        loss = situations.fresh(torch)
        return graph.holders(loss)

    found = train()
    line = line_of(train, "graph.holders")
    assert [holder.path for holder in found] == [f"frame of train: loss (line {line})"]
    assert str(found) == found[0].path
    assert found[0].place is not None and found[0].place.line == line
    assert found.to_json()[0]["place"] == {"file": __file__, "line": line}


def test_an_attribute_and_a_list_item(torch: Any) -> None:
    class Trainer:
        def __init__(self) -> None:
            self.hidden = None
            self.history: list[Any] = []

        def step(self) -> Any:
            self.hidden = situations.fresh(torch)
            self.history.append(self.hidden)
            return graph.holders(self.hidden)

    trainer = Trainer()
    paths = {holder.path for holder in trainer.step()}
    assert {"self.hidden in Trainer.step", "self.history[0] in Trainer.step"} == paths


def test_a_later_tensor_holds_the_graph_of_an_earlier_one(torch: Any) -> None:
    first = situations.fresh(torch)
    node = weakref.ref(first)
    KEPT["later"] = [first * 2 + number for number in range(3)]
    found = graph.holders(first)
    by_path = {holder.path: holder for holder in found}
    assert by_path["KEPT['later'][0]"].relation == "computed from it"
    assert by_path["KEPT['later'][0]"].count == 3
    assert "and 2 more like it" in str(by_path["KEPT['later'][0]"])
    assert any(path.startswith("frame of test_a_later") for path in by_path)
    KEPT.clear()
    del first, found, by_path
    gc.collect()
    assert node() is None  # nothing of the search keeps it


def test_the_frame_keeps_no_copy_of_its_variables(torch: Any) -> None:
    loss = situations.fresh(torch)
    alive = weakref.ref(loss)
    graph.holders(loss)
    del loss
    gc.collect()
    assert alive() is None


def test_a_saved_tensor(torch: Any) -> None:
    def build() -> Any:
        h = situations.fresh(torch)
        KEPT["z"] = h * torch.ones(1, requires_grad=True)
        return weakref.ref(h)

    alive = build()
    (found,) = [holder for holder in graph.holders(alive()) if holder.kind == "saved"]
    where = f" (test_holders.py:{line_of(build, 'KEPT')})" if torch is retrograd else ""
    assert found.path == f"saved by MulBackward0{where}" and found.through == "KEPT['z']"


def test_the_base_of_a_view_made_without_gradients(torch: Any) -> None:
    def build() -> Any:
        h = torch.ones(3, requires_grad=True).exp()
        with torch.no_grad():
            KEPT["v"] = h[1:]
        return h.grad_fn

    (found,) = graph.holders(build())
    assert (found.path, found.kind) == ("_base of view KEPT['v']", "base")


def test_what_only_the_search_backward_finds(torch: Any) -> None:
    class Hidden:
        """Its parts are not told to a search forward: it pretends to be of an installed package."""

        __module__ = "torch.somewhere"
        __slots__ = ("loss",)

    holder = Hidden()
    holder.loss = situations.fresh(torch)
    KEPT["hidden"] = holder
    node = holder.loss.grad_fn
    del holder
    paths = [each.path for each in graph.holders(node)]
    assert any(path.startswith("KEPT['hidden']") for path in paths), paths


def test_frozen_objects_are_found(torch: Any) -> None:
    KEPT["loss"] = situations.fresh(torch)
    gc.freeze()
    try:
        assert "KEPT['loss']" in [holder.path for holder in graph.holders(KEPT["loss"])]
    finally:
        gc.unfreeze()


def test_a_leaf_is_held_by_the_graphs_that_used_it(torch: Any) -> None:
    KEPT["weight"] = torch.ones(3, requires_grad=True)
    KEPT["loss"] = (KEPT["weight"] * 2).sum()
    by_path = {holder.path: holder.relation for holder in graph.holders(KEPT["weight"])}
    assert by_path == {"KEPT['weight']": "the tensor itself", "KEPT['loss']": "computed from it"}


def test_a_search_that_was_broken_off_says_so(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    KEPT["loss"] = situations.fresh(torch)
    node = KEPT["loss"].grad_fn
    assert "there may be more" not in str(graph.holders(node))
    KEPT["many"] = [[[number]] for number in range(2000)]  # looked at after `loss`
    monkeypatch.setattr(keepers, "MOST_AFTER", 100)
    found = graph.holders(KEPT["loss"])
    assert "KEPT['loss']" in [holder.path for holder in found]
    assert found.unseen.startswith("there may be more") and found.unseen in str(found)


def test_the_search_backward_ends(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    KEPT["loss"] = situations.fresh(torch)
    monkeypatch.setattr(keepers, "MOST_OBJECTS", 1)
    monkeypatch.setattr(keepers, "Effort", lambda: Effort(work=0))
    assert "the search backward was ended" in str(graph.holders(KEPT["loss"]))
    monkeypatch.setattr(keepers, "Effort", Effort)
    assert any("loss" in holder.path for holder in graph.holders(KEPT["loss"]))


def test_classes_that_cannot_be_hashed() -> None:
    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(cls, other: object) -> bool:
            raise AssertionError("nobody compares classes")

    class Strange(metaclass=Meta):
        pass

    kept = Strange()
    assert any(thing is kept for thing in tracked(lambda kind: kind is Strange))


def test_only_tensors_and_nodes_have_holders() -> None:
    with pytest.raises(TypeError, match="expected a tensor or a grad_fn"):
        graph.holders(3)  # type: ignore[arg-type]


def test_no_frame_of_the_tool_is_named(torch: Any) -> None:
    KEPT["loss"] = situations.fresh(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = graph.holders(KEPT["loss"])
    for holder in found:
        assert holder.place is None or not holder.place.file.startswith(OWN_FOLDERS)


@pytest.mark.torch
def test_nodes_of_the_other_library_are_left_alone() -> None:
    import torch as theirs

    import retrograd as ours

    alive = []
    for torch in (theirs, ours):
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        alive += [y, y.grad_fn, x.to(torch.float64)]
        assert any("alive[" in str(holder) for holder in graph.holders(y))
        assert any("alive[" in str(holder) for holder in graph.holders(y.grad_fn))
