"""train() of the whole puts the frozen teacher into training too: its dropout makes the targets."""

import torch
import torch.nn.functional as F
from torch import nn


def network(width):
    return nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 3))


class Distiller(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher.eval(), student
        for p in self.teacher.parameters():
            p.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            soft = self.teacher(x).softmax(-1)  # freeze-without-effect: train-mode
        return F.kl_div(self.student(x).log_softmax(-1), soft, reduction="batchmean")


torch.manual_seed(0)
model = Distiller(network(32), network(8))
opt = torch.optim.AdamW(model.student.parameters(), 1e-3)
for epoch in range(3):
    model.train()
    for _ in range(4):
        loss = model(torch.randn(8, 5))
        opt.zero_grad()
        loss.backward()
        opt.step()
