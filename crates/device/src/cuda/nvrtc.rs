//! NVRTC, the compiler from CUDA C to PTX, loaded at run time.
//!
//! It is not part of the driver: CUDA toolkits contain it, and so do the Python packages
//! that frameworks install. The environment variable PREHEAT_NVRTC selects one (a file, or
//! a directory that contains it); no other is tried then.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use super::driver::{Code, Opaque, SUCCESS};
use crate::dynlib::{Library, functions};
use crate::{Error, Result};

/// A loaded NVRTC.
pub(super) struct Nvrtc {
    functions: NvrtcFunctions,
    version: (i32, i32),
}

impl Nvrtc {
    /// Returns the first NVRTC that can be loaded and that `suits`.
    pub fn find(suits: impl Fn(&Nvrtc) -> bool) -> Result<Nvrtc> {
        let mut why = "no libnvrtc was found; PREHEAT_NVRTC can name one".to_owned();
        for candidate in candidates() {
            match Nvrtc::load(&candidate) {
                Ok(nvrtc) if suits(&nvrtc) => return Ok(nvrtc),
                Ok(Nvrtc { version, .. }) => {
                    let (major, minor) = version;
                    why = format!("NVRTC {major}.{minor} does not fit this driver and device");
                }
                Err(_) if env::var_os("PREHEAT_NVRTC").is_none() => {}
                Err(answer) => why = format!("cannot use PREHEAT_NVRTC ({answer})"),
            }
        }
        Err(Error::unsupported("compiling CUDA C", why))
    }

    fn load(name: &str) -> Result<Nvrtc, String> {
        let library = Library::open(&[name])?;
        // SAFETY: this is NVRTC, and the declarations follow its nvrtc.h.
        let functions = unsafe { NvrtcFunctions::bind(&library) }
            .map_err(|symbol| format!("{name} has no {symbol}"))?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two integers.
        let code = unsafe { (functions.version)(&raw mut major, &raw mut minor) };
        let nvrtc = Nvrtc {
            functions,
            version: (major, minor),
        };
        nvrtc
            .check("nvrtcVersion", code)
            .map_err(|e| e.to_string())?;
        Ok(nvrtc)
    }

    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Returns true if a driver of CUDA version `cuda` (13000 is 13.0) accepts its PTX and
    /// it can target a device of this capability.
    pub fn fits(&self, cuda: i32, capability: i32) -> bool {
        let (major, minor) = self.version;
        let supported = self.supported();
        1000 * major + 10 * minor <= cuda
            && (supported.is_empty() || architecture(&supported, capability).is_some())
    }

    /// The architectures it supports; empty if this version is too old to list them.
    pub fn supported(&self) -> Vec<i32> {
        let (Some(get_count), Some(get)) = (
            self.functions.get_supported_count,
            self.functions.get_supported,
        ) else {
            return Vec::new();
        };
        let mut count = 0;
        // SAFETY: it writes one integer.
        if unsafe { get_count(&raw mut count) } != SUCCESS {
            return Vec::new();
        }
        let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes as many integers as it has just announced.
        if unsafe { get(list.as_mut_ptr()) } != SUCCESS {
            return Vec::new();
        }
        list
    }

    /// Compiles CUDA C to NUL-terminated PTX.
    pub fn to_ptx(&self, source: &str, architecture: i32) -> Result<Vec<u8>> {
        let program = Program::new(self, source)?;
        let option = format!("--gpu-architecture=compute_{architecture}");
        let option = CString::new(option).unwrap_or_default();
        let options = [option.as_ptr()];
        // SAFETY: the program is live; there is one option, which ends with NUL.
        let code = unsafe { (self.functions.compile_program)(program.raw, 1, options.as_ptr()) };
        self.check("nvrtcCompileProgram", code)
            .map_err(|error| match error {
                Error::Failed { call, answer } => {
                    Error::failed(call, format!("{answer}: {}", program.log()))
                }
                other => other,
            })?;
        let mut bytes = 0;
        // SAFETY: the program is compiled; it writes one size.
        let code = unsafe { (self.functions.get_ptx_size)(program.raw, &raw mut bytes) };
        self.check("nvrtcGetPTXSize", code)?;
        let mut ptx = vec![0u8; bytes];
        // SAFETY: the buffer has the announced size, including the NUL.
        let code = unsafe { (self.functions.get_ptx)(program.raw, ptx.as_mut_ptr().cast()) };
        self.check("nvrtcGetPTX", code)?;
        Ok(ptx)
    }

    fn check(&self, call: &str, code: Code) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: it returns a static string for every number, even unknown ones.
        let text = unsafe { (self.functions.get_error_string)(code) };
        let answer = if text.is_null() {
            format!("error {code}")
        } else {
            // SAFETY: not null, so a NUL-terminated static string.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Err(Error::failed(call, answer))
    }
}

/// An NVRTC program, destroyed on drop.
struct Program<'a> {
    nvrtc: &'a Nvrtc,
    raw: Opaque,
}

