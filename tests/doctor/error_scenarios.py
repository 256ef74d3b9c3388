"""Small programs with one autograd mistake each, in the styles in which people write them.

A comment marks lines: `# error` where it fails, `# fix` where the first proposal must go, `# made`
a line that must be among those named as the origin. `repair` are (old, new) replacements that give
the right program.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scenario:
    name: str
    cause: str
    fix: str
    program: str
    repair: list[tuple[str, str]] = field(default_factory=list)

    @property
    def repaired(self) -> str:
        text = self.program
        for old, new in self.repair:
            assert old in text, (self.name, old)
            text = text.replace(old, new)
        return text


HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
"""

SCENARIOS: list[Scenario] = []


def scenario(
    name: str, cause: str, fix: str, program: str, repair: list[tuple[str, str]] | None = None
) -> None:
    SCENARIOS.append(Scenario(name, cause, fix, HEAD + program, repair or []))


# ---------------------------------------------------------------------- saved values written

scenario(
    "exp_result_scaled",
    "inplace-after-save",
    "clone-before-inplace",
    """
def energy(x):
    e = x.exp()  # made
    e *= 0.5  # fix
    return e.sum()


net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    energy(net(torch.randn(4, 3))).backward()  # error
    opt.step()
""",
    [("e *= 0.5", "e = e * 0.5")],
)

scenario(
    "buffer_without_history_overwritten",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("level", torch.ones(3))

    def forward(self, x):
        y = self.lin(x) * self.level  # made
        with torch.no_grad():
            self.level.lerp_(y.mean(0), 0.1)  # fix
        return y


net = Gate()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("* self.level  #", "* self.level.clone()  #")],
)

scenario(
    "inplace_module_on_saved",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.act = nn.ReLU(inplace=True)  # fix

    def forward(self, x):
        gate = torch.sigmoid(self.lin(x))
        return self.act(gate) + x


net = nn.Sequential(Block(), nn.Linear(3, 1))
loss = net(torch.randn(4, 3)).mean()
loss.backward()  # error
""",
    [("inplace=True", "inplace=False")],
)

scenario(
    "wrapped_by_a_trainer",
    "inplace-after-save",
    "clone-before-inplace",
    """
class StepFailed(Exception):
    pass


class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def loss(self, x):
        p = torch.softmax(self.net(x), -1)  # made
        p[:, 0].clamp_(min=0.1)  # fix
        return p.log().mean()

    def step(self, x):
        try:
            self.loss(x).backward()  # error
        except RuntimeError as error:
            raise StepFailed(f"step failed: {error}") from error


trainer = Trainer(nn.Linear(3, 2))
trainer.step(torch.randn(4, 3))
""",
    [
        (
            "p[:, 0].clamp_(min=0.1)",
            "p = torch.cat([p[:, :1].clamp(min=0.1), p[:, 1:]], 1)",
        )
    ],
)

scenario(
    "two_losses_stepped_between",
    "param-updated-before-backward",
    "reorder-step",
    """
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 1))
actor_opt = torch.optim.Adam(actor.parameters())
critic_opt = torch.optim.Adam(critic.parameters())
for _ in range(3):
    action = actor(torch.randn(6, 4))
    value = critic(action)
    critic_loss = (critic(action.detach()) - 1).pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()  # made
    actor_opt.zero_grad()
    (-value.mean()).backward()  # error fix
    actor_opt.step()
""",
    [("    value = critic(action)\n", ""), ("(-value.mean())", "(-critic(action).mean())")],
)

scenario(
    "hidden_state_retained",
    "stale-state-carried",
    "detach",
    """
