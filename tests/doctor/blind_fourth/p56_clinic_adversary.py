"""Predict a diagnosis from features that must not tell the clinic (domain adversarial)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(63)
torch.set_num_threads(1)


def patients(n):
    sick = torch.randint(0, 2, (n,))
    clinic = torch.randint(0, 2, (n,))
    x = torch.randn(n, 8)
    x[:, 0] += 2.5 * sick
    x[:, 1] += 2.0 * clinic
    return x, sick, clinic


features = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 8))
diagnosis = nn.Linear(8, 2)
adversary = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
modules = nn.ModuleList([features, diagnosis, adversary])
optimizer = torch.optim.Adam(modules.parameters(), lr=4e-3)

sizes = []


def watch(module, inputs, output):
    sizes.append(output.detach().norm(dim=1).mean().item())


handle = features.register_forward_hook(watch)

for step in range(200):
    strength = min(1.0, step / 100)
    x, sick, clinic = patients(96)
    z = features(x)
    loss_diagnosis = F.cross_entropy(diagnosis(z), sick)

    reversed_z = z.view_as(z)
    reversed_z.register_hook(lambda g: -strength * g)
    loss_clinic = F.cross_entropy(adversary(reversed_z), clinic)

    loss = loss_diagnosis + 0.5 * loss_clinic
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"{step + 1} diagnosis {loss_diagnosis.item():.3f} clinic {loss_clinic.item():.3f}")

handle.remove()
x, sick, clinic = patients(500)
with torch.no_grad():
    print("diagnosis accuracy", (diagnosis(features(x)).argmax(1) == sick).float().mean().item())
print("mean size of features", sum(sizes) / len(sizes), "calls", len(sizes))
