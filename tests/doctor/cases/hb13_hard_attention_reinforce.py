import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Glimpse(nn.Module):
    """Looks at one of the patches and classifies it."""

    def __init__(self, patches=5, dim=6, classes=3):
        super().__init__()
        self.where = nn.Linear(dim * patches, patches)
        self.what = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, classes))

    def forward(self, x):
        policy = Categorical(logits=self.where(x.flatten(1)))
        place = policy.sample()
        seen = x[torch.arange(len(x)), place]
        return self.what(seen), policy.log_prob(place), policy.entropy()


def scenes(n=96, patches=5, dim=6):
    y = torch.randint(0, 3, (n,))
    x = 0.1 * torch.randn(n, patches, dim)
    place = torch.randint(0, patches, (n,))
    x[torch.arange(n), place, y] += 2.0
    x[torch.arange(n), place, 5] += 2.0
    return x, y


torch.manual_seed(0)
model = Glimpse()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
baseline = 0.0
for step in range(100):
    x, y = scenes()
    logits, log_prob, entropy = model(x)
    reward = (logits.argmax(1) == y).float()
    classification = F.cross_entropy(logits, y)
    reinforce = -((reward - baseline) * log_prob).mean()
    loss = classification + reinforce - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    if step % 25 == 24:
        print(f"step {step} reward {reward.mean().item():.3f} baseline {baseline:.3f}")
