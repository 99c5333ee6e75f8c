//! Clients for Apache Flink clusters, real and simulated: the FlinkClient trait.
