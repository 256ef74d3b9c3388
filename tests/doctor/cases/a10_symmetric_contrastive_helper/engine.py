import torch


class Engine:
    """Owns the optimiser: collects gradients, clips them, steps and clears."""

    def __init__(self, model, lr, max_norm):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.max_norm = max_norm
        self.last_norm = 0.0

    def accumulate(self, loss, grad_scale=1.0):
        torch.autograd.backward([loss], [torch.full_like(loss, grad_scale)])

    def apply(self):
        self.last_norm = float(torch.nn.utils.clip_grad_norm_(self.params, self.max_norm))
        self.optimizer.step()
        self.optimizer.zero_grad()
