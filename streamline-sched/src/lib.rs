//! Bin packing of Apache Flink operator instances onto TaskManagers: the Scheduler trait and its implementations.
