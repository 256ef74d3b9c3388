from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Task:
    name: str
    column: int
    sign: float

    def loss(self, model, x):
        prediction = model(x)[:, self.column]
        return (prediction - self.sign * x[:, 0] * x[:, self.column + 1]).square().mean()


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def write_gradient(parameters, vector):
    offset = 0
    for p in parameters:
        p.grad = vector[offset : offset + p.numel()].view_as(p).clone()
        offset += p.numel()


def projected(gradients):
    result = []
    for i, g in enumerate(gradients):
        g = g.clone()
        for j, other in enumerate(gradients):
            dot = g @ other
            if i != j and dot < 0:
                g -= dot / other.square().sum() * other
        result.append(g)
    return torch.stack(result).sum(0)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
    parameters = list(model.parameters())
    tasks = [Task("left", 0, 1.0), Task("right", 1, -1.0)]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    x = torch.randn(160, 4)
    for step in range(60):
        losses = [task.loss(model, x) for task in tasks]
        gradients = [flat(torch.autograd.grad(loss, parameters)) for loss in losses]
        write_gradient(parameters, projected(gradients))
        optimizer.step()
        if step % 20 == 19:
            print(step, {task.name: round(loss.item(), 4) for task, loss in zip(tasks, losses)})

    polish = torch.optim.LBFGS(parameters, lr=0.5, max_iter=10)

    def closure():
        polish.zero_grad()
        loss = sum(task.loss(model, x) for task in tasks)
        loss.backward()
        return loss

    polish.step(closure)
    with torch.no_grad():
        print("after polishing", round(sum(t.loss(model, x) for t in tasks).item(), 4))


if __name__ == "__main__":
    main()
