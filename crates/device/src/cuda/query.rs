//! Device properties that are available without a context.

use std::ffi::{CStr, c_char, c_int};
use std::fs;

use super::driver::Driver;
use super::sys::{self, RawDevice};
use crate::{Info, Result};

/// The device properties that a context needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The driver's ordinal.
    pub device: RawDevice,
    /// The compute capability as one number: 90 is 9.0.
    pub capability: i32,
    /// The newest CUDA version that the driver supports: 13000 is 13.0.
    pub cuda: i32,
    /// The maximum number of blocks in one launch.
    pub max_blocks: usize,
    /// True if the device supports `cuMemAllocAsync`.
    pub has_pools: bool,
}

/// Queries the first device.
pub(super) fn first_device(driver: &Driver) -> Result<(Target, Info)> {
    let cu = &driver.cu;
    let mut device: RawDevice = 0;
    // SAFETY: the driver is initialized; it writes one integer.
    let code = unsafe { (cu.device_get)(&raw mut device, 0) };
    if code != sys::SUCCESS {
        return Err(driver.no_device("cuDeviceGet", code));
    }
    let mut memory = 0usize;
    // SAFETY: the device is valid; the driver writes one size_t.
    let code = unsafe { (cu.device_total_mem)(&raw mut memory, device) };
    driver.check("cuDeviceTotalMem", code)?;
    let mut cuda: c_int = 0;
    // SAFETY: the driver writes one integer.
    let code = unsafe { (cu.driver_get_version)(&raw mut cuda) };
    driver.check("cuDriverGetVersion", code)?;

    let major = attribute(driver, device, sys::ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(driver, device, sys::ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let multiprocessors = attribute(driver, device, sys::ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let max_blocks = attribute(driver, device, sys::ATTRIBUTE_MAX_GRID_DIM_X)?;
    // Drivers before 11.2 do not know this attribute and have no pools.
    let pools = attribute(driver, device, sys::ATTRIBUTE_MEMORY_POOLS_SUPPORTED).unwrap_or(0);
    let name = text("cuDeviceGetName", driver, device, cu.device_get_name)?;
    let pci = text(
        "cuDeviceGetPCIBusId",
        driver,
        device,
        cu.device_get_pci_bus_id,
    )?;

    let target = Target {
        device,
        capability: 10 * major + minor,
        cuda,
        max_blocks: usize::try_from(max_blocks).unwrap_or(0),
        has_pools: pools != 0,
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let info = Info {
        name,
        driver: describe_driver(kernel_driver().as_deref(), cuda),
        memory: memory as u64,
        is_gpu: true,
        facts: vec![
            fact("compute capability", format!("{major}.{minor}")),
            fact("multiprocessors", multiprocessors.to_string()),
            fact("PCI address", pci),
        ],
    };
    Ok((target, info))
}

fn attribute(driver: &Driver, device: RawDevice, which: c_int) -> Result<c_int> {
    let mut value: c_int = 0;
    // SAFETY: the device is valid; the driver writes one integer, or rejects an attribute
    // that it does not know.
    let code = unsafe { (driver.cu.device_get_attribute)(&raw mut value, which, device) };
    driver.check("cuDeviceGetAttribute", code)?;
    Ok(value)
}

/// The type of `cuDeviceGetName` and `cuDeviceGetPCIBusId`.
type TextOf = unsafe extern "C" fn(*mut c_char, c_int, RawDevice) -> sys::Code;

fn text(call: &str, driver: &Driver, device: RawDevice, function: TextOf) -> Result<String> {
    const SIZE: usize = 256;
    let mut buffer = [0u8; SIZE];
    // SAFETY: the driver writes at most that many characters, including the NUL.
    let code = unsafe { function(buffer.as_mut_ptr().cast(), SIZE as c_int, device) };
    driver.check(call, code)?;
    Ok(CStr::from_bytes_until_nul(&buffer)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default())
}

/// The kernel driver's version, where available (not on WSL).
fn kernel_driver() -> Option<String> {
    version_in(&fs::read_to_string("/proc/driver/nvidia/version").ok()?)
}

/// The first word of the first line that consists of numbers joined by dots.
fn version_in(text: &str) -> Option<String> {
    text.lines()
        .next()?
        .split_whitespace()
        .find(|word| {
            word.contains('.')
                && word
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        })
        .map(str::to_owned)
}

fn describe_driver(kernel: Option<&str>, cuda: i32) -> String {
    let cuda = format!("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
    match kernel {
        Some(kernel) => format!("{kernel}, {cuda}"),
        None => cuda,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_driver_version_is_found_in_both_formats() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 2021\nGCC version:  gcc 9.3.0";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x@y)";
        assert_eq!(version_in(closed).as_deref(), Some("470.82.01"));
        assert_eq!(version_in(open).as_deref(), Some("580.159.04"));
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn the_driver_description_includes_the_kernel_version_if_known() {
        assert_eq!(
            describe_driver(Some("580.159.04"), 13000),
            "580.159.04, CUDA 13.0"
        );
        assert_eq!(describe_driver(None, 12080), "CUDA 12.8");
    }
}
