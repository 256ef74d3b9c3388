"""More programs for the doctor, in shorter styles; the marks are those of `error_scenarios`."""

from __future__ import annotations

from tests.doctor.error_scenarios import HEAD, Scenario

MORE: list[Scenario] = []


def scenario(
    name: str, cause: str, fix: str, program: str, repair: list[tuple[str, str]] | None = None
) -> None:
    MORE.append(Scenario(name, cause, fix, HEAD + program, repair or []))


scenario(
    "sequential_inplace_relu",
    "inplace-after-save",
    "clone-before-inplace",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.ReLU(inplace=True), nn.Linear(4, 1))  # fix
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = net(torch.randn(4, 3)).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("inplace=True", "inplace=False")],
)

scenario(
    "mask_assign_after_matmul",
    "inplace-after-save",
    "clone-before-inplace",
    """
def attention(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / 2
    weights = scores.softmax(-1)
    weights[mask] = 0.0  # fix
    return weights @ v
proj = nn.Linear(4, 12)
opt = torch.optim.SGD(proj.parameters(), lr=.1)
mask = torch.rand(3, 5, 5) < 0.3
for step in range(2):
    q, k, v = proj(torch.randn(3, 5, 4)).chunk(3, -1)
    loss = attention(q, k, v, mask).pow(2).mean()
    loss.backward()  # error
    opt.step()
""",
    [("weights[mask] = 0.0", "weights = weights.masked_fill(mask, 0.0)")],
)

scenario(
    "ema_in_place_of_input",
    "inplace-after-save",
    "clone-before-inplace",
    """
w = nn.Parameter(torch.randn(3))
avg = torch.zeros(3)
total = 0
for i in range(3):
    x = torch.randn(3)
    avg.mul_(0.9).add_(x, alpha=0.1)  # fix
    total = total + (w * avg).sum()
total.backward()  # error
""",
    [("avg.mul_(0.9).add_(x, alpha=0.1)", "avg = avg * 0.9 + x * 0.1")],
)

scenario(
    "noise_added_to_batch",
    "inplace-after-save",
    "clone-before-inplace",
    """
net = nn.Linear(3, 2)
x = torch.randn(4, 3)
y = net(x)
x += 0.1 * torch.randn_like(x)  # fix
loss = (net(x) - y).pow(2).mean()
loss.backward()  # error
""",
    [("x += 0.1 *", "x = x + 0.1 *")],
)

scenario(
    "target_net_soft_update",
    "param-updated-before-backward",
    "reorder-step",
    """
import copy
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
target = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters())
def soft_update():
    with torch.no_grad():
        for p, t in zip(net.parameters(), target.parameters()):
            t.mul_(0.9).add_(p, alpha=0.1)  # made
for _ in range(3):
    x = torch.randn(4, 3)
    loss = (target(net(x).expand(4, 3)) - 1).pow(2).mean()
    soft_update()  # fix
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("    soft_update()  # fix\n", ""), ("    opt.step()", "    opt.step()\n    soft_update()")],
)

scenario(
    "ppo_inner_epochs",
    "param-updated-before-backward",
    "combine-losses",
    """
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(policy.parameters())
for it in range(2):
    obs = torch.randn(16, 3)
    logp = policy(obs).log_softmax(-1)[:, 0]
    adv = torch.randn(16)
    for epoch in range(4):
        ratio = (logp - logp.detach()).exp()
        loss = -(ratio * adv).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)  # error fix
        opt.step()
""",
)

scenario(
    "tbptt_retain",
    "stale-state-carried",
    "detach",
    """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.head = nn.Linear(4, 1)
        self.state = None
    def forward(self, x):
        out, self.state = self.rnn(x, self.state)  # made fix
        return self.head(out)
model = Model()
opt = torch.optim.Adam(model.parameters())
for x in torch.randn(6, 2, 5, 3):
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # error
    opt.step()
""",
    [
        ("(x, self.state)", "(x, None if self.state is None else self.state.detach())"),
        ("retain_graph=True", ""),
    ],
)

scenario(
    "init_uniform_leaf",
    "leaf-inplace",
    "no-grad",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.empty(3, 3))
        self.b = nn.Parameter(torch.empty(3))
        self.w.uniform_(-1, 1)  # error fix
        self.b.zero_()
Net()
""",
    [
        ("self.w.uniform_(-1, 1)", "nn.init.uniform_(self.w, -1, 1)"),
        ("self.b.zero_()", "nn.init.zeros_(self.b)"),
    ],
)

