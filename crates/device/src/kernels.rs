//! The kernels that every device compiles.

/// Their source, in the subset of C that all devices share.
pub const SOURCE: &str = include_str!("../kernels/preheat.c");

macro_rules! kernels {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A kernel of [`SOURCE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum KernelName {
            $($(#[$doc])* $variant,)*
        }

        impl KernelName {
            /// All kernels, in source order.
            pub const ALL: &[KernelName] = &[$(KernelName::$variant,)*];

            /// Its name in the source.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(KernelName::$variant => $name,)*
                }
            }
        }
    };
}

kernels! {
    /// `y = value`
    Fill = "fill",
    /// `y = a x + y`
    Saxpy = "saxpy",
    /// Repeated arithmetic for a given number of rounds.
    Busy = "busy",
    /// A fully connected layer.
    Linear = "linear",
    /// Gradient of [`KernelName::Linear`] for the input.
    LinearGradInput = "linear_grad_input",
    /// Gradient of [`KernelName::Linear`] for the weight.
    LinearGradWeight = "linear_grad_weight",
    /// Gradient of [`KernelName::Linear`] for the bias.
    LinearGradBias = "linear_grad_bias",
    /// `max(x, 0)`
    Relu = "relu",
    /// Gradient of [`KernelName::Relu`].
    ReluGrad = "relu_grad",
    /// Mean squared error against zeros.
    Mse = "mse",
    /// Gradient of [`KernelName::Mse`].
    MseGrad = "mse_grad",
    /// One gradient descent step.
    Sgd = "sgd",
    /// A convolution without padding.
    Conv2d = "conv2d",
    /// The mean over an area.
    MeanPool = "mean_pool",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_match_the_source() {
        let in_source: Vec<&str> = SOURCE
            .lines()
            .filter_map(|line| line.strip_prefix("KERNEL void "))
            .filter_map(|rest| rest.split('(').next())
            .collect();
        let named: Vec<&str> = KernelName::ALL.iter().map(|k| k.as_str()).collect();
        assert_eq!(in_source, named);
    }
}
