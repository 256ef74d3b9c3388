"""Fast weights from `autograd.grad` without a graph of it; the query losses of all tasks, one backward."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList()
        for shape in ((16, 4), (16,), (3, 16), (3,)):
            self.vars.append(nn.Parameter(0.3 * torch.randn(*shape)))

    def forward(self, x, weights=None):
        w = self.vars if weights is None else weights
        return F.linear(F.relu(F.linear(x, w[0], w[1])), w[2], w[3])

    def parameters(self):
        return self.vars


class Meta(nn.Module):
    def __init__(self, steps=4, tasks=3):
        super().__init__()
        self.steps, self.tasks = steps, tasks
        self.net = Learner()
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses_q = [0 for _ in range(self.steps + 1)]
        corrects = [0 for _ in range(self.steps + 1)]
        for i in range(self.tasks):
            loss = F.cross_entropy(self.net(x_spt[i]), y_spt[i])
            grad = torch.autograd.grad(loss, list(self.net.parameters()))
            fast = [p - 0.1 * g for g, p in zip(grad, self.net.parameters())]
            with torch.no_grad():
                logits = self.net(x_qry[i], self.net.parameters())
                losses_q[0] += F.cross_entropy(logits, y_qry[i])
                corrects[0] += logits.argmax(1).eq(y_qry[i]).sum().item()
            for k in range(1, self.steps):
                loss = F.cross_entropy(self.net(x_spt[i], fast), y_spt[i])
                grad = torch.autograd.grad(loss, fast)
                fast = [p - 0.1 * g for g, p in zip(grad, fast)]
                logits = self.net(x_qry[i], fast)
                losses_q[k + 1] += F.cross_entropy(logits, y_qry[i])
                with torch.no_grad():
                    corrects[k + 1] += logits.argmax(1).eq(y_qry[i]).sum().item()
        loss_q = losses_q[-1] / self.tasks
        self.meta_optim.zero_grad()
        loss_q.backward()
        self.meta_optim.step()
        return corrects


meta = Meta()
for _ in range(12):
    support, query = torch.randn(3, 6, 4), torch.randn(3, 6, 4)
    found = meta(support, torch.randint(0, 3, (3, 6)), query, torch.randint(0, 3, (3, 6)))
print(found)
