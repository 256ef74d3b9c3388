# Backward twice through one graph, once per parameter set, with different signs (domain adversary
# without a reversal layer). The first call keeps the graph, the second releases it.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
label_head, domain_head = nn.Linear(16, 3), nn.Linear(16, 2)
task_params = [*encoder.parameters(), *label_head.parameters()]
optimizer = torch.optim.Adam([*task_params, *domain_head.parameters()], lr=3e-3)

for step in range(6):
    domain = torch.arange(20) % 2
    x = torch.randn(20, 8) + 0.5 * domain[:, None]
    y = x[:, :3].argmax(1)
    code = encoder(x)
    label_loss = F.cross_entropy(label_head(code), y)
    domain_loss = F.cross_entropy(domain_head(code), domain)

    optimizer.zero_grad()
    (label_loss - 0.3 * domain_loss).backward(retain_graph=True, inputs=task_params)
    domain_loss.backward(inputs=list(domain_head.parameters()))
    optimizer.step()
    print(step, f"{label_loss.item():.3f} {domain_loss.item():.3f}")
