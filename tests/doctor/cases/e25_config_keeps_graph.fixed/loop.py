import torch


class Loop:
    def __init__(self, model, config):
        self.model, self.config = model, config
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, config.steps)

    def loss(self, clean, sigma):
        noisy = clean + sigma * torch.randn_like(clean)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.config.amp):
            denoised = self.model(noisy, sigma)
        weight = (sigma**2 + 1) / sigma**2
        return (weight * (denoised.float() - clean).square()).mean()

    def step(self, clean, sigma):
        self.optimizer.zero_grad()
        loss = self.loss(clean, sigma)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()
