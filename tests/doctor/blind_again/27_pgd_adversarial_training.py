import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 16, 3)

    def forward(self, x):
        x = F.avg_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def pgd(model, x, y, eps=0.15, alpha=0.05, steps=3):
    x_adv = x.clone().detach()
    x_adv = x_adv + torch.empty_like(x).uniform_(-eps, eps)
    x_adv.requires_grad_(True)
    for _ in range(steps):
        loss = F.cross_entropy(model(x_adv), y)
        model.zero_grad()
        loss.backward()
        step = alpha * x_adv.grad.sign()
        x_adv = torch.min(torch.max(x_adv + step, x - eps), x + eps)
    return x_adv.detach()


def bars(n):
    y = torch.randint(0, 3, (n,))
    img = 0.2 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        if c == 0:
            img[i, 0, 3] += 1
        elif c == 1:
            img[i, 0, :, 4] += 1
        else:
            img[i, 0] += 0.7 * torch.eye(8)
    return img, y


if __name__ == "__main__":
    torch.manual_seed(1)
    model = Net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for it in range(30):
        x, y = bars(32)
        adv = pgd(model, x, y)
        sgd.zero_grad()
        loss = F.cross_entropy(model(adv), y)
        loss.backward()
        sgd.step()
    print("robust loss", round(loss.item(), 3))
