//! Whether compiled code can be carried to another machine: the properties of each cache (which
//! of its files belong together, and what its entries depend on), and the machine that a bundle
//! was packed on.
//!
//! - Triton writes the absolute paths of an entry's files into the entry. They are found by
//!   searching the files for the path of the cache directory.
//! - JAX (0.10) includes the path of its cache in the key of every entry, through the
//!   autotuning directory of XLA.
//! - Inductor compiles C++ with `-march=native`. Its keys include the vector width, but not
//!   the other instructions.
//! - The CUDA driver keeps an index next to its entries.
//! - PyTorch extensions are not kept. They are built by ninja, which relies on mtimes and
//!   could reuse objects that were built against headers of another version.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use preheat_launch::caches::{ALL, BYTECODE, CompileCache};
use serde::{Deserialize, Serialize};

use super::header::BundleError;

/// All caches that a cache directory can hold, including bytecode, which another remedy
/// keeps.
pub(super) fn carried() -> impl Iterator<Item = &'static CompileCache> {
    kept().chain([&BYTECODE])
}

/// The caches that are redirected to the cache directory by a variable.
pub(super) fn kept() -> impl Iterator<Item = &'static CompileCache> {
    ALL.iter()
        .filter(|cache| cache.variable != "TORCH_EXTENSIONS_DIR")
}

/// The cache whose directory has this name.
pub(super) fn by_directory(name: &str) -> Option<&'static CompileCache> {
    carried().find(|cache| cache.directory() == name)
}

/// Returns true for caches that can only be unpacked as a whole, into an empty directory.
/// The others are merged file by file, since their file names identify the contents.
pub(super) fn is_one(cache: &CompileCache) -> bool {
    cache.variable == "CUDA_CACHE_PATH"
}

/// Returns true for caches whose entries are found only under their original path.
pub(super) fn has_path_in_keys(cache: &CompileCache) -> bool {
    cache.variable == "JAX_COMPILATION_CACHE_DIR"
}

/// Returns true for machine code for the processor it was compiled on, if the key of the
/// entry does not include the processor.
pub(super) fn is_for_the_processor(cache: &CompileCache, file: &str) -> bool {
    cache.variable == "TORCHINDUCTOR_CACHE_DIR" && file.ends_with(".so")
}

/// Returns true for temporary files, which are useless or harmful on another machine.
pub(super) fn is_passing(cache: &CompileCache, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    match cache.variable {
        "TORCHINDUCTOR_CACHE_DIR" => name.is_some_and(|name| name.ends_with(".lock")),
        "POCL_CACHE_DIR" => name.is_some_and(|name| name.starts_with("tempfile_")),
        "PYTHONPYCACHEPREFIX" => name.is_some_and(|name| name.ends_with(".new")),
        "TRITON_CACHE_DIR" => name.is_some_and(|name| name.starts_with("tmp.pid_")),
        _ => false,
    }
}

// Searches for a path in a stream of bytes, chunk by chunk.

/// A search for a path.
pub(super) struct Mentions<'a> {
    path: &'a [u8],
    /// The end of the previous chunks, where the path may begin.
    end: Vec<u8>,
    pub found: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn of(path: &'a Path) -> Mentions<'a> {
        Mentions {
            path: path.as_os_str().as_bytes(),
            end: Vec::new(),
            found: false,
        }
    }

    pub(super) fn scan(&mut self, bytes: &[u8]) {
        if self.found || self.path.is_empty() {
            return;
        }
        let most = self.path.len() - 1;
        self.end.extend(&bytes[..bytes.len().min(most)]);
        self.found = has(&self.end, self.path) || has(bytes, self.path);
        if bytes.len() >= most {
            self.end.clear();
            self.end.extend(&bytes[bytes.len() - most..]);
        } else {
            self.end.drain(..self.end.len().saturating_sub(most));
        }
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == part[0]) {
        at += next;
        if bytes[at..].starts_with(part) {
            return true;
        }
        at += 1;
    }
    false
}

/// The target of compiled code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The architecture of the processor: `x86_64`.
    pub architecture: String,
    /// The name of the processor.
    pub processor: String,
    /// The instruction set extensions that compilers use.
    pub instructions: Vec<String>,
    /// The first NVIDIA GPU; `None` if there is none.
    pub card: Option<Card>,
}

/// A GPU with its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The name of the model.
    pub name: String,
    /// The compute capability: `9.0`.
    pub capability: String,
    /// The driver and its newest supported CUDA: `580.159.04, CUDA 13.0`.
    pub driver: String,
}

/// Flags of x86 processors that affect the choice of instructions by compilers. The other
/// flags describe the kernel, virtualization and bugs, and may differ.
const CHOSEN_BY: [&str; 19] = [
    "abm",
    "adx",
    "aes",
    "amx",
    "avx",
    "bmi",
    "f16c",
    "fma",
    "gfni",
    "movbe",
    "pclmulqdq",
    "popcnt",
    "sha",
    "sse",
    "ssse",
    "tbm",
    "vaes",
    "vpclmulqdq",
    "xop",
];

