//! Performance estimates for the Streamline tuner: the PerformanceSurrogate trait, a Burn MLP and capacity curves.
