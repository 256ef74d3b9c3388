"""Encoder and decoder with an optimizer each; with and without teacher forcing."""

import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True)

    def forward(self, x):
        return self.gru(F.dropout(self.embedding(x), 0.1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(9, 8), nn.GRU(16, 8, batch_first=True)
        self.wa, self.ua, self.va = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
        self.out = nn.Linear(8, 9)

    def forward(self, memory, hidden, target=None):
        word = torch.zeros(memory.size(0), 1, dtype=torch.long)
        outputs, attentions = [], []
        for i in range(4):
            scores = self.va(torch.tanh(self.wa(hidden.permute(1, 0, 2)) + self.ua(memory)))
            weights = F.softmax(scores.squeeze(2).unsqueeze(1), dim=-1)
            context = torch.bmm(weights, memory)
            found, hidden = self.gru(torch.cat((self.embedding(word), context), dim=2), hidden)
            outputs.append(self.out(found))
            attentions.append(weights)
            if target is not None:
                word = target[:, i].unsqueeze(1)
            else:
                _, best = outputs[-1].topk(1)
                word = best.squeeze(-1).detach()
        outputs = F.log_softmax(torch.cat(outputs, dim=1), dim=-1)
        return outputs, hidden, torch.cat(attentions, dim=1)


encoder, decoder, criterion = Encoder(), Decoder(), nn.NLLLoss()
encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
plot, shown = [], 0.0
for epoch in range(3):
    total = 0.0
    for _ in range(6):
        source, target = torch.randint(0, 9, (4, 5)), torch.randint(0, 9, (4, 4))
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        memory, hidden = encoder(source)
        forced = target if random.random() < 0.5 else None
        outputs, _, attention = decoder(memory, hidden, forced)
        loss = criterion(outputs.view(-1, 9), target.view(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        total += loss.item()
    shown += total
    if epoch % 2 == 0:
        plot.append(shown / 6)
        shown = 0.0
with torch.no_grad():
    memory, hidden = encoder(torch.randint(0, 9, (1, 5)))
    print(decoder(memory, hidden)[0].argmax(-1).tolist(), plot)
