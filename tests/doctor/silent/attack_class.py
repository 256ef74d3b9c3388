import torch
import torch.nn as nn
import torch.nn.functional as F
class Attacker:
    def __init__(self, net, radius=0.2, rounds=3):
        self.net, self.radius, self.rounds = net, radius, rounds
    def perturb(self, x, y):
        worst = x.clone()
        for _ in range(self.rounds):
            worst = worst.detach().requires_grad_(True)
            loss = F.cross_entropy(self.net(worst), y)
            loss.backward()
            moved = worst + 0.1 * worst.grad.sign()
            worst = x + (moved - x).clamp(-self.radius, self.radius)
        return worst.detach()
def train_step(net, opt, attacker, x, y):
    opt.zero_grad()  # zero-grad-misuse: reorder-step
    worst = attacker.perturb(x, y)
    loss = F.cross_entropy(net(x), y) + F.cross_entropy(net(worst), y)
    loss.backward()
    opt.step()
    return loss.item()
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
attacker = Attacker(net)
for _ in range(6):
    train_step(net, opt, attacker, torch.randn(6, 4), torch.randint(0, 2, (6,)))
