import torch


def fgsm(loss, inputs, eps):
    """One signed gradient step on the inputs."""
    (gradient,) = torch.autograd.grad(loss, inputs, retain_graph=True)
    adversarial = inputs.detach() + eps * gradient.sign()
    return adversarial.clamp(-3.0, 3.0)
