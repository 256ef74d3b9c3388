import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Accumulator:
    """Steps after every k-th micro-batch and once more for what is left at the end of an epoch."""

    def __init__(self, parameters, k, lr):
        self.parameters = list(parameters)
        self.optimizer = torch.optim.SGD(self.parameters, lr=lr, momentum=0.9)
        self.k, self.pending = k, 0

    def backward(self, loss):
        (loss / self.k).backward()
        self.pending += 1
        if self.pending == self.k:
            self.flush()

    def flush(self):
        if self.pending:
            nn.utils.clip_grad_norm_(self.parameters, 2.0)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=False)
            self.pending = 0


x = torch.randn(150, 6)
y = x @ torch.randn(6, 2) + 0.1 * torch.randn(150, 2)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
accumulator = Accumulator(model.parameters(), k=4, lr=0.02)
loader = DataLoader(TensorDataset(x, y), batch_size=10)
for epoch in range(8):
    running = 0.0
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        accumulator.backward(loss)
        running += loss.item()
    accumulator.flush()
    print(f"epoch {epoch} loss {running / len(loader):.4f}")
