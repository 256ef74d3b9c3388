class GradientReport:
    """Collects the gradient norm of every parameter now and then."""

    def __init__(self, net, every):
        self.net = net
        self.every = every
        self.rows = []

    def collect(self, step, loss):
        if step % self.every:
            return
        loss.backward()
        norms = {n: p.grad.norm().item() for n, p in self.net.named_parameters()}
        self.rows.append((step, norms))

    def table(self):
        lines = []
        for step, norms in self.rows:
            lines.append(f"{step:4d} " + " ".join(f"{n}={v:.3f}" for n, v in norms.items()))
        return "\n".join(lines)
