"""Personalised keyboards: a shared model plus a small per-user offset of the last layer."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(19)
USERS, KEYS = 3, 8


class Keyboard(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.touch = nn.Sequential(nn.Linear(2, width), nn.Tanh())
        self.layout = nn.Linear(width, KEYS)

    def forward(self, touches):
        return self.layout(self.touch(touches))


class Personal(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.offsets = nn.ParameterList(torch.zeros(KEYS) for _ in range(USERS))

    def weights_for(self, user):
        weights = dict(self.base.state_dict())
        weights["layout.bias"] = weights["layout.bias"] + self.offsets[user]
        return weights

    def forward(self, touches, user):
        return functional_call(self.base, self.weights_for(user), (touches,))


def session(user, n=16):
    key = torch.randint(0, KEYS, (n,))
    where = torch.stack([key % 4, key // 4], 1).float() + 0.1 * user
    return where + 0.2 * torch.randn(n, 2), key


model = Personal(Keyboard())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    total = 0.0
    for user in range(USERS):
        touches, key = session(user)
        loss = F.cross_entropy(model(touches, user), key)
        loss = loss + 1e-3 * model.offsets[user].square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, f"{total / USERS:.4f}")
