//! The vocabulary of the Streamline tuner for Apache Flink: job graphs, configurations, time series, clusters, placements.
