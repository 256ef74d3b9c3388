import torch
from torch import nn

from bags import make_bags
from model import BagClassifier

torch.manual_seed(0)

model = BagClassifier(features=5)
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
bags = make_bags(24)

for epoch in range(8):
    epoch_loss = 0.0
    for bag, label in bags:
        optimizer.zero_grad()
        loss = criterion(model(bag), label)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(bags)
    print(f"epoch {epoch}: {epoch_loss:.4f}")
