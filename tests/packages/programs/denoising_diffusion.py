"""denoising-diffusion-pytorch: a U-Net learns to remove noise, and draws images."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
model = Unet(dim=16, dim_mults=(1, 2), channels=1, flash_attn=False)
diffusion = GaussianDiffusion(model, image_size=16, timesteps=10, sampling_timesteps=4)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
images = torch.rand(4, 1, 16, 16)
for step in range(4):
    loss = diffusion(images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.6f}")
drawn = diffusion.sample(batch_size=2)
print(tuple(drawn.shape), f"{drawn.mean().item():.5f} {drawn.std().item():.5f}")
