//! The machine that a bundle was packed on, and whether its code runs here.

use std::fs;

use serde::{Deserialize, Serialize};

use super::header::BundleError;

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
