import torch
from data import make_domains
from networks import DomainHead, FeatureExtractor, LabelHead


def train(epochs=3, lam=0.3):
    torch.manual_seed(1)
    source_x, source_y, target_x = make_domains()
    extractor = FeatureExtractor()
    label, domain = LabelHead(), DomainHead()
    params = [p for m in (extractor, label, domain) for p in m.parameters()]
    opt = torch.optim.Adam(params, lr=2e-3)
    for epoch in range(epochs):
        for i in range(0, len(source_x), 16):
            xs, ys, xt = source_x[i:i + 16], source_y[i:i + 16], target_x[i:i + 16]
            feats = extractor(torch.cat([xs, xt]))
            opt.zero_grad()
            label_loss = label.update(feats[: len(xs)], ys)
            domain_loss = domain.update(feats, len(xs), lam)
            (label_loss + domain_loss).backward()
            opt.step()
        print(f"{epoch} label {label_loss:.3f} domain {domain_loss:.3f}")


if __name__ == "__main__":
    train()
