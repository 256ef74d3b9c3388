"""transformers: Llama with grouped queries learns, with checkpointing, saves and loads, generates."""

import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=40,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=32,
    bos_token_id=0,
    eos_token_id=39,
)
model = LlamaForCausalLM(config)
model.gradient_checkpointing_enable()
words = torch.randint(1, 39, (4, 12))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
model.train()
for step in range(5):
    loss = model(input_ids=words, labels=words).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}")

with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder)
model.eval()
start = words[:2, :4]
made = model.generate(
    start, attention_mask=torch.ones_like(start), max_new_tokens=6, do_sample=False, pad_token_id=0
)
print(made.tolist())
