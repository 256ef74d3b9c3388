# Soft prompt tuning: only a few virtual token embeddings are learned, the language model stays frozen.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
VOCAB, DIM, PROMPT_LEN, SEQ = 50, 32, 5, 8


class FrozenLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.lm_head = nn.Linear(DIM, VOCAB)

    def forward(self, inputs_embeds):
        return self.lm_head(self.encoder(inputs_embeds))


lm = FrozenLM()
lm.requires_grad_(False)
lm.eval()

# start near the scale of the token embeddings
soft_prompt = torch.randn(PROMPT_LEN, DIM, requires_grad=True) * 0.5
optimizer = torch.optim.Adam([soft_prompt], lr=0.05)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.7)

labels_map = torch.tensor([3, 17])


def get_batch(n=16):
    ids = torch.randint(0, VOCAB, (n, SEQ))
    y = (ids.float().mean(1) > VOCAB / 2).long()
    return ids, labels_map[y]


for step in range(30):
    ids, target = get_batch()
    prompt = soft_prompt.unsqueeze(0).expand(ids.size(0), -1, -1)
    logits = lm(torch.cat([prompt, lm.tok(ids)], dim=1))[:, -1]
    loss = F.cross_entropy(logits, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f} lr {scheduler.get_last_lr()[0]:.4f}")
