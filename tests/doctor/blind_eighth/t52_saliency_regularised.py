"""Right-for-the-right-reasons training: penalise input gradients on forbidden features."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)

N, D = 240, 12
x_all = torch.randn(N, D)
y_all = (x_all[:, 0] + x_all[:, 1] > 0).long()
x_all[:, -1] = y_all.float() * 2 - 1 + 0.1 * torch.randn(N)     # a shortcut feature
forbidden = torch.zeros(D)
forbidden[-1] = 1.0

model = nn.Sequential(nn.Linear(D, 32), nn.Softplus(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def explain(xb):
    """Plain saliency for the report; leaves no trace in the parameters."""
    was = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(False)
    xb = xb.clone().requires_grad_()
    model(xb).max(dim=1).values.sum().backward()
    for p, flag in zip(model.parameters(), was):
        p.requires_grad_(flag)
    return xb.grad.abs().mean(0)


for epoch in range(30):
    for idx in torch.randperm(N).split(60):
        xb = x_all[idx].requires_grad_()
        logits = model(xb)
        log_p = F.log_softmax(logits, dim=1)
        (gx,) = torch.autograd.grad(log_p.sum(), xb, create_graph=True)
        right_reasons = (gx * forbidden).pow(2).sum(1).mean()
        loss = F.nll_loss(log_p, y_all[idx]) + 10.0 * right_reasons
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        s = explain(x_all)
        print(f"epoch {epoch + 1} loss {loss.item():.4f} shortcut saliency {s[-1]:.4f} real {s[0]:.4f}")
