"""A statistics package's automatic models, fitted once and brought forward to each origin."""

import warnings

import numpy as np
from statsforecast.models import MSTL, AutoARIMA, AutoETS, AutoTheta

QUANTILES = {0.1: "lo-80", 0.9: "hi-80", 0.95: "hi-90", 0.99: "hi-98"}
# A week of points at five minutes: what comes before it does not change a forecast any more.
CONTEXT = 2016


def make(name, day):
    """The model for a series with so many points a day.

    A season of 288 points is more than ETS and ARIMA take, so that they forecast what remains after a decomposition, as the
    package's documentation says.
    """
    if name == "AutoETS":
        return MSTL(season_length=day, trend_forecaster=AutoETS(model="ZZN"))
    if name == "AutoARIMA":
        return MSTL(season_length=day, trend_forecaster=AutoARIMA())
    return AutoTheta(season_length=day)


def forecasts(task):
    """Forecasts of one model: point and quantiles by origin."""
    name, values, first, origins, steps, day = task
    warnings.filterwarnings("ignore")
    model = make(name, day).fit(values[:first])
    answers = []
    for origin in origins:
        # A whole number of days, so that the season starts where it did.
        start = max(0, origin - CONTEXT)
        start -= start % day
        answer = model.forward(values[start:origin], h=steps, level=[80, 90, 98])
        point = np.asarray(answer["mean"])
        quantiles = {level: np.asarray(answer[key]) for level, key in QUANTILES.items()}
        answers.append((point, {0.5: point, **quantiles}))
    return answers
