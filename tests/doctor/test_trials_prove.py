"""A trial beside the program as meant: changes that run, and break the training they claim to save.

The first tests compare records by hand; the last run programs on PyTorch, under the command.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from retrograd.doctor.fixes.compare import died, gained, harm, idle, losses_in_words
from retrograd.doctor.result import Result, result_from
from retrograd.watching.received import Course
from tests.doctor.running import Run, doctor

FAILED = "RuntimeError: Trying to backward through the graph a second time"


def course(*steps: str, pending: str = "", sites: int = 1) -> Course:
    """Steps with one sign for each parameter: `+` given, `0` zero, `.` nothing, `f` frozen."""
    found = Course(names=["encoder.weight", "head.weight"])
    for signs in steps:
        found.note(signs, sites)
        found.steps += 1
    found.pending = pending or "." * len(steps[0] if steps else "..")
    return found


def failed(*steps: str, pending: str = "++") -> Result:
    return Result(error=FAILED, courses=[course(*steps, pending=pending)])


def ran(*steps: str) -> Result:
    return Result(courses=[course(*steps)])


def test_equal_steps_are_one_run() -> None:
    found = course("++", "++", ".+", "++")
    assert [(run.first, run.last, run.signs) for run in found.runs] == [
        *((0, 1, "++"), (2, 2, ".+"), (3, 3, "++")),
    ]


def test_a_record_survives_the_way_between_processes() -> None:
    result = failed("++", ".+")
    assert result_from(result.to_data()) == result


def test_nothing_is_broken() -> None:
    assert harm(failed("++"), ran("++", "++", "++", "++")) == ""
    assert harm(ran("++", "++"), ran("++", "++")) == ""


def test_a_gradient_that_ends_where_the_program_failed() -> None:
    found = harm(failed("++"), ran("++", ".+", ".+", ".+"))
    assert found == "after iteration 1 encoder.weight gets no gradient any more"


def test_units_that_die_of_longer_steps_are_told_and_no_harm() -> None:
    first, now = ran("++", "++", "++", "++"), ran("++", "0+", "0+", "0+")
    assert harm(first, now) == "after iteration 1 encoder.weight gets no gradient any more"
    assert harm(first, now, other_lengths=True) == ""
    assert died(first, now).startswith("after iteration 1 the gradient of encoder.weight is exactl")
    assert harm(first, ran("++", ".+", ".+", ".+"), other_lengths=True) != ""
    assert died(first, first) == ""


def test_a_gradient_that_is_no_number_any_more() -> None:
    assert (
        harm(ran("++", "++"), ran("++", "+!")) == "the gradient of head.weight would be inf or nan"
    )
    assert harm(ran("++", "+!"), ran("++", "+!")) == ""


def test_a_gradient_that_becomes_exactly_zero_there() -> None:
    assert "after iteration 1" in harm(failed("++"), ran("++", "0+", "0+", "0+"))


def test_a_gradient_that_ends_later_is_the_programs_own_plan() -> None:
    assert harm(failed("++"), ran("++", "++", "++", "++", ".+", ".+", ".+")) == ""


def test_one_step_without_a_gradient_says_nothing() -> None:
    assert harm(failed("++"), ran("++", "++", ".+")) == ""
    assert harm(failed("++"), ran("++", ".+", "++", ".+")) == ""


def test_a_gradient_that_is_exactly_zero() -> None:
    found = harm(ran("+.", "+."), ran("0+", "0+"))
    assert found == "the gradient of encoder.weight would be exactly zero"


def test_a_gradient_that_is_gone() -> None:
    assert harm(ran("++"), ran(".+")) == "encoder.weight would no longer get a gradient"


def test_what_only_the_failed_call_reached_must_get_a_gradient() -> None:
    assert harm(failed(pending="++"), ran(".+", ".+")).startswith("encoder.weight would")
    assert harm(failed(pending=".+"), ran(".+", ".+")) == ""


def test_frozen_parameters_are_not_missed() -> None:
    assert harm(failed("++"), ran("++", "f+", "f+", "f+")) == ""


def test_a_silent_fault_is_compared_with_the_whole_program() -> None:
    assert "after iteration 1" in harm(ran("++", "++", "++"), ran("++", ".+", ".+"))
    assert harm(ran("++", ".+", ".+"), ran("++", ".+", ".+")) == ""


def test_a_step_that_takes_the_loss_of_another_optimizer() -> None:
    first = Result(error=FAILED, courses=[course("++"), course(pending="++")])
    mixed = Result(courses=[course("++", "++", sites=2), course("++", "++")])
    apart = Result(courses=[course("++", "++"), course("++", "++")])
    assert harm(first, mixed) == (
        "the step of an optimizer would also use gradients of another optimizer's loss"
    )
    assert harm(first, apart) == ""
    for each in mixed.courses:
        each.names = ["agent.critic.0.weight", "agent.critic.2.bias"]
    assert "the step of agent.critic would" in harm(first, mixed)
    alone = Result(error=FAILED, courses=first.courses[:1])
    assert harm(alone, Result(courses=mixed.courses[:1])) == ""  # two losses of one optimizer


def test_what_only_leftovers_gave_is_not_missed() -> None:
    """A critic's last bias has no gradient of its own: that of the generator's loss had stayed."""
    assert "exactly zero" in harm(ran("++"), ran("+0"))
    assert harm(ran("++"), ran("+0"), leftovers=True) == ""
    assert harm(ran("++"), ran("00"), leftovers=True) == "no step would change an optimizer"
    assert harm(ran("00"), ran("..", ".."), leftovers=True) == "no step would change an optimizer"


def test_gradients_that_count_twice() -> None:
    assert "twice" in harm(failed("++"), Result(courses=[course("++", "++")], doubled=1))


def test_parameters_that_do_not_move() -> None:
    """The memory was cleared: its weights are reached, but multiplied with zeros."""
    assert idle(failed("0+"), ran("0+", "0+", "0+")) == ["encoder.weight"]
    assert idle(failed("0+"), ran("0+", "++", "++")) == []
    assert idle(failed(".+", pending=".+"), ran(".+", ".+")) == []  # unused before and now


def test_parameters_that_get_a_gradient_only_now() -> None:
    assert gained(ran(".+"), ran("++")) == ["encoder.weight"]


def test_how_the_loss_of_one_line_goes() -> None:
    found = Result(courses=[course("++", "++", sites=1)], losses=[1.5, 0.75, 0.25])
    assert losses_in_words(found) == "the loss goes from 1.5 to 0.25 in 3 calls"
    found.courses[0].runs[0].sites = 2
    assert losses_in_words(found) == ""


# ------------------------------------------------------------------------- whole programs

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
"""

