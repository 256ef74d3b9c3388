import torch
import torch.nn.functional as F

torch.manual_seed(41)

INNER_LR, INNER_STEPS, TASKS, META_STEPS = 0.05, 3, 4, 60


def init_params():
    return [
        (torch.randn(24, 1) * 0.5).requires_grad_(),
        torch.zeros(24, requires_grad=True),
        (torch.randn(1, 24) * 0.2).requires_grad_(),
        torch.zeros(1, requires_grad=True),
    ]


def net(params, x):
    w1, b1, w2, b2 = params
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def sample_task():
    amp = 0.5 + torch.rand(1) * 1.5
    phase = torch.rand(1) * torch.pi

    def draw(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amp * torch.sin(x + phase)

    return draw


def adapt(params, x, y):
    fast = list(params)
    for _ in range(INNER_STEPS):
        loss = F.mse_loss(net(fast, x), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [(p - INNER_LR * g).detach().requires_grad_() for p, g in zip(fast, grads)]
    return fast


params = init_params()
meta_opt = torch.optim.Adam(params, lr=5e-3)
for step in range(META_STEPS):
    meta_opt.zero_grad()
    query_losses = []
    for _ in range(TASKS):
        draw = sample_task()
        fast = adapt(params, *draw(10))
        xq, yq = draw(20)
        query_losses.append(F.mse_loss(net(fast, xq), yq))
    meta_loss = torch.stack(query_losses).mean()
    meta_loss.backward()
    meta_opt.step()
    if step % 15 == 0:
        print(f"meta step {step:3d} query loss {meta_loss.item():.4f}")
