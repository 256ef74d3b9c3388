"""diffusers: a conditioned U-Net and an autoencoder learn; DDPM and DDIM draw."""

import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DConditionModel

torch.manual_seed(0)
model = UNet2DConditionModel(
    sample_size=8,
    in_channels=2,
    out_channels=2,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=16,
    attention_head_dim=8,
)
images, words = torch.randn(4, 2, 8, 8), torch.randn(4, 5, 16)
noising = DDPMScheduler(num_train_timesteps=20)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    noise = torch.randn_like(images)
    times = torch.randint(0, 20, (4,))
    found = model(noising.add_noise(images, noise, times), times, words).sample
    loss = F.mse_loss(found, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("unet", step, f"{loss.item():.6f}")

model.eval()
for scheduler in (DDPMScheduler(num_train_timesteps=20), DDIMScheduler(num_train_timesteps=20)):
    scheduler.set_timesteps(4)
    picture = torch.randn(1, 2, 8, 8)
    with torch.no_grad():
        for time in scheduler.timesteps:
            picture = scheduler.step(
                model(picture, time, words[:1]).sample, time, picture
            ).prev_sample
    print(type(scheduler).__name__, f"{picture.std().item():.5f}")

coder = AutoencoderKL(
    in_channels=2,
    out_channels=2,
    block_out_channels=(16,),
    norm_num_groups=8,
    latent_channels=2,
    sample_size=8,
)
optimizer = torch.optim.AdamW(coder.parameters(), lr=1e-3)
for step in range(3):
    code = coder.encode(images).latent_dist
    loss = F.mse_loss(coder.decode(code.sample()).sample, images) + 1e-3 * code.kl().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("autoencoder", step, f"{loss.item():.6f}")
