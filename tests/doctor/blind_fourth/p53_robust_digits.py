import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
torch.set_num_threads(1)
EPS = 0.15


def fake_digits(n):
    label = torch.randint(0, 5, (n,))
    image = 0.3 * torch.randn(n, 1, 10, 10)
    for i, k in enumerate(label.tolist()):
        image[i, 0, 2 * k:2 * k + 2] += 1.0
    return image, label


class TinyCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
        )
        self.fc = nn.Linear(8 * 5 * 5, 5)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


model = TinyCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(60):
    x, y = fake_digits(32)
    x.requires_grad_(True)
    clean_loss = F.cross_entropy(model(x), y)

    # fast gradient sign example
    grad_x, = torch.autograd.grad(clean_loss, x)
    x_adv = (x + EPS * grad_x.sign()).detach()
    adv_loss = F.cross_entropy(model(x_adv), y)

    loss = 0.5 * clean_loss + 0.5 * adv_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, f"clean {clean_loss.item():.3f} adversarial {adv_loss.item():.3f}")

x, y = fake_digits(200)
print("accuracy", (model(x).argmax(1) == y).float().mean().item())
