import torch


class GradientStepper:
    """Backward pass, clipping, optimiser step and learning-rate decay in one call."""

    def __init__(self, params, lr, clip, decay=0.99):
        self.params = list(params)
        self.optimizer = torch.optim.Adam(self.params, lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, decay)
        self.clip = clip

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, loss):
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.params, self.clip)
        self.optimizer.step()
        self.scheduler.step()
        return norm.item()
