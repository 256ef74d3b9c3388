import torch
import torch.nn.functional as F
from prompts import PROMPTS, tokenize
from towers import ImageTower, TextTower


def main():
    torch.manual_seed(2)
    image_tower, text_tower = ImageTower(), TextTower()
    opt = torch.optim.AdamW([*image_tower.parameters(), *text_tower.parameters()], lr=1e-3)

    tokens = tokenize(PROMPTS)

    for step in range(6):
        text_features = F.normalize(text_tower(tokens), dim=-1)
        labels = torch.randint(0, len(PROMPTS), (12,))
        images = torch.randn(12, 3, 8, 8) + labels.view(-1, 1, 1, 1) * 0.2
        image_features = F.normalize(image_tower(images), dim=-1)
        logits = 10.0 * image_features @ text_features.t()
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 2 == 0:
            print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
