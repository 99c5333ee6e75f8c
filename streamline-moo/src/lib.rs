//! Fast, deterministic, parallel NSGA-II for mixed variables, with its building blocks.