scenario(
    "relu_on_leaf",
    "leaf-inplace",
    "clone-before-inplace",
    """
x = torch.randn(3, requires_grad=True)
y = F.relu(x, inplace=True)  # error fix
y.sum().backward()
""",
    [("inplace=True", "inplace=False")],
)

scenario(
    "weights_copied",
    "leaf-inplace",
    "no-grad",
    """
a, b = nn.Linear(3, 3), nn.Linear(3, 3)
a.weight.copy_(b.weight)  # error fix
""",
    [("a.weight.copy_(b.weight)", "a.weight.data.copy_(b.weight)")],
)

scenario(
    "loss_of_a_helper",
    "non-scalar",
    "reduce-loss",
    """
class Agent:
    def __init__(self):
        self.net = nn.Linear(3, 2)
    def update(self, x):
        loss = F.cross_entropy(self.net(x), torch.tensor([0, 1]), reduction='none')  # made
        self.apply(loss)
    def apply(self, loss):
        loss.backward()  # error fix
Agent().update(torch.randn(2, 3))
""",
    [("loss.backward()", "loss.mean().backward()")],
)

scenario(
    "tensor_of_losses",
    "broken-graph",
    "keep-graph",
    """
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    parts = [net(torch.randn(3))[i] for i in range(2)]
    loss = torch.tensor(parts).sum()  # fix
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("torch.tensor(parts)", "torch.stack(parts)")],
)

scenario(
    "numpy_metric",
    "broken-graph",
    "keep-graph",
    """
import numpy as np
def smape(p, t):
    p, t = p.detach().numpy(), t.numpy()  # fix
    return torch.tensor(np.mean(np.abs(p - t) / (np.abs(p) + np.abs(t))))
net = nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters())
acc = 0
for _ in range(2):
    out = net(torch.randn(4, 3))
    loss = smape(out, torch.ones(4, 2))
    acc += (out.argmax(1) == 0).float().mean().item()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [
        ("    p, t = p.detach().numpy(), t.numpy()  # fix\n", ""),
        (
            "torch.tensor(np.mean(np.abs(p - t) / (np.abs(p) + np.abs(t))))",
            "((p - t).abs() / (p.abs() + t.abs())).mean()",
        ),
    ],
)

scenario(
    "frozen_everything",
    "broken-graph",
    "enable-grad",
    """
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
for p in net.parameters():
    p.requires_grad = False  # fix
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    loss = net(torch.randn(4, 3)).mean()
    loss.backward()  # error
    opt.step()
""",
    [("for p in net.parameters()", "for p in net[0].parameters()")],
)

scenario(
    "validation_with_no_grad",
    "no-grad-scope",
    "enable-grad",
    """
def run_epoch(net, opt, train):
    with torch.set_grad_enabled(not train):  # fix
        loss = net(torch.randn(4, 3)).mean()
    if train:
        opt.zero_grad()
        loss.backward()  # error
        opt.step()
    return loss.item()
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=.1)
for _ in range(2):
    run_epoch(net, opt, True)
""",
    [("not train", "train")],
)

scenario(
    "pinn_second_order",
    "missing-create-graph",
    "create-graph",
    """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
def derivative(u, x):
    return torch.autograd.grad(u.sum(), x)[0]  # fix error
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    x = torch.rand(5, 1, requires_grad=True)
    u = net(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    loss = u_xx.pow(2).mean()
    loss.backward()
    opt.step()
""",
    [("x)[0]", "x, create_graph=True)[0]")],
)

scenario(
    "dropout_inplace",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)
    def forward(self, x):
        h = torch.sigmoid(self.a(x))
        g = F.dropout(h, 0.5, inplace=True)  # fix
        return self.b(g)
