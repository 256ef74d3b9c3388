# Learned mixing weights of several experts, trained jointly with the experts
import torch
import torch.nn as nn

torch.manual_seed(0)

n_experts = 4
experts = nn.ModuleList(
    nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(n_experts)
)
mix_logits = nn.Parameter(torch.zeros(n_experts))
optimizer = torch.optim.Adam([
    {"params": experts.parameters(), "lr": 1e-2},
    {"params": [mix_logits], "lr": 5e-2},
])
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)


def target(x):
    return torch.where(x > 0, torch.sin(3 * x), -0.5 * x)


def predict(x, weights):
    outs = torch.stack([e(x) for e in experts])
    return (weights.view(-1, 1, 1) * outs).sum(0)


weights = torch.softmax(mix_logits, dim=0)

for epoch in range(50):
    x = torch.rand(128, 1) * 4 - 2
    loss = (predict(x, weights) - target(x)).pow(2).mean()
    loss = loss + 1e-3 * (weights * weights.log()).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

print("weights", [round(w, 3) for w in torch.softmax(mix_logits, 0).tolist()])
