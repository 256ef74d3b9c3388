"""The targets are averages of several draws of a teacher whose dropout is on: a Bayesian teacher."""
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(5, 16), nn.Dropout(0.3), nn.Linear(16, 2)).requires_grad_(False)
student = nn.Linear(5, 2)
opt = torch.optim.SGD(student.parameters(), 0.05)
for _ in range(12):
    x = torch.randn(8, 5)
    with torch.no_grad():
        goal = torch.stack([teacher(x) for _ in range(5)]).mean(0)
    loss = F.mse_loss(student(x), goal)
    opt.zero_grad(); loss.backward(); opt.step()
