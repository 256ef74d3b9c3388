"""transformers: BERT learns to tell two classes of sentences, with masks and dropout."""

import torch
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)
config = BertConfig(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=32,
    num_labels=2,
)
model = BertForSequenceClassification(config)
words, labels = torch.randint(50, (8, 12)), torch.randint(2, (8,))
mask = torch.ones_like(words)
mask[:, 9:] = 0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 6)
for step in range(5):
    loss = model(input_ids=words, attention_mask=mask, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    print(step, f"{loss.item():.6f} {norm.item():.5f}")
