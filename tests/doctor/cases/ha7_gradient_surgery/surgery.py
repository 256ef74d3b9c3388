import torch


def flatten(gradients, params):
    parts = [
        torch.zeros_like(p).flatten() if g is None else g.flatten()
        for g, p in zip(gradients, params)
    ]
    return torch.cat(parts)


def project_conflicts(per_task, params):
    """Remove from each task's gradient its component against the other tasks."""
    flat = [flatten(gradients, params) for gradients in per_task]
    found, result = 0, torch.zeros_like(flat[0])
    for i, own in enumerate(flat):
        own = own.clone()
        for j, other in enumerate(flat):
            inner = own @ other
            if i != j and inner < 0:
                found += 1
                own -= inner / (other @ other + 1e-12) * other
        result += own
    return result, found


def write_gradients(params, flat):
    offset = 0
    for p in params:
        p.grad = flat[offset : offset + p.numel()].view_as(p).clone()
        offset += p.numel()
