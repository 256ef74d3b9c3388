"""More programs for the doctor: leaves and results, wrapped errors, and nothing to be said."""

from __future__ import annotations

from tests.doctor.error_scenarios import HEAD, Scenario

REST: list[Scenario] = []


def scenario(
    name: str, cause: str, fix: str, program: str, repair: list[tuple[str, str]] | None = None
) -> None:
    REST.append(Scenario(name, cause, fix, HEAD + program, repair or []))


# ----------------------------------------------------------------------- leaves and results

scenario(
    "optimizer_over_a_scaled_tensor",
    "nonleaf-grad",
    "make-leaf",
    """
def initial(n):
    return torch.randn(n, 3, requires_grad=True) * 0.01


weights = initial(4)  # fix made
opt = torch.optim.Adam([weights], lr=0.1)  # error
""",
    [
        (
            "torch.randn(n, 3, requires_grad=True) * 0.01",
            "(torch.randn(n, 3) * 0.01).requires_grad_()",
        )
    ],
)

scenario(
    "grad_of_an_activation",
    "nonleaf-grad",
    "retain-grad",
    """
conv, head = nn.Linear(3, 4), nn.Linear(4, 1)
hidden = torch.relu(conv(torch.randn(2, 3)))  # fix made
head(hidden).sum().backward()
importance = hidden.grad.abs().mean()  # error
""",
    [("  # fix made", "\nhidden.retain_grad()")],
)

scenario(
    "grad_of_a_moved_leaf",
    "nonleaf-grad",
    "make-leaf",
    """
image = torch.rand(1, 3, requires_grad=True).double()  # fix made
for _ in range(2):
    loss = (image * 2).sum()
    loss.backward()
    image.data -= 0.1 * image.grad  # error
""",
    [
        (
            "torch.rand(1, 3, requires_grad=True).double()",
            "torch.rand(1, 3).double().requires_grad_()",
        )
    ],
)

scenario(
    "copy_of_a_model_with_state",
    "stale-state-carried",
    "detach",
    """
import copy


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.last = None

    def forward(self, x):
        self.last = self.lin(x)  # fix made
        return self.last


net = Memory()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 3)).sum().backward()
opt.step()
best = copy.deepcopy(net)  # error
""",
    [
        (
            "self.last = self.lin(x)  # fix made\n        return self.last",
            "y = self.lin(x)\n        self.last = y.detach()\n        return y",
        )
    ],
)

scenario(
    "features_of_inference_mode",
    "no-grad-scope",
    "no-grad",
    """
backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(2):
    with torch.inference_mode():  # fix made
        features = backbone(torch.randn(5, 3))
    loss = head(features).mean()  # error
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    [("torch.inference_mode()", "torch.no_grad()")],
)

scenario(
    "grad_attr_penalty",
    "missing-create-graph",
    "create-graph",
    """
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.rand(5, 3, requires_grad=True)
net(x).sum().backward()  # fix
penalty = x.grad.norm(dim=1).mean()
penalty.backward()  # error
""",
    [(".sum().backward()", ".sum().backward(create_graph=True)")],
)

scenario(
    "pinn_detached_input",
    "broken-graph",
    "keep-graph",
    """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.rand(5, 1, requires_grad=True)
u = net(x.detach())  # fix
u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]  # error
""",
    [("x.detach()", "x")],
)

scenario(
    "optimizer_to_device",
    "nonleaf-grad",
    "make-leaf",
    """
class Prompt:
    def __init__(self, n):
        self.vec = nn.Parameter(torch.randn(n)).double()  # fix made
prompt = Prompt(4)
opt = torch.optim.Adam([{"params": [prompt.vec]}])  # error
""",
    [("nn.Parameter(torch.randn(n)).double()", "nn.Parameter(torch.randn(n).double())")],
)

scenario(
    "grad_saved_in_variable",
    "nonleaf-grad",
    "retain-grad",
    """
net, head = nn.Linear(3, 4), nn.Linear(4, 1)
class Cam:
    def __init__(self):
        self.acts = None
    def run(self, x):
        self.acts = net(x)  # fix
        head(self.acts).sum().backward()
        weights = self.acts.grad
        return weights.mean(0)  # error
