//! Properties of this machine: processor, memory, settings.

use std::fs;
use std::num::NonZero;
use std::thread::available_parallelism;

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};

use preheat_host::memory;

use crate::{Error, Info, Kind, Result};

/// This processor as a compilation target, with all its instruction set extensions.
pub(crate) fn target() -> Result<OwnedTargetIsa> {
    let unavailable = |because: String| Error::Unavailable {
        kind: Kind::Cpu,
        because: format!("its compiler does not support this processor: {because}"),
        hint: "it needs x86-64 or aarch64".to_owned(),
    };
    // Cranelift supports more architectures, but the layout of argument slots and the
    // instruction cache handling are written for these two.
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(unavailable("unsupported architecture".to_owned()));
    }
    let mut flags = settings::builder();
    // IR verification is for our tests; it costs a third of the compile time.
    let verify = cfg!(debug_assertions).to_string();
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", verify.as_str())] {
        flags
            .set(name, value)
            .map_err(|error| unavailable(error.to_string()))?;
    }
    cranelift_native::builder()
        .map_err(|error| unavailable(error.to_owned()))?
        .finish(Flags::new(flags))
        .map_err(|error| unavailable(error.to_string()))
}

/// The number of threads that can run at once, subject to the container's limit.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Describes this machine as a device.
pub(crate) fn info(isa: &dyn TargetIsa) -> Info {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("target", isa.triple().to_string()),
        fact("cores", cores().to_string()),
        fact("page size", format!("{} bytes", memory::page_size())),
    ];
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if let Some(chosen) = huge_pages.ok().as_deref().and_then(chosen) {
        facts.push(fact("transparent huge pages", chosen.to_owned()));
    }
    let extensions = extensions(isa);
    if !extensions.is_empty() {
        facts.push(fact("instruction set extensions", extensions));
    }
    Info {
        name: processor_name(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
            .unwrap_or_else(|| format!("{} processor", isa.triple().architecture)),
        driver: format!("embedded, Cranelift {}", cranelift_codegen::VERSION),
        memory: memory::total().unwrap_or(0),
        is_gpu: false,
        facts,
    }
}

fn processor_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The word in brackets of `always [madvise] never`.
fn chosen(setting: &str) -> Option<&str> {
    Some(setting.split_once('[')?.1.split_once(']')?.0)
}

/// The extensions that the compiler will use, space-separated.
fn extensions(isa: &dyn TargetIsa) -> String {
    let flags = isa.isa_flags();
    let has: Vec<&str> = flags
        .iter()
        .filter(|flag| flag.as_bool() == Some(true))
        .filter_map(|flag| flag.name.strip_prefix("has_"))
        .collect();
    has.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some: Processor @ 2 GHz\n";
        let name = processor_name(cpuinfo);
        assert_eq!(name.as_deref(), Some("Some: Processor @ 2 GHz"));
        assert_eq!(processor_name("processor\t: 0\n"), None);
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("nothing"), None);
    }

    #[test]
    fn this_machine_is_described() {
        let info = info(&*target().expect("this processor is supported"));
        assert!(!info.name.is_empty());
        assert!(info.driver.starts_with("embedded, Cranelift 0."));
        assert!(info.memory > 0);
    }
}
