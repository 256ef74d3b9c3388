import torch

PROMPTS = ["a photo of a cat", "a photo of a dog", "a drawing of a tree"]


def tokenize(texts, length=20):
    out = torch.zeros(len(texts), length, dtype=torch.long)
    for row, text in enumerate(texts):
        codes = [ord(c) for c in text][:length]
        out[row, : len(codes)] = torch.tensor(codes)
    return out
