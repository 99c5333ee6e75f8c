//! Workload forecasts for the Streamline tuner: the WorkloadPredictor trait, a Burn Transformer and classical forecasters.
