import torch


class Schedule:
    """Train the head alone first, then everything."""

    def __init__(self, model, unfreeze_at):
        self.model = model
        self.unfreeze_at = unfreeze_at
        model.backbone.requires_grad_(False)
        self.optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)

    def start_epoch(self, epoch):
        if epoch == self.unfreeze_at:
            self.model.backbone.requires_grad_(True)
            self.optimizer.add_param_group({"params": self.model.backbone.parameters(), "lr": 1e-3})
