"""Noise drawn into buffers in place, a distribution built by `index_add_`, priorities by NumPy."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
ATOMS, ACTIONS = 11, 3


class NoisyLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight_mu = nn.Parameter(0.3 * torch.randn(outputs, inputs))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), 0.1))
        self.bias_mu = nn.Parameter(torch.zeros(outputs))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), 0.1))
        self.register_buffer("weight_epsilon", torch.empty(outputs, inputs))
        self.register_buffer("bias_epsilon", torch.empty(outputs))
        self.reset_noise()

    def reset_noise(self):
        a, b = torch.randn(self.weight_mu.shape[1]), torch.randn(self.weight_mu.shape[0])
        self.weight_epsilon.copy_(b.ger(a))
        self.bias_epsilon.copy_(b)

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        weight = self.weight_mu + self.weight_sigma * self.weight_epsilon
        return F.linear(x, weight, self.bias_mu + self.bias_sigma * self.bias_epsilon)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.value, self.advantage = NoisyLinear(16, ATOMS), NoisyLinear(16, ACTIONS * ATOMS)

    def forward(self, x, log=False):
        x = F.relu(self.body(x))
        v, a = self.value(x).view(-1, 1, ATOMS), self.advantage(x).view(-1, ACTIONS, ATOMS)
        q = v + a - a.mean(1, keepdim=True)
        return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)

    def reset_noise(self):
        self.value.reset_noise()
        self.advantage.reset_noise()


support = torch.linspace(-1, 1, ATOMS)
delta = 2 / (ATOMS - 1)
online, target = DQN(), DQN()
target.load_state_dict(online.state_dict())
for param in target.parameters():
    param.requires_grad = False
optimiser = torch.optim.Adam(online.parameters(), lr=1e-3, eps=1.5e-4)
for step in range(16):
    if step % 2 == 0:
        online.reset_noise()
    with torch.no_grad():
        chosen = (online(torch.randn(1, 4)) * support).sum(2).argmax(1).item()
    states, next_states = torch.randn(8, 4), torch.randn(8, 4)
    actions, returns, weights = torch.randint(0, ACTIONS, (8,)), torch.rand(8), torch.rand(8)
    log_ps_a = online(states, log=True)[range(8), actions]
    with torch.no_grad():
        best = (online(next_states) * support).sum(2).argmax(1)
        target.reset_noise()
        pns_a = target(next_states)[range(8), best]
        tz = (returns.unsqueeze(1) + 0.9 * support.unsqueeze(0)).clamp(min=-1, max=1)
        b = (tz + 1) / delta
        low, high = b.floor().to(torch.int64), b.ceil().clamp(max=ATOMS - 1).to(torch.int64)
        low[(high > 0) * (low == high)] -= 1
        high[(low < (ATOMS - 1)) * (low == high)] += 1
        m = states.new_zeros(8, ATOMS)
        offset = torch.linspace(0, 7 * ATOMS, 8).unsqueeze(1).expand(8, ATOMS).to(actions)
        m.view(-1).index_add_(0, (low + offset).view(-1), (pns_a * (high.float() - b)).view(-1))
        m.view(-1).index_add_(0, (high + offset).view(-1), (pns_a * (b - low.float())).view(-1))
    loss = -torch.sum(m * log_ps_a, 1)
    online.zero_grad()
    (weights * loss).mean().backward()
    optimiser.step()
    priorities = loss.detach().cpu().numpy()
    if step % 5 == 0:
        target.load_state_dict(online.state_dict())
print(chosen, priorities.sum())
