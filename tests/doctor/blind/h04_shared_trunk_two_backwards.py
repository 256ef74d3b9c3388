import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(104)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.age = nn.Linear(32, 1)
        self.sex = nn.Linear(32, 2)

    def forward(self, x):
        f = self.trunk(x)
        return self.age(f), self.sex(f)


def trunk_grad(model):
    return torch.cat([p.grad.flatten() for p in model.trunk.parameters()]).clone()


w1, w2 = torch.randn(6, 1), torch.randn(6, 2)
model = MultiTask()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    x = torch.randn(64, 6)
    age, sex = x @ w1, (x @ w2).argmax(1)
    p_age, p_sex = model(x)
    loss_age = F.mse_loss(p_age, age)
    loss_sex = F.cross_entropy(p_sex, sex)

    opt.zero_grad()
    loss_age.backward(retain_graph=True)  # trunk is needed once more below
    g_age = trunk_grad(model)
    loss_sex.backward()
    g_sex = trunk_grad(model) - g_age
    conflict = F.cosine_similarity(g_age, g_sex, dim=0).item()
    opt.step()
    if step % 50 == 0:
        print(f"{step} age {loss_age.item():.3f} sex {loss_sex.item():.3f} cosine of gradients {conflict:+.2f}")
