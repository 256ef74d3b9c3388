import torch


def collect_ranges(model, inputs):
    """Watches the activations of a few batches and sets the quantiser's ranges."""
    peaks = {}

    def watch(name):
        def hook(module, args, output):
            peaks[name] = max(peaks.get(name, 0.0), output.abs().max().item())
        return hook

    handles = [m.register_forward_hook(watch(n)) for n, m in model.named_modules() if hasattr(m, "range")]
    model.forward = torch.no_grad()(model.forward)
    for x in inputs:
        model(x)
    for handle in handles:
        handle.remove()
    for name, peak in peaks.items():
        model.get_submodule(name).range.fill_(peak)