cell, head = nn.RNNCell(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
hidden = torch.zeros(2, 4)
for _ in range(4):
    hidden = cell(torch.randn(2, 3), hidden)  # made fix
    loss = head(hidden).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # error
    opt.step()
""",
    [("3), hidden)", "3), hidden.detach())"), ("retain_graph=True", "")],
)

scenario(
    "features_once_retained",
    "precomputed-outside-loop",
    "recompute-forward",
    """
body, head = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4)), nn.Linear(4, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(5, 3)
features = body(x)  # fix made
for _ in range(4):
    loss = head(features).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # error
    opt.step()
""",
    [
        ("features = body(x)  # fix made\n", ""),
        ("head(features)", "head(body(x))"),
        ("retain_graph=True", ""),
    ],
)

scenario(
    "weights_normalised_by_hand",
    "param-updated-before-backward",
    "reorder-step",
    """
w = torch.randn(3, 3, requires_grad=True)
x = torch.randn(5, 3, requires_grad=True)
for _ in range(3):
    loss = (x @ w).pow(2).mean()
    with torch.no_grad():
        w /= w.norm()  # made fix
    loss.backward()  # error
""",
    [
        ("    with torch.no_grad():\n        w /= w.norm()  # made fix\n", ""),
        ("    loss.backward()", "    loss.backward()\n    with torch.no_grad(): w /= w.norm()"),
    ],
)

# ----------------------------------------------------------------------------------- leaves

scenario(
    "manual_descent",
    "leaf-inplace",
    "no-grad",
    """
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((torch.randn(8, 3) @ w - 1) ** 2).mean()
    loss.backward()
    w -= 0.1 * w.grad  # error fix made
    w.grad.zero_()
""",
    [("w -= 0.1 * w.grad", "w.data -= 0.1 * w.grad")],
)

scenario(
    "parameters_written_in_a_loop",
    "leaf-inplace",
    "no-grad",
    """
net = nn.Linear(3, 1)
for _ in range(3):
    net(torch.randn(8, 3)).pow(2).mean().backward()
    for p in net.parameters():
        p.sub_(0.1 * p.grad)  # error fix made
    net.zero_grad()
""",
    [("p.sub_(0.1 * p.grad)", "p.data.sub_(0.1 * p.grad)")],
)

scenario(
    "result_collected_in_a_leaf",
    "leaf-inplace",
    "drop-requires-grad",
    """
net = nn.Linear(3, 1)
outputs = torch.zeros(4, requires_grad=True)  # fix
for i in range(4):
    outputs[i] = net(torch.randn(3)).squeeze()  # error
outputs.mean().backward()
""",
    [(", requires_grad=True", "")],
)

scenario(
    "unbound_rows_scaled",
    "inplace-after-save",
    "clone-before-inplace",
    """
net = nn.Linear(3, 2)
first, second = net(torch.randn(2, 3)).unbind(0)
first *= 2  # error fix
(first + second).sum().backward()
""",
    [("first *= 2", "first = first * 2")],
)

# ------------------------------------------------------------------------------- the loss

scenario(
    "loss_without_reduction",
    "non-scalar",
    "reduce-loss",
    """
net = nn.Linear(3, 2)
criterion = nn.MSELoss(reduction="none")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = criterion(net(torch.randn(4, 3)), torch.zeros(4, 2))  # made
    opt.zero_grad()
    loss.backward()  # error fix
    opt.step()
""",
    [("loss.backward()", "loss.mean().backward()")],
)

scenario(
    "accuracy_as_loss",
    "broken-graph",
    "keep-graph",
    """
def train_step(net, x, y):
    prediction = net(x).argmax(dim=1)  # fix made
    loss = (prediction != y).float().mean()
    loss.backward()  # error
    return loss


train_step(nn.Linear(3, 2), torch.randn(4, 3), torch.tensor([0, 1, 0, 1]))
""",
    [
        (".argmax(dim=1)", ""),
        ("(prediction != y).float().mean()", "F.cross_entropy(prediction, y)"),
    ],
)

scenario(
    "losses_as_numbers",
    "broken-graph",
    "keep-graph",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for _ in range(3):
    losses.append(net(torch.randn(4, 3)).pow(2).mean().item())  # fix made
total = torch.tensor(losses).mean()
opt.zero_grad()
total.backward()  # error
opt.step()
""",
    [(".mean().item())", ".mean())"), ("torch.tensor(losses)", "torch.stack(losses)")],
)

