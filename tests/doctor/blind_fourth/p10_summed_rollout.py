# imitation of a damped spring by rolling a learned model forward and summing the step losses
import torch
import torch.nn as nn

torch.manual_seed(60)
torch.set_num_threads(1)


class SpringModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(1, 24)
        self.readout = nn.Linear(24, 2)

    def step(self, force, h):
        h = self.cell(force, h)
        return self.readout(h), h


def reference(force):
    pos = torch.zeros(force.size(1))
    vel = torch.zeros(force.size(1))
    out = []
    for f in force:
        vel = vel + 0.3 * (f.squeeze(-1) - pos - 0.4 * vel)
        pos = pos + 0.3 * vel
        out.append(torch.stack([pos, vel], dim=-1))
    return out


model = SpringModel()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
log = []

for rollout in range(120):
    force = torch.randn(12, 32, 1)
    target = reference(force)
    h = torch.zeros(32, 24)
    total_loss = 0
    for t in range(12):
        state, h = model.step(force[t], h)
        step_loss = (state - target[t]).pow(2).mean()
        total_loss += step_loss
    optimizer.zero_grad()
    total_loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    log.append(total_loss.detach() / 12)
    if rollout % 30 == 29:
        print(rollout + 1, torch.stack(log[-10:]).mean().item())