Cam().run(torch.randn(2, 3))
""",
    [("  # fix\n", "\n        self.acts.retain_grad()\n")],
)

scenario(
    "grad_filtered_warnings",
    "nonleaf-grad",
    "retain-grad",
    """
import warnings
warnings.filterwarnings("ignore")
net, head = nn.Linear(3, 4), nn.Linear(4, 1)
feats = net(torch.randn(2, 3))  # fix
head(feats).sum().backward()
print(feats.grad.norm())  # error
""",
    [("  # fix\n", "\nfeats.retain_grad()\n")],
)

scenario(
    "checkpoint_reentrant",
    "broken-graph",
    "fix-checkpoint-call",
    """
from torch.utils.checkpoint import checkpoint
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 3)
loss = checkpoint(net, x, use_reentrant=True).mean()  # fix
loss.backward()  # error
""",
    [("use_reentrant=True", "use_reentrant=False")],
)

scenario(
    "custom_function_saved",
    "inplace-after-save",
    "clone-before-inplace",
    """
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors  # error
        return 2 * x * g
lin = nn.Linear(3, 3)
h = lin(torch.randn(2, 3))
out = Sq.apply(h)
h.clamp_(0)  # fix
(out + h).sum().backward()
""",
    [("h.clamp_(0)", "h = h.clamp(0)")],
)

scenario(
    "one_optimize_method_for_two_losses",
    "param-updated-before-backward",
    "reorder-step",
    """
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
class GAN:
    def compute(self, z):
        self.fake = G(z)
        self.score = D(self.fake)
        self.d_loss = D(self.fake.detach()).mean() + 1
        self.g_loss = -self.score.mean()
    def optimize(self, opt, loss):
        opt.zero_grad()
        loss.backward()  # error fix
        opt.step()  # made
    def step(self):
        self.compute(torch.randn(3, 2))
        self.optimize(od, self.d_loss)
        self.optimize(og, self.g_loss)
g = GAN()
for _ in range(3):
    g.step()
""",
    [
        ("        self.g_loss = -self.score.mean()\n", ""),
        (
            "        self.optimize(og, self.g_loss)",
            "        self.g_loss = -D(self.fake).mean()\n        self.optimize(og, self.g_loss)",
        ),
        ("        self.score = D(self.fake)\n", ""),
    ],
)

scenario(
    "handled_then_exit",
    "non-scalar",
    "reduce-loss",
    """
import sys, traceback
net = nn.Linear(3, 2)
def main():
    out = net(torch.randn(2, 3))
    out.backward()  # error fix
try:
    main()
except Exception:
    traceback.print_exc()
    sys.exit(1)
""",
    [("out.backward()", "out.sum().backward()")],
)

scenario(
    "reraised_from_none",
    "inplace-after-save",
    "clone-before-inplace",
    """
net = nn.Linear(3, 2)
class TrainingError(Exception): pass
def step():
    h = net(torch.randn(2, 3)).exp()
    h[0] = 0  # fix
    try:
        h.sum().backward()  # error
    except RuntimeError as e:
        raise TrainingError("batch failed") from None
step()
""",
    [("h[0] = 0", "h = h * 2")],
)

scenario(
    "item_mean_of_losses",
    "broken-graph",
    "keep-graph",
    """
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
class Meter:
    def __init__(self): self.total, self.n = 0.0, 0
    def update(self, v): 
        self.total += float(v)  # fix
        self.n += 1
    def mean(self): return torch.tensor(self.total / self.n)
for _ in range(2):
    m = Meter()
    for _ in range(3):
        m.update(net(torch.randn(4, 3)).pow(2).mean())
    loss = m.mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [("float(v)", "v"), ("torch.tensor(self.total / self.n)", "self.total / self.n")],
)

