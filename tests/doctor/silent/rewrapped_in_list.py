import torch
import torch.nn as nn
import torch.nn.functional as F
models = [nn.Linear(4, 2) for _ in range(2)]
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
for step in range(4):
    x, y = torch.randn(8, 4), torch.randint(2, (8,))
    outputs = [model(x) for model in models]
    mean = torch.stack([F.softmax(out.detach(), dim=1) for out in outputs]).mean(0)
    for model, optimizer, out in zip(models, optimizers, outputs):
        loss = F.cross_entropy(out, y) + F.kl_div(F.log_softmax(out, 1), mean, reduction="batchmean")
        optimizer.zero_grad()
        loss = torch.tensor(loss.item(), requires_grad=True)  # broken-graph: keep-graph
        loss.backward()
        optimizer.step()
