import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(34)
torch.set_num_threads(1)
VOCAB, DIM, LENGTH, PROMPT = 30, 24, 8, 4


class FrozenLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        layer = nn.TransformerEncoderLayer(DIM, nhead=4, dim_feedforward=48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        for p in self.parameters():
            p.requires_grad = False


class PromptTuned(nn.Module):
    def __init__(self, lm, classes):
        super().__init__()
        self.lm = lm
        self.prompt = nn.Parameter(0.1 * torch.randn(PROMPT, DIM))
        self.head = nn.Linear(DIM, classes)

    def forward(self, tokens):
        emb = self.lm.embed(tokens)
        prompt = self.prompt.unsqueeze(0).expand(len(tokens), -1, -1)
        full = torch.cat([prompt, emb], dim=1)
        with torch.no_grad():
            hidden = self.lm.encoder(full)
        return self.head(hidden[:, :PROMPT].mean(dim=1))


tokens = torch.randint(0, VOCAB, (160, LENGTH))
labels = (tokens < VOCAB // 2).sum(dim=1).ge(LENGTH // 2).long()

model = PromptTuned(FrozenLM(), classes=2)
trainable = [p for p in model.parameters() if p.requires_grad]
print("trainable parameters:", sum(p.numel() for p in trainable))
optimizer = torch.optim.AdamW(trainable, lr=2e-2, weight_decay=0.0)
first_prompt = model.prompt.detach().clone()

for epoch in range(16):
    epoch_loss = 0.0
    for idx in torch.randperm(len(tokens)).split(40):
        loss = F.cross_entropy(model(tokens[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {epoch_loss / 4:.3f}")
print("prompt moved", (model.prompt - first_prompt).abs().max().item())
