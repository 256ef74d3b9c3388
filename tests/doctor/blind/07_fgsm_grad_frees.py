import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def two_moons(n):
    t = torch.rand(n) * 3.1416
    y = torch.randint(0, 2, (n,))
    x0 = torch.stack([torch.cos(t), torch.sin(t)], 1)
    x1 = torch.stack([1 - torch.cos(t), 0.4 - torch.sin(t)], 1)
    x = torch.where(y[:, None] == 0, x0, x1) + 0.08 * torch.randn(n, 2)
    return x, y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.f(x)


def fgsm(model, x, y, eps):
    """Returns the perturbed batch together with the clean loss (saves a forward)."""
    x = x.clone().requires_grad_(True)
    clean_loss = F.cross_entropy(model(x), y)
    grad_x, = torch.autograd.grad(clean_loss, x)
    x_adv = (x + eps * grad_x.sign()).detach()
    return x_adv, clean_loss


def train_step(model, opt, x, y, eps=0.1, alpha=0.5):
    x_adv, clean_loss = fgsm(model, x, y, eps)
    adv_loss = F.cross_entropy(model(x_adv), y)
    loss = alpha * clean_loss + (1 - alpha) * adv_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    return clean_loss.item(), adv_loss.item()


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=40, gamma=0.3)
for step in range(100):
    x, y = two_moons(128)
    clean, adv = train_step(model, opt, x, y)
    sched.step()
    if step % 25 == 0:
        print(f"step {step} clean {clean:.3f} adv {adv:.3f} lr {sched.get_last_lr()[0]:.3f}")

x, y = two_moons(512)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
