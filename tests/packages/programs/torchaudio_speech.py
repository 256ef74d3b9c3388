"""torchaudio: spectrograms and filters with gradients, and a Conformer that learns."""

import torch
import torch.nn.functional as F
import torchaudio

torch.manual_seed(0)
sound = torch.randn(2, 4000, requires_grad=True)
mel = torchaudio.transforms.MelSpectrogram(sample_rate=8000, n_fft=256, n_mels=20)(sound)
cepstrum = torchaudio.transforms.MFCC(8000, n_mfcc=10, melkwargs=dict(n_fft=256, n_mels=20))(sound)
low = torchaudio.functional.resample(sound, 8000, 4000)
loss = mel.log1p().mean() + cepstrum.abs().mean() * 1e-2 + low.square().mean()
loss.backward()
print(tuple(mel.shape), tuple(cepstrum.shape), tuple(low.shape))
print("spectra", f"{loss.item():.6f} {sound.grad.norm().item():.6f}")
masked = torchaudio.transforms.FrequencyMasking(8)(mel.detach().clone())
print("masked", f"{masked.mean().item():.4f}")

model = torchaudio.models.Conformer(
    input_dim=20, num_heads=4, ffn_dim=32, num_layers=2, depthwise_conv_kernel_size=7
)
head = torch.nn.Linear(20, 6)
frames, lengths = mel.detach().log1p().transpose(1, 2), torch.tensor([32, 28])
wanted = torch.randint(1, 6, (2, 8))
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
for step in range(4):
    found, kept = model(frames[:, :32], lengths)
    scores = F.log_softmax(head(found), dim=-1).transpose(0, 1)
    loss = F.ctc_loss(scores, wanted, kept, torch.tensor([8, 6]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("conformer", step, f"{loss.item():.6f}")