Net()(torch.randn(4, 3)).sum().backward()  # error
""",
    [("inplace=True", "inplace=False")],
)

scenario(
    "memory_bank_written",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Bank(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(3, 4)
        self.register_buffer("bank", F.normalize(torch.randn(10, 4), dim=1))
        self.ptr = 0
    def forward(self, x):
        z = F.normalize(self.enc(x), dim=1)
        logits = z @ self.bank.t()
        self.enqueue(z)
        return logits
    @torch.no_grad()
    def enqueue(self, z):
        n = len(z)
        self.bank[self.ptr:self.ptr + n] = z  # fix
        self.ptr = (self.ptr + n) % 10
net = Bank()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    loss = F.cross_entropy(net(torch.randn(5, 3)), torch.zeros(5, dtype=torch.long))
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("z @ self.bank.t()", "z @ self.bank.clone().t()")],
)

scenario(
    "two_optimizers_shared_trunk",
    "param-updated-before-backward",
    "reorder-step",
    """
trunk = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
h1, h2 = nn.Linear(4, 1), nn.Linear(4, 1)
o1 = torch.optim.Adam([*trunk.parameters(), *h1.parameters()])
o2 = torch.optim.Adam([*trunk.parameters(), *h2.parameters()])
for _ in range(3):
    z = trunk(torch.randn(4, 3))
    l1, l2 = h1(z).pow(2).mean(), h2(z).abs().mean()
    o1.zero_grad()
    l1.backward(retain_graph=True)
    o1.step()  # made
    o2.zero_grad()
    l2.backward()  # error fix
    o2.step()
""",
    [("    o1.step()  # made\n", ""), ("    o2.step()", "    o1.step()\n    o2.step()")],
)

scenario(
    "evaluate_helper_module_switch",
    "no-grad-scope",
    "enable-grad",
    """
class Phase:
    def __init__(self, train): self.train = train
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(self.train)  # fix
        return self
    def __exit__(self, *a):
        pass
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=.1)
for _ in range(2):
    with Phase(False):
        net(torch.randn(2, 3)).mean().item()
    loss = net(torch.randn(2, 3)).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("        pass", "        torch.set_grad_enabled(self.before)")],
)

scenario(
    "generator_no_grad",
    "no-grad-scope",
    "enable-grad",
    """
@torch.no_grad()  # fix
def rollout(policy, steps):
    logps = []
    for _ in range(steps):
        d = torch.distributions.Categorical(logits=policy(torch.randn(3)))
        a = d.sample()
        logps.append(d.log_prob(a))
    return torch.stack(logps)
policy = nn.Linear(3, 2)
opt = torch.optim.Adam(policy.parameters())
for _ in range(2):
    loss = -(rollout(policy, 3) * torch.randn(3)).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("@torch.no_grad()  # fix\n", "")],
)

scenario(
    "sample_instead_of_rsample",
    "broken-graph",
    "keep-graph",
    """
enc = nn.Linear(3, 4)
opt = torch.optim.Adam(enc.parameters())
for _ in range(2):
    mu, logstd = enc(torch.randn(5, 3)).chunk(2, -1)
    z = torch.distributions.Normal(mu, logstd.exp()).sample()  # fix
    loss = z.pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [(".sample()", ".rsample()")],
)

scenario(
    "detach_in_place",
    "broken-graph",
    "keep-graph",
    """
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    out = net(torch.randn(5, 3))
    out.detach_()  # fix
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("    out.detach_()  # fix\n", "")],
)

scenario(
    "thresholded",
    "broken-graph",
    "keep-graph",
    """
net = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    p = net(torch.randn(6, 3))
    hard = (p > 0.5).float()  # fix
    dice = 1 - 2 * (hard * torch.ones(6, 1)).sum() / (hard.sum() + 6)
    opt.zero_grad()
    dice.backward()  # error
    opt.step()
""",
    [("(p > 0.5).float()", "p")],
)

scenario(
    "hessian_without_create",
    "missing-create-graph",
    "create-graph",
    """
w = torch.randn(3, requires_grad=True)
def loss_fn(w): return (w ** 4).sum()
g = torch.autograd.grad(loss_fn(w), w)[0]  # fix
rows = []
for i in range(3):
    rows.append(torch.autograd.grad(g[i], w, retain_graph=True)[0])  # error
""",
    [("grad(loss_fn(w), w)", "grad(loss_fn(w), w, create_graph=True)")],
)

scenario(
    "grad_clip_nonleaf",
    "nonleaf-grad",
    "no-grad",
    """
w = torch.randn(3, requires_grad=True)
for _ in range(3):
    loss = w.pow(2).sum()
    loss.backward()
    w = w - 0.1 * w.grad  # error fix
""",
    [("w = w - 0.1 * w.grad", "w.data -= 0.1 * w.grad")],
)
