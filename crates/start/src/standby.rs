//! Standbys: children of the warm parent that have the GPU ready before a start asks for it.
//!
//! This file decides whether there can be a standby for a start, and computes the key by
//! which a start finds one that matches. `warm_parent/waiting.rs` finds, makes and removes
//! them; `python/standby.py` is the process itself.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::directories::Directories;
use crate::identity::{self, Identity, lasting_stamp, stamp};
use crate::invocation::{Invocation, Main};
use crate::reason::Reason;
use crate::warm_parent::{Ahead, Environment, Learned};

/// The variable that makes a start learn. Two lines: the file to write, and the stamp of the
/// program.
pub(crate) const VARIABLE: &str = "PREHEAT_STANDBY";

/// The most standbys of one program.
pub const MAX_STANDBYS: usize = 64;

/// Prefixes of variables that the driver and the libraries above it read when they are
/// initialized. A program that sets one of them would come too late.
const LIBRARIES: [&str; 8] = [
    "CUDA_", "NVIDIA_", "CUBLAS", "CUDNN_", "PYTORCH_", "CUPY_", "XLA_", "JAX_",
];

/// Prefixes of other variables that the state of a standby depends on: by these, launchers
/// choose a GPU, and frameworks configure themselves.
const OTHER_PREFIXES: [&str; 10] = [
    "LD_LIBRARY_PATH",
    "LOCAL_RANK",
    "RANK",
    "SLURM_LOCALID",
    "SLURM_PROCID",
    "NCCL_",
    "TORCH",
    "XLA_",
    "JAX_",
    "TF_",
];

/// The state in which a standby waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Without device memory.
    #[default]
    Parked,
    /// With its context and the memory of the libraries.
    Hot,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 2] = [Form::Parked, Form::Hot];

    /// The name, as `--standby` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Form::Parked => "parked",
            Form::Hot => "hot",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The standbys that a start asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standby {
    /// The state in which they wait.
    pub form: Form,
    /// The number to keep ready.
    pub count: usize,
}

/// The standbys of one program, as one start wants them.
#[derive(Debug)]
pub(crate) struct Standbys {
    pub asked: Standby,
    /// The arguments of the program, by which it may choose a GPU.
    arguments: Vec<OsString>,
    /// The directory of sockets and state files, and how their names begin.
    pub run: PathBuf,
    pub name: String,
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// The file that a learning start writes.
    learned: PathBuf,
    /// The stamp of the program now.
    program: String,
    /// The reason in its files why the program may not have a standby.
    refused: Option<Reason>,
}

/// The records of a learning start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    pub driver: PathBuf,
    pub devices: Vec<u32>,
    /// The stamp of the program then.
    program: String,
}

impl Standbys {
    pub(crate) fn of(
        asked: Standby,
        invocation: &Invocation,
        identity: &Identity,
        directories: &Directories,
        environment: &Environment,
    ) -> Standbys {
        let name = identity::name(&identity.program);
        let program = match &invocation.main {
            Main::Script(path) => lasting_stamp(path),
            Main::Module(_) | Main::Code(_) | Main::Input(_) => String::new(),
        };
        let learned = directories.kept.join(format!("{name}.standby"));
        Standbys {
            arguments: invocation.words[invocation.leading..].to_vec(),
            run: directories.run.clone(),
            name: identity::name(&identity.whole),
            environment: environment.to_vec(),
            refused: refused(&Learned::file(&directories.kept, &name), &invocation.main),
            asked,
            learned,
            program,
        }
    }

    /// Names the state of the GPU that a standby must have been prepared for.
    pub(crate) fn key(&self) -> String {
        // The driver is known only when the learning start has ended.
        let driver = read(&self.learned).map(|it| it.driver).unwrap_or_default();
        key(self.asked.form, &self.environment, &self.arguments, &driver)
    }

    /// The value of the variable with which a start learns, if it has to: nothing is known,
    /// or the program was edited since.
    pub(crate) fn learning(&self) -> Option<OsString> {
        let known = read(&self.learned);
        if self.refused.is_some() || known.is_some_and(|it| it.program == self.program) {
            return None;
        }
        let mut value = self.learned.clone().into_os_string();
        value.push("\n");
        value.push(&self.program);
        Some(value)
    }

    /// The GPUs to prepare; or why there is no standby.
    pub(crate) fn device_use(&self) -> Result<Use, Reason> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        let known = read(&self.learned).ok_or(Reason::Unobserved)?;
        if known.devices.is_empty() {
            return Err(Reason::NeverUsesCuda);
        }
        if self.learned.with_extension("standby.forks").exists() {
            return Err(Reason::ForksUseStandby);
        }
        Ok(known)
    }

    /// The file of the learned operations.
    pub(crate) fn file(&self) -> &Path {
        &self.learned
    }

    /// The file with the reason why the last one could not be prepared.
    pub(crate) fn refusal(&self) -> PathBuf {
        self.run.join(format!("{}.nostandby", self.name))
    }
}

fn read(path: &Path) -> Option<Use> {
    Some(parse(&fs::read(path).ok()?))
}

