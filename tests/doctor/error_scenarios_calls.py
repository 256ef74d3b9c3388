"""Programs for the doctor: scalers, optimizers and modules called as they do not take it."""

from __future__ import annotations

from tests.doctor.error_scenarios import HEAD, Scenario

CALLS: list[Scenario] = []


def scenario(
    name: str, cause: str, fix: str, program: str, repair: list[tuple[str, str]] | None = None
) -> None:
    CALLS.append(Scenario(name, cause, fix, HEAD + program, repair or []))


# ------------------------------------------------------------------------------------ scalers

scenario(
    "unscaled_in_every_micro_batch",
    "scaler-order",
    "reorder-step",
    """
class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def micro(self, x, y, last):
        loss = F.cross_entropy(self.net(x), y) / 2
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)  # fix error made
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        if last:
            self.scaler.step(self.opt)
            self.scaler.update()
            self.opt.zero_grad()


trainer = Trainer()
for i in range(6):
    x = torch.randn(16, 8)
    trainer.micro(x, (x.sum(1) > 0).long(), i % 2 == 1)
""",
    [
        (
            "        self.scaler.unscale_(self.opt)  # fix error made\n"
            "        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)\n",
            "",
        ),
        (
            "            self.scaler.step(",
            "            self.scaler.unscale_(self.opt)\n"
            "            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)\n"
            "            self.scaler.step(",
        ),
    ],
)

scenario(
    "a_scaler_that_is_never_updated",
    "scaler-order",
    "add-step",
    """
def train(model, opt, scaler, steps):
    for _ in range(steps):
        x = torch.randn(16, 8)
        opt.zero_grad()
        loss = (model(x).squeeze(1) - x[:, 0]).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)  # error
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(opt)  # fix made


model = nn.Linear(8, 1)
opt = torch.optim.Adam(model.parameters())
train(model, opt, torch.amp.GradScaler("cpu", init_scale=128.0), 5)
""",
    [("scaler.step(opt)  # fix made", "scaler.step(opt)\n        scaler.update()")],
)

scenario(
    "a_step_that_is_skipped",
    "scaler-order",
    "add-step",
    """
model = nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for i in range(8):
    x = torch.randn(16, 8) * (10 if i % 4 == 1 else 1)
    opt.zero_grad()
    loss = (model(x).squeeze(1) - x[:, 0]).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)  # error
    norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    if norm > 20:
        continue  # fix
    scaler.step(opt)
    scaler.update()
""",
    [("        continue  # fix", "        scaler.update()\n        continue")],
)

scenario(
    "cleared_before_the_scaler_steps",
    "zero-grad-misuse",
    "reorder-step",
    """
model = nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for _ in range(4):
    loss = model(torch.randn(16, 8)).pow(2).mean()
    scaler.scale(loss).backward()
    opt.zero_grad()  # fix made
    scaler.step(opt)  # error
    scaler.update()
""",
)

scenario(
    "a_loss_that_is_not_scaled",
    "scaler-order",
    "unscale-first",
    """
model = nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for _ in range(4):
    opt.zero_grad()
    loss = model(torch.randn(16, 8)).pow(2).mean()
    loss.backward()  # fix made
    scaler.step(opt)  # error
    scaler.update()
""",
    [("    loss.backward()", "    scaler.scale(loss).backward()")],
)

# ------------------------------------------------------- checkpoints, hooks, tables, copies

