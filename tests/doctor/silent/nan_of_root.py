# distances of each point to all, itself included: the root of zero
import torch
torch.manual_seed(0)
embed = torch.nn.Linear(6, 3)
opt = torch.optim.Adam(embed.parameters(), lr=1e-2)
points = torch.randn(16, 6)
for step in range(5):
    z = embed(points)
    distance = ((z[:, None] - z[None]) ** 2).sum(-1).sqrt()  # nan-gradient: keep-finite
    loss = torch.relu(1.0 - distance).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