/// Records of three fields, each ended by a NUL; those of the rehearsal are not read here.
fn parse(bytes: &[u8]) -> Use {
    let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut found = Use::default();
    for record in fields.chunks_exact(3) {
        match record[0] {
            b"program" => found.program = text(record[1]),
            b"driver" => found.driver = OsString::from_vec(record[1].to_vec()).into(),
            b"device" => found.devices.extend(text(record[1]).parse::<u32>()),
            _ => {}
        }
    }
    found
}

/// The reason why a program may not have a standby: its files mention a variable that it would set
/// too late, or it has changed one.
fn refused(learned: &Path, main: &Main) -> Option<Reason> {
    let learned = Learned::read(learned)?;
    let Ahead { sets, changed, .. } = learned.ahead(main).ok()?;
    let name = changed
        .union(&sets)
        .find(|name| has_prefix(name, &LIBRARIES))?;
    Some(Reason::MaySet(String::from_utf8_lossy(name).into_owned()))
}

fn has_prefix(name: &[u8], prefixes: &[&str]) -> bool {
    prefixes
        .iter()
        .any(|known| name.starts_with(known.as_bytes()))
}

/// Equal for starts that find the GPU in the same state.
fn key(form: Form, environment: &Environment, arguments: &[OsString], driver: &Path) -> String {
    let mut text = Vec::new();
    let mut put = |field: &[u8]| {
        text.extend_from_slice(field);
        text.push(0);
    };
    put(form.to_string().as_bytes());
    let matters = |name: &[u8]| has_prefix(name, &LIBRARIES) || has_prefix(name, &OTHER_PREFIXES);
    let mut variables: Vec<_> = environment
        .iter()
        .filter(|(name, _)| matters(name))
        .collect();
    variables.sort();
    for (name, value) in variables {
        put(name);
        put(value);
    }
    put(driver.as_os_str().as_bytes());
    put(stamp(driver).as_bytes());
    put(&fs::read("/proc/driver/nvidia/version").unwrap_or_default());
    let devices = devices();
    // A program may choose its GPU by an argument.
    if devices.iter().filter(|it| is_gpu(it)).count() > 1 {
        for argument in arguments {
            put(argument.as_bytes());
        }
    }
    for device in &devices {
        put(device.as_bytes());
    }
    identity::name(&text)
}

/// The device files of NVIDIA GPUs, with their numbers and whether this process may open
/// them: a control group can forbid that, and a container can have others.
fn devices() -> Vec<OsString> {
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path());
    let mut found: Vec<OsString> = names
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name.as_bytes().starts_with(b"nvidia")
        })
        .map(|path| {
            let number = fs::metadata(&path).map_or(0, |it| it.rdev());
            let opens = fs::OpenOptions::new().read(true).open(&path).is_ok();
            let mut text = path.into_os_string();
            text.push(format!(" {number} {opens}"));
            text
        })
        .collect();
    found.sort();
    found
}

/// Returns true for the device file of a GPU, as opposed to one of the driver.
fn is_gpu(device: &OsString) -> bool {
    let rest = device.as_bytes().strip_prefix(b"/dev/nvidia");
    rest.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let bytes = |text: &str| text.as_bytes().to_vec();
        pairs
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect()
    }

    #[test]
    fn the_key_depends_on_the_gpu_and_not_on_the_rest() {
        let of = |form, pairs: &[(&str, &str)]| key(form, &environment(pairs), &[], Path::new(""));
        let plain = of(Form::Hot, &[]);
        assert_eq!(plain, of(Form::Hot, &[("TERM", "a"), ("HOME", "/")]));
        assert_ne!(plain, of(Form::Parked, &[]));
        for name in [
            "CUDA_VISIBLE_DEVICES",
            "CUBLAS_WORKSPACE_CONFIG",
            "PYTORCH_ALLOC_CONF",
            "LOCAL_RANK",
            "XLA_FLAGS",
        ] {
            assert_ne!(plain, of(Form::Hot, &[(name, "1")]), "{name}");
        }
        let split = of(Form::Hot, &[("CUDA_A", "1"), ("CUDA_B", "2")]);
        assert_eq!(split, of(Form::Hot, &[("CUDA_B", "2"), ("CUDA_A", "1")]));
        assert_ne!(split, of(Form::Hot, &[("CUDA_A", "2"), ("CUDA_B", "1")]));
        assert_ne!(plain, key(Form::Hot, &[], &[], Path::new("/bin/sh")));
    }

    #[test]
    fn records_of_a_learning_start_are_read() {
        let bytes =
            b"program\x001 2\0\0driver\0/lib/libcuda.so.1\0\0device\x000\0\0device\x003\0\0\
            operation\0[]\0\0device\0many\0\0dev";
        let expected = Use {
            driver: "/lib/libcuda.so.1".into(),
            devices: vec![0, 3],
            program: "1 2".into(),
        };
        assert_eq!(parse(bytes), expected);
        assert_eq!(parse(b""), Use::default());
    }

    #[test]
    fn only_numbered_device_files_are_gpus() {
        for (name, is) in [
            ("/dev/nvidia0 49920 true", true),
            ("/dev/nvidiactl 50175 true", false),
            ("/dev/nvidia-uvm 60928 true", false),
        ] {
            assert_eq!(is_gpu(&name.into()), is, "{name}");
        }
    }
}
