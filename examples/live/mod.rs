//! What the live example is made of.

pub(crate) mod load;
pub(crate) mod watch;
