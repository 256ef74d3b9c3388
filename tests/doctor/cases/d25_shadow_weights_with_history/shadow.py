class Shadow:
    """Exponential moving average of a network's weights."""

    def __init__(self, net, decay):
        self.decay = decay
        self.weights = {name: p.detach().clone() for name, p in net.named_parameters()}

    def update(self, net):
        for name, p in net.named_parameters():
            old = self.weights[name]
            self.weights[name] = self.decay * old + (1 - self.decay) * p
