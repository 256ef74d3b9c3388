import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)

N_FRAMES, N_MEL, N_PHONES = 40, 16, 11


class FrameEncoder(nn.Module):
    def __init__(self, n_mel, hidden):
        super().__init__()
        self.conv = nn.Conv1d(n_mel, hidden, kernel_size=5, padding=2)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, mel):
        h = F.gelu(self.conv(mel.transpose(1, 2)))
        return self.norm(h.transpose(1, 2))


class PhoneDecoder(nn.Module):
    def __init__(self, hidden, n_phones):
        super().__init__()
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_phones)

    def forward(self, memory):
        h, _ = self.rnn(memory)
        return self.out(h)


mel = torch.randn(6, N_FRAMES, N_MEL)
phones = mel[..., :N_PHONES].argmax(-1)

encoder = FrameEncoder(N_MEL, 32)
decoder = PhoneDecoder(32, N_PHONES)
optimizer = torch.optim.Adam(
    list(encoder.parameters()) + list(decoder.parameters()), lr=3e-3
)

# same utterances every epoch, so encode them up front
memory = encoder(mel)

for epoch in range(6):
    logits = decoder(memory)
    loss = F.cross_entropy(logits.reshape(-1, N_PHONES), phones.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
