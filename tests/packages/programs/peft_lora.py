"""peft: LoRA, DoRA and IA3 adapters of a small Llama are trained, saved and merged."""

import tempfile

import torch
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM


def small() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=40,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
        )
    )


adapters = {
    "lora": LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["q_proj", "v_proj"]),
    "dora": LoraConfig(r=4, use_dora=True, target_modules=["q_proj", "down_proj"]),
    "ia3": IA3Config(
        target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]
    ),
}
for name, config in adapters.items():
    model = get_peft_model(small(), config)
    model.train()
    words = torch.randint(40, (4, 10))
    trained = [p for p in model.parameters() if p.requires_grad]
    print(name, len(trained), sum(p.numel() for p in trained))
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    for step in range(4):
        loss = model(input_ids=words, labels=words).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, step, f"{loss.item():.6f}")
    model.eval()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(small(), folder)
        print(name, "loaded", f"{again(input_ids=words, labels=words).loss.item():.6f}")
        merged = again.merge_and_unload()
        print(name, "merged", f"{merged(input_ids=words, labels=words).loss.item():.6f}")
