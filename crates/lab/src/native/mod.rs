//! The models of the native experiments, built on our kernels.

pub mod network;
pub mod ops;
pub mod tape;
