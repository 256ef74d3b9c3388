import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(51)
torch.set_num_threads(1)


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 16), nn.SiLU())
        self.state = nn.Linear(16, 3)
        self.rebuild = nn.Linear(16, 10)

    def forward(self, x):
        z = self.encoder(x)
        return self.state(z), self.rebuild(z)


def encoder_norm(net):
    grads = [p.grad.flatten() for p in net.encoder.parameters()]
    return torch.cat(grads).norm().item()


def readings(n):
    state = torch.randint(0, 3, (n,))
    base = F.one_hot(state, 3).float().repeat_interleave(3, dim=1)
    x = torch.cat([base, state[:, None].float()], dim=1) + 0.2 * torch.randn(n, 10)
    return x, state


net = SensorNet()
optimizer = torch.optim.NAdam(net.parameters(), lr=4e-3)

for step in range(1, 121):
    x, state = readings(64)
    logits, rebuilt = net(x)
    loss_state = F.cross_entropy(logits, state)
    loss_rebuild = 0.5 * F.mse_loss(rebuilt, x)

    optimizer.zero_grad()
    loss_state.backward(retain_graph=True)
    from_state = encoder_norm(net)
    loss_rebuild.backward()
    from_both = encoder_norm(net)
    optimizer.step()

    if step % 30 == 0:
        print(f"{step} state {loss_state.item():.3f} rebuild {loss_rebuild.item():.3f}", end=" ")
        print(f"encoder gradient {from_state:.3f} then {from_both:.3f}")
