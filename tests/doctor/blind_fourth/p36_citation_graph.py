# graph convolution on a toy citation graph with learned edge weights
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
torch.set_num_threads(1)
n, classes = 60, 3

label = torch.arange(n) % classes
same = label[:, None] == label[None, :]
edges = ((torch.rand(n, n) < 0.15) & same) | (torch.rand(n, n) < 0.04)
edges = (edges | edges.T).float()
edges.fill_diagonal_(1)
feat = torch.randn(n, 10) + 0.8 * F.one_hot(label, 10).float()
train_mask = torch.rand(n) < 0.4


class EdgeWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Parameter(torch.zeros(n, n))

    def forward(self):
        w = edges * torch.sigmoid(self.score)
        return w / w.sum(dim=1, keepdim=True)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1 = nn.Linear(10, 16)
        self.lin2 = nn.Linear(16, classes)

    def forward(self, x, prop):
        x = torch.relu(prop @ self.lin1(x))
        return prop @ self.lin2(F.dropout(x, 0.2, self.training))


edge_weights, gcn = EdgeWeights(), GCN()
params = list(edge_weights.parameters()) + list(gcn.parameters())
optimizer = torch.optim.Adam(params, lr=0.02, weight_decay=5e-4)

prop = edge_weights()
for epoch in range(60):
    gcn.train()
    optimizer.zero_grad()
    logits = gcn(feat, prop)
    loss = F.cross_entropy(logits[train_mask], label[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        gcn.eval()
        with torch.no_grad():
            acc = (gcn(feat, prop).argmax(1) == label)[~train_mask].float().mean()
        print(epoch, f"loss {loss.item():.3f} test accuracy {acc.item():.2f}")
