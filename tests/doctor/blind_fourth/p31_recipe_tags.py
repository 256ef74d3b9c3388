import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
torch.set_num_threads(1)
PAD, VOCAB, TAGS = 0, 40, 5


class BagOfIngredients(nn.Module):
    def __init__(self, vocab, dim, tags):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.classifier = nn.Linear(dim, tags)

    def forward(self, ids):
        return self.classifier(self.table(ids).sum(dim=1))

    def blank_padding(self):
        self.table.weight[PAD] = 0.0


def recipes(n):
    ids = torch.randint(1, VOCAB, (n, 8))
    cut = torch.randint(3, 9, (n,))
    ids[torch.arange(8)[None, :] >= cut[:, None]] = PAD
    target = torch.zeros(n, TAGS)
    for tag in range(TAGS):
        target[:, tag] = ((ids % TAGS == tag) & (ids != PAD)).any(dim=1).float()
    return ids, target


ids, target = recipes(300)
model = BagOfIngredients(VOCAB, 16, TAGS)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(30):
    order = torch.randperm(len(ids))
    epoch_loss = 0.0
    for chunk in order.split(50):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(ids[chunk]), target[chunk])
        loss.backward()
        optimizer.step()
        model.blank_padding()
        epoch_loss += loss.item()
    if epoch % 10 == 9:
        print(epoch + 1, round(epoch_loss / 6, 4), model.table.weight[PAD].abs().sum().item())
