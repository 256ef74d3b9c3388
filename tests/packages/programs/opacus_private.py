"""opacus: training with differential privacy, a gradient for each example, and the budget spent."""

import warnings

import torch
import torch.nn as nn
from opacus import PrivacyEngine
from opacus.validators import ModuleValidator

warnings.simplefilter("ignore")
torch.manual_seed(0)
images, labels = torch.randn(32, 1, 8, 8), torch.randint(3, (32,))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=8)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 3)
)
model = ModuleValidator.fix(model)
print(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
engine = PrivacyEngine(accountant="rdp")
model, optimizer, data = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=data,
    noise_multiplier=1.0,
    max_grad_norm=1.0,
)
for epoch in range(2):
    for batch, wanted in data:
        loss = nn.functional.cross_entropy(model(batch), wanted)
        optimizer.zero_grad()
        loss.backward()
        sizes = [tuple(p.grad_sample.shape) for p in model.parameters()]
        optimizer.step()
        print(epoch, len(batch), f"{loss.item():.6f}", sizes[0])
    print("epsilon", f"{engine.get_epsilon(1e-5):.4f}")
