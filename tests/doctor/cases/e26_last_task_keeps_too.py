"""Joint intent and slot model for dialogue: one encoder, three losses with separate clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class DialogueNet(nn.Module):
    def __init__(self, vocab=50, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.encoder = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.intent = nn.Linear(2 * width, 4)
        self.slots = nn.Linear(2 * width, 6)
        self.urgency = nn.Linear(2 * width, 1)

    def forward(self, tokens):
        states, _ = self.encoder(self.embed(tokens))
        pooled = states.mean(1)
        return self.intent(pooled), self.slots(states), self.urgency(pooled).squeeze(-1)


def task_losses(model, tokens):
    intent, slots, urgency = model(tokens)
    yield F.cross_entropy(intent, tokens[:, 0] % 4)
    yield F.cross_entropy(slots.flatten(0, 1), tokens.flatten() % 6)
    yield F.binary_cross_entropy_with_logits(urgency, (tokens[:, -1] > 25).float())


def clipped_step(model, optimizer, losses, limit=0.5):
    """Each task's gradient is clipped on its own before they are added."""
    parameters = list(model.parameters())
    total = [torch.zeros_like(p) for p in parameters]
    values = []
    while losses:
        loss = losses.pop()
        values.append(round(loss.item(), 3))
        model.zero_grad()
        loss.backward(retain_graph=True)
        nn.utils.clip_grad_norm_(parameters, limit)
        for kept, p in zip(total, parameters):
            if p.grad is not None:
                kept += p.grad
    for kept, p in zip(total, parameters):
        p.grad = kept
    optimizer.step()
    return values


model = DialogueNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(6):
    tokens = torch.randint(0, 50, (8, 7))
    losses = list(task_losses(model, tokens))
    print(step, clipped_step(model, optimizer, losses))