impl Machine {
    /// Describes this machine, with the given card.
    pub fn here(card: Option<Card>) -> Machine {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine::of(&text, card)
    }

    fn of(cpuinfo: &str, card: Option<Card>) -> Machine {
        let field = |names: [&str; 2]| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(name, _)| names.contains(&name.trim()));
            found.map_or("", |(_, value)| value.trim())
        };
        // On ARM the line is called "Features", and all of them matter.
        let all = field(["flags", "Features"]).split_whitespace();
        let arm = std::env::consts::ARCH != "x86_64";
        let chosen = |flag: &&str| arm || CHOSEN_BY.iter().any(|known| flag.starts_with(known));
        let mut instructions: Vec<String> = all.filter(chosen).map(str::to_owned).collect();
        instructions.sort();
        Machine {
            architecture: std::env::consts::ARCH.to_owned(),
            processor: field(["model name", "CPU part"]).to_owned(),
            instructions,
            card,
        }
    }

    /// Checks that code compiled on `self` can be used `here`.
    pub(super) fn serves(&self, here: &Machine) -> Result<(), BundleError> {
        let refused = |why: String| Err(BundleError::Refused(why));
        if self.architecture != here.architecture {
            return refused(format!(
                "it was packed on {}, but this machine is {}",
                self.architecture, here.architecture
            ));
        }
        // Without a card, it contains no GPU code.
        let Some(made) = &self.card else {
            return Ok(());
        };
        let Some(card) = &here.card else {
            return refused(format!(
                "it was packed for {}, but no NVIDIA GPU can be used here; `preheat doctor` shows why",
                made.name
            ));
        };
        if (&made.name, &made.capability) != (&card.name, &card.capability) {
            return refused(format!(
                "it was packed for another card: {} (compute capability {}); this machine has {} ({})",
                made.name, made.capability, card.name, card.capability
            ));
        }
        if made.driver != card.driver {
            return refused(format!(
                "it was packed with another driver: {}; this machine has {}",
                made.driver, card.driver
            ));
        }
        Ok(())
    }

    /// An instruction set extension that code compiled on `self` may use, and that `here`
    /// does not have.
    pub(super) fn lacking<'a>(&'a self, here: &Machine) -> Option<&'a str> {
        let missing = |one: &&String| !here.instructions.contains(one);
        self.instructions.iter().find(missing).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_found_by_directory_name() {
        let triton = by_directory("triton_cache_dir").expect("it is known");
        assert!(!is_one(triton));
        assert!(is_passing(triton, Path::new("/a/tmp.pid_3_x")));
        assert_eq!(by_directory("triton"), None);
        assert_eq!(by_directory("torch_extensions_dir"), None);
        let bytecode = by_directory("pythonpycacheprefix").expect("it is known");
        assert!(is_passing(
            bytecode,
            Path::new("/a/x.cpython-311.pyc.7.9.new")
        ));
        assert!(kept().all(|cache| cache != bytecode));
        assert_eq!(kept().filter(|cache| is_one(cache)).count(), 1);
        assert_eq!(kept().filter(|cache| has_path_in_keys(cache)).count(), 1);
    }

    #[test]
    fn a_path_is_found_across_chunks() {
        let text = b"//kept/a \0 /kept/caches/x";
        for length in 1..text.len() {
            let mut mentions = Mentions::of(Path::new("/kept/caches"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(mentions.found, "pieces of {length}");
            let mut mentions = Mentions::of(Path::new("/kept/cachet"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(!mentions.found, "pieces of {length}");
        }
    }

    fn machine(card: Option<(&str, &str, &str)>) -> Machine {
        let text = "processor : 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 hypervisor sse4_2\n";
        let card = card.map(|(name, capability, driver)| Card {
            name: name.into(),
            capability: capability.into(),
            driver: driver.into(),
        });
        Machine::of(text, card)
    }

    #[test]
    fn another_card_or_driver_is_refused() {
        let made = machine(Some(("H200", "9.0", "580.1, CUDA 13.0")));
        assert_eq!(made.serves(&made), Ok(()));
        let refuses = |here: &Machine, word: &str| {
            let why = made.serves(here).expect_err("it is refused").to_string();
            assert!(why.contains(word), "{why}");
        };
        refuses(
            &machine(Some(("A100", "8.0", "580.1, CUDA 13.0"))),
            "another card",
        );
        refuses(
            &machine(Some(("H200", "9.0", "570.2, CUDA 12.8"))),
            "another driver",
        );
        refuses(&machine(None), "no NVIDIA GPU");
        let mut other = made.clone();
        other.architecture = "riscv64".into();
        refuses(&other, "riscv64");
        // A bundle packed without a card can be used with any card.
        assert_eq!(machine(None).serves(&made), Ok(()));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn only_flags_that_affect_compilers_matter() {
        let made = machine(None);
        assert_eq!(made.processor, "Some CPU");
        assert_eq!(made.instructions, ["avx2", "sse4_2"]);
        assert_eq!(made.lacking(&made), None);
        let mut here = made.clone();
        here.instructions.remove(0);
        assert_eq!(made.lacking(&here), Some("avx2"));
        assert!(!Machine::here(None).instructions.is_empty());
    }
}
