//! Tracks a context's live handles and validates requests against them.
//!
//! The traits pass buffers and kernels as bare handles that a driver would trust blindly: a
//! handle of another context or device, or a missing argument, would crash the process
//! instead of returning an error. Each context therefore keeps a list of its live handles
//! and of its kernels' parameters, which are parsed from the kernel source.
//!
//! [`crate::kernels`] checks whether a kernel stays within its buffers, using the sizes
//! recorded here and not those that a handle claims.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::kernels::{self, Given};
use crate::{Argument, Buffer, Error, KERNEL_SOURCE, Kernel, KernelName, Result};

/// The live buffers and kernels of one context, by handle.
#[derive(Default)]
pub(crate) struct Ledger {
    buffers: RefCell<HashMap<u64, usize>>,
    kernels: RefCell<HashMap<u64, (KernelName, Vec<Parameter>)>>,
}

impl Ledger {
    /// Records a new buffer of `bytes`.
    pub fn add_buffer(&self, raw: u64, bytes: usize) {
        self.buffers.borrow_mut().insert(raw, bytes);
    }

    /// Removes a buffer that is about to be freed.
    pub fn remove_buffer(&self, raw: u64) {
        self.buffers.borrow_mut().remove(&raw);
    }

    /// Records a new kernel.
    pub fn add_kernel(&self, raw: u64, name: KernelName) {
        self.kernels
            .borrow_mut()
            .insert(raw, (name, parameters(name)));
    }

    /// Removes a kernel that is about to be unloaded.
    pub fn remove_kernel(&self, raw: u64) {
        self.kernels.borrow_mut().remove(&raw);
    }

    /// Checks that `bytes` can be copied to or from the start of `buffer`.
    pub fn check_copy(&self, buffer: &dyn Buffer, bytes: usize) -> Result<()> {
        match self.buffers.borrow().get(&buffer.raw()) {
            None => Err(foreign("the copy", "its buffer")),
            Some(&size) if size < bytes => Err(Error::failed(
                "the copy",
                format!("{bytes} bytes do not fit a buffer of {size}"),
            )),
            Some(_) => Ok(()),
        }
    }

    /// Checks that the kernel is ours and accepts these arguments.
    pub fn check_launch(
        &self,
        kernel: &dyn Kernel,
        threads: usize,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let launch = || format!("the launch of {}", kernel.name().as_str());
        let kernels = self.kernels.borrow();
        let Some((name, parameters)) = kernels.get(&kernel.raw()) else {
            return Err(foreign(&launch(), "its kernel"));
        };
        if parameters.len() != arguments.len() {
            let (expected, got) = (parameters.len(), arguments.len());
            return Err(Error::failed(
                launch(),
                format!("expected {expected} arguments, got {got}"),
            ));
        }
        let buffers = self.buffers.borrow();
        let mut extents = Vec::with_capacity(arguments.len());
        for (index, (&parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
            let (given, extent) = match argument {
                Argument::Buffer(buffer) => {
                    let Some(&bytes) = buffers.get(&buffer.raw()) else {
                        let which = format!("the buffer in argument {}", index + 1);
                        return Err(foreign(&launch(), &which));
                    };
                    (Parameter::Pointer, Given::Buffer(bytes))
                }
                Argument::F32(_) => (Parameter::Float, Given::Float),
                Argument::I32(value) => (Parameter::Int, Given::Int(*value)),
            };
            extents.push(extent);
            if given != parameter {
                let (index, expected, given) = (index + 1, parameter.describe(), given.describe());
                return Err(Error::failed(
                    launch(),
                    format!("argument {index} must be {expected}, not {given}"),
                ));
            }
        }
        kernels::check(*name, threads, &extents)
    }
}

fn foreign(call: &str, what: &str) -> Error {
    Error::failed(call, format!("{what} does not belong to this context"))
}

/// The type of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    Pointer,
    Float,
    Int,
}

impl Parameter {
    fn describe(self) -> &'static str {
        match self {
            Parameter::Pointer => "a buffer",
            Parameter::Float => "a float",
            Parameter::Int => "an int",
        }
    }
}

/// The parameters of a kernel, as declared in its source.
fn parameters(name: KernelName) -> Vec<Parameter> {
    let head = format!("KERNEL void {}(", name.as_str());
    KERNEL_SOURCE
        .split_once(&head)
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(list, _)| list.split(','))
        .into_iter()
        .flatten()
        .map(|parameter| match parameter {
            pointer if pointer.contains('*') => Parameter::Pointer,
            float if float.contains("float") => Parameter::Float,
            _ => Parameter::Int,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake(u64);
    impl Buffer for Fake {
        fn bytes(&self) -> usize {
            usize::MAX
        }
        fn raw(&self) -> u64 {
            self.0
        }
    }
    impl Kernel for Fake {
        fn raw(&self) -> u64 {
            self.0
        }
        fn name(&self) -> KernelName {
            KernelName::Fill
        }
    }

    #[test]
    fn parameters_match_the_source() {
        use Parameter::{Float, Int, Pointer};
        assert_eq!(parameters(KernelName::Fill), [Pointer, Float, Int]);
        let conv2d = [Pointer, Pointer, Pointer, Pointer, Int, Int, Int, Int, Int];
        assert_eq!(parameters(KernelName::Conv2d), conv2d);
        for &name in KernelName::ALL {
            assert!(parameters(name).len() >= 3, "{name:?}");
        }
    }

    #[test]
    fn a_launch_must_fit_its_kernel() {
        let ledger = Ledger::default();
        ledger.add_buffer(1, 8);
        ledger.add_kernel(2, KernelName::Fill);
        let good = [
            Argument::Buffer(&Fake(1)),
            Argument::F32(0.5),
            Argument::I32(2),
        ];
        let error_of = |arguments: &[Argument<'_>]| {
            let error = ledger
                .check_launch(&Fake(2), 2, arguments)
                .expect_err("wrong");
            error.to_string()
        };
        ledger.check_launch(&Fake(2), 2, &good).expect("all fits");
        assert!(error_of(&good[..2]).contains("expected 3 arguments, got 2"));
        assert!(error_of(&[good[0], good[2], good[2]]).contains("argument 2 must be a float"));
        assert!(error_of(&[Argument::Buffer(&Fake(9)), good[1], good[2]]).contains("argument 1"));
        ledger.remove_kernel(2);
        assert!(error_of(&good).contains("its kernel does not belong to this context"));
    }

    #[test]
    fn a_copy_must_fit_the_recorded_size_of_a_live_buffer() {
        let ledger = Ledger::default();
        ledger.add_buffer(1, 8);
        ledger.check_copy(&Fake(1), 8).expect("it fits");
        assert!(ledger.check_copy(&Fake(1), 9).is_err());
        ledger.remove_buffer(1);
        assert!(ledger.check_copy(&Fake(1), 0).is_err());
    }
}
