"""Networks of others, trained with the same budget of epochs and windows as ours, each on one trace."""

import math
import time

import numpy as np
import torch
from torch import nn
from transformers import PatchTSTConfig, PatchTSTForPrediction

EPOCHS, PATIENCE, BATCH, WINDOWS = 40, 6, 64, 1536
LEVELS = [0.1, 0.5, 0.9, 0.95, 0.99]


class DLinear(nn.Module):
    """Zeng et al. 2023: one linear map for a moving average of 25 points and one for what remains."""

    def __init__(self, context, steps):
        super().__init__()
        self.average = nn.AvgPool1d(25, stride=1)
        self.trend = nn.Linear(context, steps)
        self.rest = nn.Linear(context, steps)

    def forward(self, window):
        padded = torch.cat([window[:, :1].expand(-1, 12), window, window[:, -1:].expand(-1, 12)], 1)
        trend = self.average(padded.unsqueeze(1)).squeeze(1)
        return self.trend(trend) + self.rest(window - trend)


class PatchTST(nn.Module):
    """Nie et al. 2023, as the package `transformers` has it, in the size of the paper's PatchTST/42."""

    def __init__(self, context, steps):
        super().__init__()
        self.model = PatchTSTForPrediction(
            PatchTSTConfig(
                num_input_channels=1,
                context_length=context,
                prediction_length=steps,
                patch_length=16,
                patch_stride=8,
                d_model=128,
                num_attention_heads=16,
                num_hidden_layers=3,
                ffn_dim=256,
                attention_dropout=0.0,
                ff_dropout=0.2,
                head_dropout=0.0,
                scaling="std",
                loss="mse",
            )
        )

    def forward(self, window):
        return self.model(past_values=window.unsqueeze(-1)).prediction_outputs.squeeze(-1)


MODELS = {"DLinear": (DLinear, 0.005), "PatchTST": (PatchTST, 0.001)}


def forecasts(name, values, first, origins, steps, day):
    """Forecasts of one model (point and quantiles by origin), and the seconds that training took."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    seen = values[:first]
    mean, deviation = seen.mean(), seen.std()
    scaled = torch.tensor((values - mean) / deviation, dtype=torch.float32)
    context = 336 if first > 1500 else day
    starts = np.arange(first - context - steps + 1)
    held_back = int(round(0.15 * len(starts)))
    training, validation = starts[: len(starts) - held_back - steps], starts[len(starts) - held_back :]
    validation = validation[:: max(1, math.ceil(len(validation) / 512))]

    def batch(chosen):
        index = torch.as_tensor(chosen)[:, None]
        return scaled[index + torch.arange(context)], scaled[index + context + torch.arange(steps)]

    make, rate = MODELS[name]
    model = make(context, steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    each = min(len(training), WINDOWS)
    total = EPOCHS * math.ceil(each / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=total, pct_start=0.1)
    best, best_epoch, state = math.inf, 0, None
    begun = time.perf_counter()
    for epoch in range(EPOCHS):
        model.train()
        order = rng.permutation(training)[:each]
        for start in range(0, each, BATCH):
            window, target = batch(order[start : start + BATCH])
            loss = (model(window) - target).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            window, target = batch(validation)
            error = float((model(window) - target).abs().mean())
        if error < best:
            best, best_epoch, state = error, epoch, {k: v.clone() for k, v in model.state_dict().items()}
        elif epoch - best_epoch >= PATIENCE:
            break
    seconds = time.perf_counter() - begun
    model.load_state_dict(state)
    model.eval()
    with torch.no_grad():
        window, target = batch(validation)
        errors = np.quantile((target - model(window)).numpy(), LEVELS, axis=0)
        windows = torch.stack([scaled[origin - context : origin] for origin in origins])
        points = torch.cat([model(part) for part in windows.split(256)]).numpy()
    answers = []
    for point in points:
        quantiles = {level: (point + error) * deviation + mean for level, error in zip(LEVELS, errors)}
        answers.append((point * deviation + mean, quantiles))
    return answers, seconds
