from torch import nn

DECAY = (nn.Linear,)
NO_DECAY = (nn.LayerNorm,)


def decay_groups(model, weight_decay):
    """Weights of matrices decay; biases and norms do not."""
    decay, plain = [], []
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if name.endswith("bias") or isinstance(module, NO_DECAY):
                plain.append(parameter)
            elif isinstance(module, DECAY):
                decay.append(parameter)
            else:
                plain.append(parameter)
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
