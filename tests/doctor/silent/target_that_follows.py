"""A target network follows every tenth step: it is in training mode, as what it is a copy of."""
import copy
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
student = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), 0.05)
for step in range(40):
    x = torch.randn(8, 5)
    with torch.no_grad():
        goal = teacher(x)
    loss = F.mse_loss(student(x), goal) + student(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 10 == 9:
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.data.lerp_(b.data, 0.1)