impl<'a> Program<'a> {
    fn new(nvrtc: &'a Nvrtc, source: &str) -> Result<Program<'a>> {
        let source = CString::new(source)
            .map_err(|_| Error::failed("nvrtcCreateProgram", "the source has a NUL in it"))?;
        let mut raw = ptr::null_mut();
        // SAFETY: source and name end with NUL, there are no headers; it writes one
        // handle.
        let code = unsafe {
            (nvrtc.functions.create_program)(
                &raw mut raw,
                source.as_ptr(),
                c"preheat.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        nvrtc.check("nvrtcCreateProgram", code)?;
        Ok(Program { nvrtc, raw })
    }

    fn log(&self) -> String {
        let functions = &self.nvrtc.functions;
        let mut bytes = 0;
        // SAFETY: the program is live; it writes one size.
        let code = unsafe { (functions.get_log_size)(self.raw, &raw mut bytes) };
        if code != SUCCESS {
            return "no log is available".to_owned();
        }
        let mut log = vec![0u8; bytes.max(1)];
        // SAFETY: the buffer has the announced size, including the NUL.
        unsafe { (functions.get_log)(self.raw, log.as_mut_ptr().cast()) };
        let text = String::from_utf8_lossy(&log);
        text.trim_end_matches('\0').trim().to_owned()
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is ours and not used again.
        unsafe { (self.nvrtc.functions.destroy_program)(&raw mut self.raw) };
    }
}

/// The newest supported architecture whose PTX runs on a device of this capability: PTX can
/// be compiled for devices at least as new as its architecture.
pub(super) fn architecture(supported: &[i32], capability: i32) -> Option<c_int> {
    let fitting = supported.iter().copied().filter(|&a| a <= capability);
    fitting.max()
}

/// Names and paths to try, most likely first.
fn candidates() -> Vec<String> {
    if let Some(named) = env::var_os("PREHEAT_NVRTC") {
        let named = PathBuf::from(named);
        return match named.is_dir() {
            true => in_directory(&named),
            false => vec![named.to_string_lossy().into_owned()],
        };
    }
    let bare = [
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so.11.2",
        "libnvrtc.so",
    ];
    let toolkits = children(Path::new("/usr/local"), "cuda").map(|path| path.join("lib64"));
    let roots = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(|name| env::var_os(name).map(PathBuf::from));
    let systems = ["/usr/local", "/usr", "/opt/conda"].map(PathBuf::from);
    let packages = roots
        .into_iter()
        .flatten()
        .chain(systems)
        .flat_map(|root| children(&root.join("lib"), "python3"))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|kind| python.join(kind)))
        .flat_map(|all| ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"].map(|part| all.join(part)));
    let located = toolkits
        .chain(packages)
        .flat_map(|directory| in_directory(&directory));
    bare.into_iter().map(str::to_owned).chain(located).collect()
}

/// The NVRTC libraries in a directory.
fn in_directory(directory: &Path) -> Vec<String> {
    children(directory, "libnvrtc.so")
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// The entries of `directory` that begin with `prefix`, in reverse alphabetical order
/// (usually newest first).
fn children(directory: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let mut names: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter()
}

functions! {
    /// `nvrtc.h`
    struct NvrtcFunctions {
        required {
            get_error_string = "nvrtcGetErrorString" (error: Code) -> *const c_char;
            version = "nvrtcVersion" (major: *mut c_int, minor: *mut c_int) -> Code;
            create_program = "nvrtcCreateProgram"
                (program: *mut Opaque, source: *const c_char, name: *const c_char,
                 count: c_int, headers: *const *const c_char, names: *const *const c_char) -> Code;
            destroy_program = "nvrtcDestroyProgram" (program: *mut Opaque) -> Code;
            compile_program = "nvrtcCompileProgram"
                (program: Opaque, count: c_int, options: *const *const c_char) -> Code;
            get_ptx_size = "nvrtcGetPTXSize" (program: Opaque, bytes: *mut usize) -> Code;
            get_ptx = "nvrtcGetPTX" (program: Opaque, text: *mut c_char) -> Code;
            get_log_size = "nvrtcGetProgramLogSize" (program: Opaque, bytes: *mut usize) -> Code;
            get_log = "nvrtcGetProgramLog" (program: Opaque, text: *mut c_char) -> Code;
        }
        optional {
            // Since CUDA 11.2.
            get_supported_count = "nvrtcGetNumSupportedArchs" (count: *mut c_int) -> Code;
            get_supported = "nvrtcGetSupportedArchs" (architectures: *mut c_int) -> Code;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::compile;

    #[test]
    fn ptx_targets_the_newest_architecture_that_suits_the_device() {
        assert_eq!(architecture(&[52, 80, 90], 90), Some(90));
        assert_eq!(architecture(&[52, 80, 90], 120), Some(90));
        assert_eq!(architecture(&[75, 80, 90], 61), None);
    }

    #[test]
    fn the_kernels_compile_where_nvrtc_is_installed() {
        let nvrtc = match Nvrtc::find(|_| true) {
            Ok(nvrtc) => nvrtc,
            Err(why) => return println!("skipped: {why}"),
        };
        let oldest = nvrtc.supported().into_iter().min().unwrap_or(52);
        let ptx = nvrtc
            .to_ptx(&compile::program(), oldest)
            .expect("it is valid CUDA C");
        assert_eq!(ptx.last(), Some(&0));
        assert!(nvrtc.fits(i32::MAX, oldest) && !nvrtc.fits(0, oldest));
        let broken = nvrtc.to_ptx("nonsense", oldest).expect_err("it is not");
        assert!(broken.to_string().contains("preheat.cu(1)"), "{broken}");
    }
}
