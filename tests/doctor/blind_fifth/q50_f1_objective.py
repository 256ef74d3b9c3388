import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
torch.set_num_threads(1)


class F1Loss(nn.Module):
    def __init__(self, epsilon=1e-7):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, y_pred, y_true):
        positive = y_pred.argmax(dim=1).float()
        y_true = y_true.float()
        tp = (y_true * positive).sum()
        fp = ((1 - y_true) * positive).sum()
        fn = (y_true * (1 - positive)).sum()
        precision = tp / (tp + fp + self.epsilon)
        recall = tp / (tp + fn + self.epsilon)
        f1 = 2 * precision * recall / (precision + recall + self.epsilon)
        return 1 - f1


class Classifier(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_features, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, x):
        return self.layers(x)


x = torch.randn(512, 8)
y = (x[:, 0] - 0.5 * x[:, 1] + 0.2 * torch.randn(512) > 0.8).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

clf = Classifier(8)
criterion = F1Loss()
optimizer = torch.optim.Adam(clf.parameters(), lr=5e-3)

for epoch in range(15):
    losses = []
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(clf(xb), yb)
        loss.requires_grad = True
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 7 == 0:
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
