class ActivityRegulariser:
    """Mean square of the outputs of some layers, as an extra loss."""

    def __init__(self, model, layers, weight):
        self.weight = weight
        self.outputs = {}
        self.handles = [
            model.get_submodule(name).register_forward_hook(self.keep(name)) for name in layers
        ]

    def keep(self, name):
        def hook(module, args, output):
            self.outputs[name] = output

        return hook

    def penalty(self):
        return self.weight * sum(out.square().mean() for out in self.outputs.values())

    def after_backward(self):
        penalty = self.penalty()
        penalty.backward()
        return penalty

    def remove(self):
        for handle in self.handles:
            handle.remove()
