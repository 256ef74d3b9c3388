import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
torch.set_num_threads(1)

# about 10 percent of the transactions are fraudulent
amount = torch.randn(800, 5)
score = amount @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5]) + 0.3 * torch.randn(800)
is_fraud = (score > score.quantile(0.9)).float()
dataset = TensorDataset(amount, is_fraud)
loader = DataLoader(dataset, batch_size=100, shuffle=True)

model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
criterion = nn.BCEWithLogitsLoss(reduction="none")
fraud_weight = 9.0


def recall_of(model):
    model.eval()
    with torch.no_grad():
        hit = (model(amount).squeeze(1) > 0).float()
    model.train()
    return ((hit * is_fraud).sum() / is_fraud.sum()).item()


for epoch in range(10):
    seen = 0.0
    for xb, yb in loader:
        logits = model(xb).squeeze(1)
        weight = torch.where(yb > 0, fraud_weight, 1.0)
        loss = criterion(logits, yb) * weight
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += loss.detach().sum().item()
    print(f"epoch {epoch}: {seen / len(loader):.3f}, recall {recall_of(model):.2f}")
