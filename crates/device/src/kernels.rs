//! The kernels that every device compiles, and how much of its buffers each accesses.

use crate::{Error, Result};

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

// Checks how much of its buffers a kernel accesses.
//
// A kernel receives bare pointers and trusts the sizes passed with them. Before a launch,
// both are checked against each other, following each kernel's source, so that wrong sizes
// cause an error and not a stray write. Kernels ignore threads past their end; the number
// of threads is limited too, since an index that overflows an int would become negative.

/// The properties of an argument that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A buffer of this many bytes.
    Buffer(usize),
    /// A float.
    Float,
    /// An int.
    Int(i32),
}

/// The number of indices that fit an int, minus what a device may round a launch up by.
const MAX_THREADS: usize = i32::MAX as usize - 4095;

/// Checks that every buffer is as large as the kernel's other arguments require. The types
/// of the arguments have already been checked.
pub(crate) fn check(name: KernelName, threads: usize, arguments: &[Given]) -> Result<()> {
    let failed = |why: String| Error::failed(format!("the launch of {}", name.as_str()), why);
    if threads > MAX_THREADS {
        return Err(failed(format!(
            "{threads} threads are too many; an index must fit an int, so {MAX_THREADS} is the most"
        )));
    }
    let mut buffers = Vec::with_capacity(4);
    // Wide enough for the product of any four ints.
    let mut ints: Vec<i128> = Vec::with_capacity(5);
    for argument in arguments {
        match *argument {
            Given::Buffer(bytes) => buffers.push(bytes as i128 / 4),
            Given::Float => {}
            Given::Int(value) if value < 0 => {
                return Err(failed(format!("a size of {value} is below zero")));
            }
            Given::Int(value) => ints.push(i128::from(value)),
        }
    }
    let Some(needed) = needed(name, &ints) else {
        return Err(failed("its sizes are inconsistent".to_owned()));
    };
    for (index, (&needs, &has)) in needed.iter().zip(&buffers).enumerate() {
        let index = index + 1;
        if needs > i128::from(i32::MAX) {
            return Err(failed(format!(
                "buffer {index} would have {needs} elements, more than fit an int"
            )));
        }
        if needs > has {
            return Err(failed(format!(
                "buffer {index} has {has} elements where {needs} are needed"
            )));
        }
    }
    Ok(())
}

/// The number of elements that the kernel accesses in each buffer, given its ints in order.
fn needed(name: KernelName, ints: &[i128]) -> Option<Vec<i128>> {
    Some(match (name, ints) {
        (KernelName::Fill, &[n]) => vec![n],
        (KernelName::Busy, &[_rounds, n]) => vec![n],
        (KernelName::Saxpy | KernelName::Relu | KernelName::MseGrad | KernelName::Sgd, &[n]) => {
            vec![n, n]
        }
        (KernelName::ReluGrad, &[n]) => vec![n, n, n],
        (KernelName::Mse, &[n]) => vec![1, n],
        (KernelName::MeanPool, &[area, n]) => vec![n, n * area],
        (KernelName::Linear, &[batch, inputs, outputs]) => {
            vec![batch * outputs, batch * inputs, outputs * inputs, outputs]
        }
        (KernelName::LinearGradInput, &[batch, inputs, outputs]) => {
            vec![batch * inputs, batch * outputs, outputs * inputs]
        }
        (KernelName::LinearGradWeight, &[batch, inputs, outputs]) => {
            vec![outputs * inputs, batch * outputs, batch * inputs]
        }
        (KernelName::LinearGradBias, &[batch, outputs]) => vec![outputs, batch * outputs],
        (KernelName::Conv2d, &[batch, inputs, outputs, size, taps]) if taps <= size => {
            let width = size - taps + 1;
            vec![
                batch * outputs * width * width,
                batch * inputs * size * size,
                outputs * inputs * taps * taps,
                outputs,
            ]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Given::{Buffer, Float, Int};
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

    #[test]
    fn a_buffer_that_is_too_small_is_an_error() {
        assert!(check(KernelName::Fill, 4, &[Buffer(16), Float, Int(4)]).is_ok());
        let why = check(KernelName::Fill, 4, &[Buffer(4), Float, Int(100_000_000)]);
        let why = why.expect_err("it is too small").to_string();
        assert!(why.contains("1 elements where 100000000"), "{why}");
        assert!(check(KernelName::Fill, 4, &[Buffer(16), Float, Int(-1)]).is_err());
    }

    #[test]
    fn an_index_must_fit_an_int() {
        let fits = [Buffer(16), Float, Int(4)];
        assert!(check(KernelName::Fill, MAX_THREADS, &fits).is_ok());
        assert!(check(KernelName::Fill, MAX_THREADS + 1, &fits).is_err());
    }

    #[test]
    fn the_extents_of_every_kernel_are_known() {
        // For sizes of 1, buffers of one element must be enough, and empty buffers must
        // not.
        for &name in KernelName::ALL {
            let (buffers, ints) = match name {
                KernelName::Fill => (1, 1),
                KernelName::Busy => (1, 2),
                KernelName::Mse
                | KernelName::Saxpy
                | KernelName::Relu
                | KernelName::MseGrad
                | KernelName::Sgd => (2, 1),
                KernelName::ReluGrad => (3, 1),
                KernelName::MeanPool | KernelName::LinearGradBias => (2, 2),
                KernelName::LinearGradInput | KernelName::LinearGradWeight => (3, 3),
                KernelName::Linear => (4, 3),
                KernelName::Conv2d => (4, 5),
            };
            let with = |bytes| [vec![Buffer(bytes); buffers], vec![Int(1); ints]].concat();
            assert_eq!(check(name, 1, &with(4)), Ok(()), "{}", name.as_str());
            assert!(check(name, 1, &with(0)).is_err(), "{}", name.as_str());
        }
    }

    #[test]
    fn sizes_that_overflow_an_int_are_rejected() {
        let all = [Buffer(usize::MAX); 4];
        let ints = [Int(i32::MAX), Int(i32::MAX), Int(i32::MAX)];
        assert!(check(KernelName::Linear, 1, &[&all[..], &ints[..]].concat()).is_err());
        let conv = [Int(1), Int(1), Int(1), Int(2), Int(3)];
        assert!(check(KernelName::Conv2d, 1, &[&all[..], &conv[..]].concat()).is_err());
    }
}