CACHED = """
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(4, 4))
        self.body = nn.Linear(4, 4)
        self.cached = None

    def weights(self):
        if self.cached is None:
            self.cached = torch.softmax(self.logits, 1)
        return self.cached

    def forward(self, x):
        return self.body(x @ self.weights()).mean()


model = Mixer()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 4)
for epoch in range(6):
    opt.zero_grad()
    loss = model(x).pow(2)
    loss.backward()
    opt.step()
"""

STRAIGHT_THROUGH = """
encoder = nn.Linear(6, 4)
decoder = nn.Linear(4, 6)
codebook = nn.Embedding(8, 4)
held = [*encoder.parameters(), *decoder.parameters(), *codebook.parameters()]
opt = torch.optim.Adam(held, lr=1e-2)
x = torch.randn(32, 6)
for step in range(8):
    opt.zero_grad()
    z = encoder(x)
    q = codebook(torch.cdist(z, codebook.weight).argmin(1))
    q = z + (q - z).detach()
    loss = (decoder(q) - x).pow(2).mean()
    loss.backward()
    opt.step()
"""

ADVERSARIAL = """
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_opt = torch.optim.SGD(generator.parameters(), lr=0.05)
c_opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for step in range(8):
    real = torch.randn(16, 2) + 2
    fake = generator(torch.randn(16, 4))
    judged = critic(fake)
    c_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    g_loss = F.softplus(-judged).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
"""

