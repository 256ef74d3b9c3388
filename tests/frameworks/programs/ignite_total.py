"""An Ignite engine whose handler keeps the graph of every loss in a sum."""

import torch
from ignite.engine import Engine, Events

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
batches = [(torch.randn(4, 4), torch.randn(4, 1)) for _ in range(12)]
total = 0.0


def update(engine, batch):
    x, y = batch
    optimizer.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss


trainer = Engine(update)


@trainer.on(Events.ITERATION_COMPLETED)
def add_up(engine):
    global total
    total = total + engine.state.output  # fault


trainer.run(batches, max_epochs=2)