scenario(
    "reentrant_checkpoint_under_grad",
    "RG616",
    "fix-checkpoint-call",
    """
from torch.utils.checkpoint import checkpoint_sequential

net = nn.Sequential(nn.Linear(4, 4), nn.Softplus(), nn.Linear(4, 4), nn.Softplus())


def slope(x):
    x.requires_grad_(True)
    u = checkpoint_sequential(net, 2, x, use_reentrant=True)  # fix made
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)  # error
    return du.pow(2).mean()


opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = slope(torch.rand(8, 4))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    [("use_reentrant=True", "use_reentrant=False")],
)

scenario(
    "hook_before_an_activation_in_place",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.act = nn.ReLU(inplace=True)  # fix made
        self.last = nn.Linear(6, 1)

    def forward(self, x):
        return self.last(self.act(self.first(x)))  # error


net, seen = Small(), []
net.first.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].norm().item()))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(4, 6)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    [("nn.ReLU(inplace=True)", "nn.ReLU()")],
)

scenario(
    "table_renormed_after_its_use",
    "inplace-after-save",
    "clone",
    """
table = nn.Embedding(30, 5, max_norm=0.5)


def similarities():
    weight = table.weight  # fix
    return torch.tanh(weight @ weight.t())  # made


opt = torch.optim.SGD(table.parameters(), lr=0.5)
for _ in range(3):
    spread = similarities().mean()
    a, b = torch.randint(0, 30, (2, 8))
    loss = (table(a) - table(b)).pow(2).sum(1).mean() + spread
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("weight = table.weight  # fix", "weight = table.weight.clone()")],
)

scenario(
    "copy_of_a_model_with_its_penalty",
    "stale-state-carried",
    "reset-state",
    """
import copy


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)
        self.penalty = None

    def forward(self, x):
        h = self.lin(x)
        self.penalty = h.abs().mean()  # made
        return h


net = Coder()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    x = torch.randn(8, 6)
    loss = (net(x) - x).pow(2).mean() + 0.1 * net.penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = copy.deepcopy(net)  # fix error
""",
    [("    best = copy", "    net.penalty = None\n    best = copy")],
)

# ------------------------------------------------------------------------ optimizers, modules

scenario(
    "a_list_of_generators",
    "wrong-call",
    "rebuild-optimizer",
    """
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([body.parameters(), head.parameters()], lr=0.1)  # fix error
""",
    [("[body.parameters(), head.parameters()]", "[*body.parameters(), *head.parameters()]")],
)

scenario(
    "the_head_in_two_groups",
    "wrong-call",
    "rebuild-optimizer",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)


net = Net()
groups = [{"params": net.parameters()}, {"params": net.head.parameters(), "lr": 1e-2}]
opt = torch.optim.Adam(groups, lr=1e-3)  # fix error
""",
    [("net.parameters()}", "net.body.parameters()}")],
)

scenario(
    "newton_without_a_closure",
    "wrong-call",
    "",
    """
net, x = nn.Linear(4, 1), torch.randn(8, 4)
opt = torch.optim.LBFGS(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    opt.step()  # fix error
""",
)

scenario(
    "a_loss_function_that_returns_nothing",
    "wrong-call",
    "",
    """
net = nn.Linear(4, 1)


def criterion(x):
    loss = net(x).pow(2).mean()  # fix made


loss = criterion(torch.randn(8, 4))
loss.backward()  # error
""",
    [("mean()  # fix made", "mean()\n    return loss")],
)

scenario(
    "a_weight_that_is_replaced",
    "wrong-call",
    "no-grad",
    """
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.weight = net.weight.clamp(-0.5, 0.5)  # fix error
""",
    [
        (
            "    net.weight = net.weight.clamp(-0.5, 0.5)",
            "    with torch.no_grad():\n        net.weight.copy_(net.weight.clamp(-0.5, 0.5))",
        )
    ],
)

TRIED = (
    *("unscaled_in_every_micro_batch", "a_step_that_is_skipped", "newton_without_a_closure"),
    *("reentrant_checkpoint_under_grad", "table_renormed_after_its_use"),
    *("copy_of_a_model_with_its_penalty", "hook_before_an_activation_in_place"),
)
"""Those whose fix is tried in a test."""

OTHERS = {
    # errors in the same words that are about something else
    "own_zero": HEAD
    + """
class Counter:
    grad = None


Counter.grad.zero_()
""",
    "own_backward": HEAD
    + """
queue = {}
queue.get("loss").backward()
""",
    "own_metrics": HEAD
    + """
def step(metrics=None):
    raise ValueError("step() has been called, and then again")


step()
""",
}
