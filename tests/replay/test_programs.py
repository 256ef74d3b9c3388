"""Programs as people write them, replayed: each call does what the plain one does."""

import pytest

import retrograd as torch
from retrograd.replay import Replay
from tests.replay.programs import PROGRAMS, Output
from tests.replay.test_reading import Writer, changed, same

# A distribution looks at its parameters.
ORDINARY = {"distributions"}


def detached(value):
    """The same without history, so that no graph leaves the step."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list):
        return [detached(part) for part in value]
    if isinstance(value, dict):
        return {key: detached(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(detached(part) for part in value))
    if isinstance(value, tuple):
        return tuple(map(detached, value))
    if isinstance(value, Output):
        return Output(detached(value.loss), detached(value.parts), name=value.name)
    return value


def moved(args, number):
    """Arguments of the same kind with other elements."""
    return tuple(a + 0.1 * number if isinstance(a, torch.Tensor) else a for a in args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_of_a_program_does_what_the_plain_one_does(name):
    step, args, leaves = PROGRAMS[name]()
    plain, plain_args, plain_leaves = PROGRAMS[name]()
    replayed = Replay(lambda *args: detached(step(*args)))
    for number in range(6):
        torch.manual_seed(number)
        found = replayed(*moved(args, number))
        torch.manual_seed(number)
        near(found, detached(plain(*moved(plain_args, number))))
        near(changed(leaves), changed(plain_leaves))
    assert (replayed.replayed > 0) == (name not in ORDINARY), replayed.explain()


def near(left, right):
    """`same` of everything but elements, which may differ by roundings."""
    same(left, right, 1e-5)


@pytest.mark.parametrize("seed", range(1000, 1040))
def test_each_call_of_a_random_program_does_what_the_plain_one_does(seed, tmp_path):
    lines = ["loss = (x * w).sum()", "loss.backward()", "return x.detach().clone(), a, b, items"]
    ending = "\n        ".join(lines) + ", (loss.item(), 3)"
    text = Writer(seed).text().replace("return x, a, b, items", ending)
    path = tmp_path / "program.py"
    path.write_text(text)
    steps, weights = [], []
    for _ in range(2):
        space = {}
        exec(compile(text, str(path), "exec"), space)
        weights.append(torch.tensor([0.5, -0.25], requires_grad=True))
        steps.append(space["make"](weights[-1]))
    replayed = Replay(steps[0])
    for number in range(6):
        args = torch.tensor([1.0 + number, 2.0 - number]), 2 if number < 4 else 3, 3
        same(replayed(*args), steps[1](*args), 1e-3)
        same(changed(weights[:1]), changed(weights[1:]), 1e-3)
    assert replayed.replayed > 0, replayed.explain()
