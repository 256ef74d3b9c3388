"""`torch.cuda` and `torch.accelerator` where there is a device.

Without one the table of names answers, as PyTorch does that was built without CUDA.
"""