SHARED_BODY = """
body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
left, right = nn.Linear(8, 1), nn.Linear(8, 1)
left_opt = torch.optim.SGD([*body.parameters(), *left.parameters()], lr=0.05)
right_opt = torch.optim.SGD([*body.parameters(), *right.parameters()], lr=0.05)
for step in range(8):
    h = body(torch.randn(16, 4))
    left_loss, right_loss = left(h).pow(2).mean(), (right(h) - 1).pow(2).mean()
    left_opt.zero_grad()
    left_loss.backward(retain_graph=True)
    left_opt.step()
    right_opt.zero_grad()
    right_loss.backward()
    right_opt.step()
"""

REMEMBERED = """
class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.update = nn.GRUCell(3, 5)
        self.memory = torch.zeros(7, 5)

    def forward(self, nodes, events):
        rows = self.update(events, self.memory[nodes])
        memory = self.memory.clone()
        memory[nodes] = rows
        self.memory = memory
        return rows.mean(1)


model = Tracker()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in range(8):
    opt.zero_grad()
    loss = (model(torch.randperm(7)[:4], torch.randn(4, 3)) - torch.randn(4)).pow(2).mean()
    loss.backward()
    opt.step()
"""


def tried(folder: Path, text: str) -> Run:
    pytest.importorskip("torch")
    return doctor(folder, HEAD + text, engine="torch", verify=True)


def proposals(run: Run) -> list[dict[str, object]]:
    found: list[dict[str, object]] = run.report["diagnoses"][0]["report"]["fixes"]
    return found


@pytest.mark.torch
def test_learned_weights_are_not_detached(tmp_path: Path) -> None:
    found = proposals(tried(tmp_path, CACHED))
    assert found[0]["kind"] == "recompute-forward"
    assert not any(fix["verified"] for fix in found if fix["kind"] == "detach")


@pytest.mark.torch
def test_a_straight_through_estimator_keeps_its_detach(tmp_path: Path) -> None:
    run = tried(tmp_path, STRAIGHT_THROUGH)
    assert proposals(run) == []
    notes = " ".join(run.report["diagnoses"][0]["report"]["notes"])
    assert "the gradient of encoder.weight and encoder.bias would be exactly zero" in notes


@pytest.mark.torch
def test_an_adversarial_loss_does_not_flow_into_the_critics_step(tmp_path: Path) -> None:
    first, *others = proposals(tried(tmp_path, ADVERSARIAL))
    assert first["kind"] == "recompute-forward" and first["verified"]
    moved = next(fix for fix in others if fix["kind"] == "reorder-step")
    assert moved["verified"] is False and not moved["diff"]
    assert moved["verification"] == (
        "the step of critic would also use gradients of another optimizer's loss"
    )


@pytest.mark.torch
def test_both_losses_flow_into_the_body_that_two_optimizers_share(tmp_path: Path) -> None:
    first = proposals(tried(tmp_path, SHARED_BODY))[0]
    assert first["kind"] == "reorder-step" and first["verified"]
    assert "+    right_opt.zero_grad()\n     left_loss.backward" in str(first["diff"])


@pytest.mark.torch
def test_a_memory_is_cut_where_it_is_read_and_kept_and_not_cleared(tmp_path: Path) -> None:
    first = proposals(tried(tmp_path, REMEMBERED))[0]
    assert first["kind"] == "detach" and first["verified"]
    assert "+        memory[nodes] = rows.detach()\n" in str(first["diff"])
