"""transformers: GPT-2 learns a text of numbers; greedy, sampled and beam search generation."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(
    vocab_size=40, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=39
)
model = GPT2LMHeadModel(config)
words = torch.randint(1, 39, (4, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model.train()
for step in range(6):
    loss = model(words, labels=words).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}")

model.eval()
start = words[:1, :4]
options = dict(max_new_tokens=8, pad_token_id=0, attention_mask=torch.ones_like(start))
print("greedy", model.generate(start, do_sample=False, **options).tolist())
torch.manual_seed(1)
print("sampled", model.generate(start, do_sample=True, top_k=10, top_p=0.9, **options).tolist())
print("beams", model.generate(start, do_sample=False, num_beams=3, **options).tolist())