scenario(
    "model_attribute_weight_norm",
    "param-updated-before-backward",
    "reorder-step",
    """
import copy
class EMA:
    def __init__(self, m): self.m = copy.deepcopy(m)
    @torch.no_grad()
    def update(self, m):
        for a, b in zip(self.m.parameters(), m.parameters()):
            a.lerp_(b, 0.1)
student = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
ema = EMA(student)
opt = torch.optim.SGD(student.parameters(), lr=.1)
for _ in range(2):
    x = torch.randn(4, 3, requires_grad=True)
    loss = (student(x) - ema.m(x)).pow(2).mean()
    ema.update(student)  # fix
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
)

scenario(
    "requires_flag",
    "nonleaf-grad",
    "detach",
    """
net = nn.Linear(3, 2)
h = net(torch.randn(2, 3))
h.requires_grad = False  # error fix
""",
    [("h.requires_grad = False", "h = h.detach()")],
)

scenario(
    "view_inplace_multi",
    "inplace-after-save",
    "clone-before-inplace",
    """
lin = nn.Linear(3, 4)
for _ in range(2):
    a, b = lin(torch.randn(2, 3)).split(2, dim=1)
    a.add_(b)  # error fix
    a.sum().backward()
""",
    [("a.add_(b)", "a = a + b")],
)

scenario(
    "no_grad_view_written",
    "inplace-after-save",
    "clone-before-inplace",
    """
w = torch.randn(4, requires_grad=True)
with torch.no_grad():
    head = w[:2]
head.mul_(2)  # error fix
""",
    [("head.mul_(2)", "head = head * 2")],
)

scenario(
    "round_ste",
    "broken-graph",
    "keep-graph",
    """
class Q(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.randn(3))
    def forward(self, x):
        w = (self.w * 4).to(torch.int8)  # fix
        return x @ (w.float() / 4)
m = Q(); opt = torch.optim.SGD(m.parameters(), lr=.1)
m(torch.randn(2, 3)).sum().backward()  # error
""",
    [("(self.w * 4).to(torch.int8)", "self.w * 4")],
)

scenario(
    "empty_list",
    "stale-optimizer-params",
    "register-modules",
    """
class Base(nn.Module):
    pass
class Net(Base):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 3) for _ in range(2)]  # fix
    def forward(self, x):
        for l in self.layers: x = l(x)
        return x
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.1)  # error
Trainer(Net())
""",
    [("[nn.Linear(3, 3) for _ in range(2)]", "nn.ModuleList([nn.Linear(3, 3)])")],
)

scenario(
    "used_up",
    "stale-optimizer-params",
    "rebuild-optimizer",
    """
net = nn.Linear(3, 2)
params = net.parameters()
print(sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)  # fix error
""",
    [("SGD(params,", "SGD(net.parameters(),")],
)

scenario(
    "history_lost_before_vmap",
    "broken-graph",
    "keep-graph",
    """
def energy(x):
    return (x**2).sum()


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    points = net(torch.randn(4, 3)).expand(4, 3).detach()  # fix made
    forces = torch.func.vmap(torch.func.grad(energy))(points)
    loss = forces.pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error
    opt.step()
""",
    [(".detach()", "")],
)

scenario(
    "same_formula_sent_back_twice",
    "same-loss-twice",
    "remove-extra-backward",
    """
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    out = net(torch.randn(4, 3))
    fit, size = out.pow(2).mean(), out.abs().mean()  # made
    opt.zero_grad()
    (fit + 0.5 * size).backward()
    (fit + 0.5 * size).backward()  # error fix
    opt.step()
""",
    [("    (fit + 0.5 * size).backward()\n    (fit", "    (fit")],
)


QUIET = {
    # programs about which this part of the doctor has nothing to say
    "data_write_not_seen": HEAD
    + """
w = torch.randn(3, requires_grad=True)
y = w.exp()
y.data.mul_(2)
y.sum().backward()
""",
    "grad_none_optimizer": HEAD
    + """
net = nn.Linear(3, 2)
print(net.weight.grad.norm())
""",
    "handled_backward_error": HEAD
    + """
net = nn.Linear(3, 2)
for _ in range(2):
    out = net(torch.randn(2, 3))
    try:
        out.backward()
    except RuntimeError:
        out.sum().backward()
""",
    "swallowed_then_other": HEAD
    + """
net = nn.Linear(3, 2)
try:
    net(torch.randn(2, 3)).backward()
except RuntimeError:
    pass
raise KeyError("config")
""",
    "user_attribute_error": HEAD
    + """
net = nn.Linear(3, 2)
net(torch.randn(2, 3)).sum().backward()
x = None
x.foo
""",
}
