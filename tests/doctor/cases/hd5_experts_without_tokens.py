import torch
import torch.nn as nn
import torch.nn.functional as F


class SwitchLayer(nn.Module):
    def __init__(self, dim=8, experts=6):
        super().__init__()
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))

    def forward(self, x):
        probs = F.softmax(self.router(x), dim=-1)
        gate, choice = probs.max(dim=-1)
        out = torch.zeros_like(x)
        for k in choice.unique().tolist():
            rows = (choice == k).nonzero().squeeze(1)
            out = out.index_add(0, rows, gate[rows].unsqueeze(1) * self.experts[k](x[rows]))
        load = torch.bincount(choice, minlength=len(self.experts)).float() / len(x)
        balance = len(self.experts) * (load * probs.mean(0)).sum()
        return x + out, balance


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(30, 8).requires_grad_(False)
        self.switch = SwitchLayer()
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        h, balance = self.switch(self.table(tokens))
        return self.head(h), balance


def main(micro_batches=3):
    torch.manual_seed(17)
    model = Model()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    used = set()
    for step in range(12):
        tokens = torch.randint(0, 30, (4,))
        logits, balance = model(tokens)
        loss = (F.cross_entropy(logits, tokens % 3) + 0.01 * balance) / micro_batches
        loss.backward()
        if (step + 1) % micro_batches == 0:
            used |= {n for n, p in model.named_parameters() if p.grad is not None}
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            print(step, f"{loss.item() * micro_batches:.4f}", len(used))


main()