scenario(
    "target_detached_and_prediction_as_data",
    "broken-graph",
    "keep-graph",
    """
import copy

online = nn.Linear(3, 2)
target = copy.deepcopy(online)
opt = torch.optim.Adam(online.parameters())
for _ in range(2):
    state = torch.randn(4, 3)
    q = online(state).data.max(1).values  # fix made
    goal = target(state).max(1).values.detach()
    loss = F.mse_loss(q, goal)
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("online(state).data.max", "online(state).max")],
)

scenario(
    "forward_in_a_decorated_method",
    "no-grad-scope",
    "enable-grad",
    """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(3, 4)
        self.dec = nn.Linear(4, 1)

    @torch.no_grad()  # fix made
    def encode(self, x):
        return self.dec(torch.relu(self.enc(x)))

    def forward(self, x):
        return self.encode(x)


model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.randn(4, 3)).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("    @torch.no_grad()  # fix made\n", "")],
)

scenario(
    "evaluation_leaves_gradients_off",
    "no-grad-scope",
    "enable-grad",
    """
def evaluate(net):
    torch.set_grad_enabled(False)  # fix made
    return net(torch.randn(4, 3)).mean().item()


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    evaluate(net)
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [
        (
            "    torch.set_grad_enabled(False)  # fix made\n    return net",
            "    with torch.no_grad(): return net",
        )
    ],
)

scenario(
    "penalty_without_create_graph",
    "missing-create-graph",
    "create-graph",
    """
def penalty(critic, real):
    real = real.clone().requires_grad_(True)
    score = critic(real).sum()
    grads = torch.autograd.grad(score, real)[0]  # fix made
    return (grads.norm(2, dim=1) - 1).pow(2).mean()


critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.Adam(critic.parameters())
for _ in range(2):
    opt.zero_grad()
    penalty(critic, torch.randn(4, 3)).backward()  # error
    opt.step()
""",
    [("grad(score, real)", "grad(score, real, create_graph=True)")],
)

scenario(
    "second_derivative",
    "missing-create-graph",
    "create-graph",
    """
x = torch.linspace(0, 1, 5, requires_grad=True)
y = (x ** 3).sum()
(slope,) = torch.autograd.grad(y, x)  # fix made
(curvature,) = torch.autograd.grad(slope.sum(), x)  # error
""",
    [("grad(y, x)", "grad(y, x, create_graph=True)")],
)

scenario(
    "nothing_requires_grad",
    "broken-graph",
    "make-leaf",
    """
w = torch.tensor([1.0, 2.0])  # fix made
loss = (w * 3).sum()
loss.backward()  # error
""",
    [("2.0])", "2.0], requires_grad=True)")],
)

scenario(
    "loss_forced_to_require_grad",
    "broken-graph",
    "keep-graph",
    """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    out = net(torch.randn(4, 3)).detach()  # fix made
    loss = out.pow(2).mean()
    loss.requires_grad = True
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    [(".detach()", ""), ("    loss.requires_grad = True\n", "")],
)

scenario(
    "gradient_of_a_slice",
    "broken-graph",
    "keep-graph",
    """
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
points = torch.rand(5, 2, requires_grad=True)
u = net(points)
time = points[:, :1]  # fix made
u_t = torch.autograd.grad(u.sum(), time, create_graph=True)[0]  # error
u_t.pow(2).mean().backward()
""",
    [
        ("u = net(points)\ntime = points[:, :1]", "time = points[:, :1]"),
        ("  # fix made\n", "\nu = net(torch.cat([time, points[:, 1:]], 1))\n"),
    ],
)
