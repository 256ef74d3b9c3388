"""Weights and architecture in turn: gradients written into `.grad`, weights shifted through `.data`."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.paths = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
        self.out = nn.Linear(6, 2)
        self.alphas = (1e-3 * torch.randn(3)).requires_grad_()

    def arch_parameters(self):
        return [self.alphas]

    def forward(self, x):
        weights = F.softmax(self.alphas, dim=-1)
        return self.out(sum(w * torch.tanh(path(x)) for w, path in zip(weights, self.paths)))

    def loss(self, x, y):
        return F.cross_entropy(self(x), y)


def concat(tensors):
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


class Architect:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.arch_parameters(), lr=3e-3, betas=(0.5, 0.999))

    def unrolled(self, x, y, rate):
        loss = self.model.loss(x, y)
        theta = concat(self.model.parameters()).data
        dtheta = concat(torch.autograd.grad(loss, list(self.model.parameters()))).data
        moved = theta.sub(rate * (dtheta + 3e-4 * theta))
        clone, offset = Network(), 0
        clone.alphas.data.copy_(self.model.alphas.data)
        state = self.model.state_dict()
        for name, p in self.model.named_parameters():
            state[name] = moved[offset : offset + p.numel()].view(p.size())
            offset += p.numel()
        clone.load_state_dict(state)
        return clone

    def step(self, train, valid, rate):
        self.optimizer.zero_grad()
        model = self.unrolled(*train, rate)
        loss = model.loss(*valid)
        grads = torch.autograd.grad(loss, model.arch_parameters(), retain_graph=True)
        dtheta = torch.autograd.grad(loss, list(model.parameters()))
        vector = [d.data for d in dtheta]
        for g, second in zip(grads, self.hessian_vector(vector, *train)):
            g.data.sub_(rate * second.data)
        for v, g in zip(self.model.arch_parameters(), grads):
            if v.grad is None:
                v.grad = g.data
            else:
                v.grad.data.copy_(g.data)
        nn.utils.clip_grad_norm_(self.model.arch_parameters(), 10.0)
        self.optimizer.step()

    def hessian_vector(self, vector, x, y, r=1e-2):
        R = r / concat(vector).norm()
        found = []
        for shift in (R, -2 * R):
            for p, v in zip(self.model.parameters(), vector):
                p.data.add_(shift * v)
            loss = self.model.loss(x, y)
            found.append(torch.autograd.grad(loss, self.model.arch_parameters()))
        for p, v in zip(self.model.parameters(), vector):
            p.data.add_(R * v)
        return [(a - b).div_(2 * R) for a, b in zip(*found)]


model = Network()
architect = Architect(model)
optimizer = torch.optim.SGD(model.parameters(), 0.025, momentum=0.9, weight_decay=3e-4)
total = 0.0
for _ in range(14):
    train = torch.randn(8, 6), torch.randint(0, 2, (8,))
    valid = torch.randn(8, 6), torch.randint(0, 2, (8,))
    architect.step(train, valid, 0.025)
    optimizer.zero_grad()
    loss = model.loss(*train)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    total += loss.item()
print(total, model.alphas.tolist())
