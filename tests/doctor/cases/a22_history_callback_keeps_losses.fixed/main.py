import torch
import torch.nn as nn

from callbacks import BestEpoch, History
from loop import Trainer

torch.manual_seed(0)


def spirals(n):
    t = torch.rand(n) * 4 + 0.5
    label = torch.randint(0, 2, (n,))
    angle = t + torch.pi * label
    return torch.stack([t * angle.cos(), t * angle.sin()], dim=1), label


model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
history = History()
trainer = Trainer(
    model=model,
    loss_fn=nn.CrossEntropyLoss(),
    optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
    callbacks=[history, BestEpoch()],
)
batches = [spirals(24) for _ in range(6)]
trainer.fit(batches, epochs=4)
print("per epoch", [round(v, 3) for v in history.epoch_means()])
