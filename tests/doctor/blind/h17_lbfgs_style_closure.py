import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(117)
feat = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)).requires_grad_(False)


def gram(f):
    f = f.flatten(2)
    return f @ f.transpose(1, 2) / f.size(-1)


content = torch.rand(1, 3, 12, 12)
style = torch.rand(1, 3, 12, 12) ** 2
with torch.no_grad():
    want_c, want_s = feat(content), gram(feat(style))

image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image], lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
calls = [0]
best = (float("inf"), None)


def closure():
    opt.zero_grad()
    f = feat(image)
    loss = 1e3 * F.mse_loss(f, want_c) + 1e5 * F.mse_loss(gram(f), want_s)
    loss.backward()
    calls[0] += 1
    return loss


for k in range(10):
    loss = opt.step(closure)
    if loss.item() < best[0]:
        best = (loss.item(), image.detach().clone())
    if k % 3 == 0:
        print(f"{k} loss {loss.item():.5f} closure calls {calls[0]}")
with torch.no_grad():
    image.copy_(best[1]).clamp_(0, 1)
print("best", round(best[0], 5), "final image", round(image.mean().item(), 3))
