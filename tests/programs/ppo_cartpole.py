# PPO with GAE in one file, no framework: read it from top to bottom.
#
#   python ppo_cartpole.py --seed 3 --total-timesteps 4096 --no-anneal-lr
import argparse
import os
import random
from dataclasses import dataclass, fields
from typing import Optional

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical


@dataclass
class Args:
    exp_name: str = os.path.splitext(os.path.basename(__file__))[0]
    seed: int = 1
    torch_deterministic: bool = True
    cuda: bool = True
    track: bool = False  # scalars for TensorBoard, where it is installed
    total_timesteps: int = 1536
    learning_rate: float = 2.5e-3
    num_envs: int = 4
    num_steps: int = 64
    anneal_lr: bool = True
    gamma: float = 0.99
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 2
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: Optional[float] = None

    @classmethod
    def from_command_line(cls):
        parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        for f in fields(cls):
            flag = "--" + f.name.replace("_", "-")
            if isinstance(f.default, bool):
                parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=f.default)
            else:
                parser.add_argument(
                    flag, type=float if f.default is None else type(f.default), default=f.default
                )
        return cls(**vars(parser.parse_args()))


class VectorCartPole:
    """Many poles on carts in one set of arrays. An episode that ends starts again at once."""

    obs_shape, n_actions = (4,), 2

    def __init__(self, num_envs, limit=200):
        self.num_envs, self.limit = num_envs, limit

    def _fresh(self, n):
        return self.rng.uniform(-0.05, 0.05, size=(n, 4))

    def reset(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state, self.age = self._fresh(self.num_envs), np.zeros(self.num_envs, int)
        return self.state.astype(np.float32)

    def step(self, action):
        x, v, angle, spin = self.state.T
        push = 10.0 * (2 * action - 1)
        pull = (push + 0.05 * spin**2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * pull) / (
            2 / 3 - 0.05 * np.cos(angle) ** 2 / 1.1
        )
        go = pull - 0.05 * turn * np.cos(angle) / 1.1
        self.state = self.state + 0.02 * np.stack([v, go, spin, turn], axis=1)
        self.age += 1
        done = (
            (abs(self.state[:, 0]) > 2.4)
            | (abs(self.state[:, 2]) > 0.21)
            | (self.age >= self.limit)
        )
        finished = self.age[done].tolist()
        self.state[done], self.age[done] = self._fresh(done.sum()), 0
        return self.state.astype(np.float32), np.ones(self.num_envs), done, finished


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        n = np.prod(envs.obs_shape)

        def network(out, std):
            return nn.Sequential(
                layer_init(nn.Linear(n, 64)),
                nn.Tanh(),
                layer_init(nn.Linear(64, 64)),
                nn.Tanh(),
                layer_init(nn.Linear(64, out), std=std),
            )

        self.critic, self.actor = network(1, 1.0), network(envs.n_actions, 0.01)

    def act(self, obs, action=None):
        pi = Categorical(logits=self.actor(obs))
        if action is None:
            action = pi.sample()
        return action, pi.log_prob(action), pi.entropy(), self.critic(obs).squeeze(-1)


@torch.no_grad()
def gae(rewards, values, dones, last_value, last_done, gamma, lam):
    """`dones[t]` says that the observation at t is the first of an episode."""
    advantages = torch.zeros_like(rewards)
    running = 0
    for t in reversed(range(len(rewards))):
        final = t + 1 == len(rewards)
        alive = 1.0 - (last_done if final else dones[t + 1])
        ahead = last_value if final else values[t + 1]
        delta = rewards[t] + gamma * ahead * alive - values[t]
        advantages[t] = running = delta + gamma * lam * alive * running
    return advantages, advantages + values


if __name__ == "__main__":
    args = Args.from_command_line()
    batch_size = args.num_envs * args.num_steps
    minibatch_size = batch_size // args.num_minibatches
    writer = None
    if args.track:
        try:
            from torch.utils.tensorboard import SummaryWriter

            writer = SummaryWriter(f"runs/{args.exp_name}__{args.seed}")
        except ImportError:
            print("tensorboard is not installed")

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.backends.cudnn.deterministic = args.torch_deterministic
    device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")

    envs = VectorCartPole(args.num_envs)
    agent = Agent(envs).to(device)
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    store = (args.num_steps, args.num_envs)
    obs = torch.zeros(store + envs.obs_shape).to(device)
    actions, logprobs, rewards, dones, values = (torch.zeros(store).to(device) for _ in range(5))
    next_obs = torch.Tensor(envs.reset(args.seed)).to(device)
    next_done = torch.zeros(args.num_envs).to(device)
    global_step, updates = 0, args.total_timesteps // batch_size

    for update in range(updates):
        if args.anneal_lr:
            optimizer.param_groups[0]["lr"] = (1.0 - update / updates) * args.learning_rate

        lengths = []
        for step in range(args.num_steps):
            global_step += args.num_envs
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprobs[step], _, values[step] = agent.act(next_obs)
            actions[step] = action
            new_obs, reward, done, finished = envs.step(action.cpu().numpy())
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            next_obs, next_done = torch.Tensor(new_obs).to(device), torch.Tensor(done).to(device)
            lengths += finished

        with torch.no_grad():
            last_value = agent.act(next_obs, actions[-1])[-1]
        advantages, returns = gae(
            rewards, values, dones, last_value, next_done, args.gamma, args.gae_lambda
        )

        b_obs = obs.reshape((-1,) + envs.obs_shape)
        b_actions, b_logprobs, b_advantages, b_returns, b_values = (
            t.reshape(-1) for t in (actions, logprobs, advantages, returns, values)
        )
        order, clipped = np.arange(batch_size), []
        for epoch in range(args.update_epochs):
            np.random.shuffle(order)
            for mb in np.split(order, args.num_minibatches):
                _, newlogprob, entropy, newvalue = agent.act(b_obs[mb], b_actions.long()[mb])
                logratio = newlogprob - b_logprobs[mb]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = (ratio - 1 - logratio).mean()
                    clipped.append(((ratio - 1.0).abs() > args.clip_coef).float().mean().item())

                adv = b_advantages[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                limited = torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = torch.max(-adv * ratio, -adv * limited).mean()

                near = b_values[mb] + torch.clamp(
                    newvalue - b_values[mb], -args.clip_coef, args.clip_coef
                )
                errors = torch.stack([newvalue - b_returns[mb], near - b_returns[mb]]) ** 2
                v_loss = 0.5 * errors.max(dim=0)[0].mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss

                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
            if args.target_kl is not None and approx_kl > args.target_kl:
                break

        explained = 1 - np.var((b_returns - b_values).cpu().numpy()) / np.var(
            b_returns.cpu().numpy()
        )
        print(
            f"global_step={global_step}, policy_loss={pg_loss.item():.5f}, value_loss={v_loss.item():.4f}, "
            f"entropy={entropy.mean().item():.5f}, approx_kl={approx_kl.item():.5f}, "
            f"clipfrac={np.mean(clipped):.4f}, explained_variance={explained:.4f}, "
            f"episodic_length={np.mean(lengths):.3f}"
        )
        if writer is not None:
            writer.add_scalar("losses/value_loss", v_loss.item(), global_step)
            writer.add_scalar("losses/policy_loss", pg_loss.item(), global_step)
    if writer is not None:
        writer.close()
