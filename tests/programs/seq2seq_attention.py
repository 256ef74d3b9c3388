# -*- coding: utf-8 -*-
"""Translate spoken numbers: GRU encoder over packed sequences, attention, teacher forcing."""

import itertools, random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, SubsetRandomSampler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PAD, BOS, EOS = range(3)
HIDDEN, EPOCHS = 32, 12

FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf".split(),
    "dix vingt trente quarante".split(),
)
ENGLISH = (
    "zero one two three four five six seven eight nine".split(),
    "ten twenty thirty forty".split(),
)


class Vocabulary:
    def __init__(self, sentences):
        self.words = ["<pad>", "<s>", "</s>"] + sorted({w for s in sentences for w in s.split()})
        self.ids = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, sentence):
        return torch.tensor([self.ids[w] for w in sentence.split()] + [EOS])

    def decode(self, ids):
        kept = itertools.takewhile(lambda i: i != EOS, ids)
        return " ".join(self.words[i] for i in kept)


def corpus():
    for ten, one in itertools.product(range(4), range(10)):
        french = FRENCH[1][ten] + (" et " if one == 1 else " ") + FRENCH[0][one]
        english = (ENGLISH[0][one] + " and " if one else "") + ENGLISH[1][ten]
        yield french, english


pairs = list(corpus())
source_vocab, target_vocab = (Vocabulary(side) for side in zip(*pairs))
encoded = [(source_vocab.encode(s), target_vocab.encode(t)) for s, t in pairs]
longest = max(len(t) for _, t in encoded)


def collate(samples):
    sources, targets = zip(*samples)
    lengths = torch.as_tensor([s.numel() for s in sources])
    return (
        pad_sequence(sources, True, PAD),
        lengths,
        pad_sequence(targets, batch_first=True, padding_value=PAD),
    )


class Encoder(nn.Module):
    def __init__(self):
        super(Encoder, self).__init__()
        self.embedding = nn.Embedding(len(source_vocab), HIDDEN, padding_idx=PAD)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(HIDDEN, HIDDEN // 2, batch_first=True, bidirectional=True)

    def forward(self, source, lengths):
        x = self.drop(self.embedding(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.rnn(packed)
        states, seen = pad_packed_sequence(states, batch_first=True)
        assert torch.equal(seen, lengths)
        return states, last.transpose(0, 1).flatten(1)


class AdditiveAttention(nn.Module):
    def __init__(self):
        super(AdditiveAttention, self).__init__()
        self.from_query, self.from_key = (
            nn.Linear(HIDDEN, HIDDEN),
            nn.Linear(HIDDEN, HIDDEN, bias=False),
        )
        self.score = nn.Linear(HIDDEN, 1, bias=False)

    def forward(self, query, keys, padding):
        scores = self.score(torch.tanh(self.from_query(query)[:, None] + self.from_key(keys)))
        weights = scores.squeeze(-1).masked_fill(padding, -1e9).softmax(dim=1)
        return torch.bmm(weights[:, None], keys)[:, 0], weights


class Decoder(nn.Module):
    def __init__(self):
        super(Decoder, self).__init__()
        self.embedding = nn.Embedding(len(target_vocab), HIDDEN)
        self.attention = AdditiveAttention()
        self.cell = nn.GRUCell(2 * HIDDEN, HIDDEN)
        self.out = nn.Linear(2 * HIDDEN, len(target_vocab))
        self.drop = nn.Dropout(0.1)

    def forward(self, states, hidden, padding, targets=None, forcing=0.0):
        word = torch.full((states.size(0),), BOS, dtype=torch.long, device=states.device)
        outputs, maps = [], []
        for i in range(longest if targets is None else targets.size(1)):
            context, weights = self.attention(hidden, states, padding)
            hidden = self.cell(torch.cat([self.drop(self.embedding(word)), context], 1), hidden)
            logits = self.out(torch.cat([hidden, context], 1))
            outputs.append(F.log_softmax(logits, dim=-1))
            maps.append(weights)
            forced = targets is not None and random.random() < forcing
            word = targets[:, i] if forced else logits.detach().topk(1)[1].squeeze(1)
        return torch.stack(outputs, 1), torch.stack(maps, 1)


random.seed(8)
torch.manual_seed(8)
encoder, decoder = Encoder().to(device), Decoder().to(device)
optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss(ignore_index=PAD)
loader = DataLoader(
    encoded, batch_size=8, sampler=SubsetRandomSampler(range(len(encoded))), collate_fn=collate
)

for epoch in range(1, EPOCHS + 1):
    total = count = 0
    for source, lengths, target in loader:
        for o in optimizers:
            o.zero_grad()
        states, hidden = encoder(source.to(device), lengths)
        outputs, _ = decoder(
            states, hidden, (source == PAD).to(device), target.to(device), 1 - epoch / 20
        )
        loss = criterion(outputs.view(-1, outputs.size(-1)), target.view(-1))
        loss.backward()
        for m, o in zip((encoder, decoder), optimizers):
            nn.utils.clip_grad_value_(m.parameters(), 0.5)
            o.step()
        total += loss.item() * target.ne(PAD).sum().item()
        count += target.ne(PAD).sum().item()
    if epoch % 2 == 0:
        print("epoch %2d (%3d%%) loss %.4f" % (epoch, 100 * epoch // EPOCHS, total / count))

encoder.eval()
decoder.eval()
with torch.no_grad():
    for index in (0, 11, 27, 38):
        source, lengths, _ = collate([encoded[index]])
        outputs, maps = decoder(*encoder(source, lengths), source == PAD)
        said = target_vocab.decode(outputs.argmax(-1)[0].tolist())
        spread = torch.special.entr(maps).sum(-1).mean()
        print("%-16s = %-18s < %-18s attention entropy %.3f" % (*pairs[index], said, spread))
