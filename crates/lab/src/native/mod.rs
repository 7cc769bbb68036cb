//! The models of the native experiments, on our own kernels.

pub mod network;
pub mod ops;
pub mod tape;
