"""torchopt: functional Adam, and meta-learning through the steps of an optimizer."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchopt

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
inputs, wanted = torch.randn(16, 4), torch.randn(16, 1)

parameters = tuple(model.parameters())
adam = torchopt.adam(lr=0.01)
state = adam.init(parameters)
for step in range(3):
    loss = F.mse_loss(model(inputs), wanted)
    gradients = torch.autograd.grad(loss, parameters)
    updates, state = adam.update(gradients, state, inplace=False)
    parameters = torchopt.apply_updates(parameters, updates)
    print("adam", step, f"{loss.item():.6f}")

outer = torch.optim.SGD(model.parameters(), lr=0.1)
inner = torchopt.MetaAdam(model, lr=0.05)
start = torchopt.extract_state_dict(model, by="reference", detach_buffers=True)
begin = torchopt.extract_state_dict(inner, by="reference")
for step in range(3):
    for _ in range(2):
        inner.step(F.mse_loss(model(inputs), wanted))
    loss = F.mse_loss(model(inputs), wanted)
    torchopt.recover_state_dict(model, start)
    torchopt.recover_state_dict(inner, begin)
    outer.zero_grad()
    loss.backward()
    outer.step()
    print("meta", step, f"{loss.item():.6f}")
