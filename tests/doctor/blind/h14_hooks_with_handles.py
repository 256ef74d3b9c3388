import torch
import torch.nn as nn
import torch.nn.functional as F
from contextlib import contextmanager

torch.manual_seed(114)


@contextmanager
def capture(model, names):
    """Collect activations and the gradients that arrive at them."""
    acts, grads, handles = {}, {}, []
    modules = dict(model.named_modules())

    def forward_hook(name):
        def fn(mod, inp, out):
            acts[name] = out.detach()
            if out.requires_grad:
                out.register_hook(lambda g: grads.__setitem__(name, g.norm().item()))
        return fn

    for n in names:
        handles.append(modules[n].register_forward_hook(forward_hook(n)))
    try:
        yield acts, grads
    finally:
        for h in handles:
            h.remove()


model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))
# the first layer learns at half speed
for p in model[0].parameters():
    p.register_hook(lambda g: 0.5 * g)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(150):
    x = torch.rand(64, 4) * 2 - 1
    y = x.pow(2).sum(1, keepdim=True)
    with capture(model, ["1", "3"]) as (acts, grads):
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
    opt.step()
    if step % 50 == 0:
        dead = {k: round((a == 0).float().mean().item(), 2) for k, a in acts.items()}
        print(f"{step} loss {loss.item():.4f} zeros {dead} grads { {k: round(v, 4) for k, v in grads.items()} }")
