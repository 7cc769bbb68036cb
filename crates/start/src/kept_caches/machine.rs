//! What a bundle was made on, and whether it is of use here.

use std::fs;

use serde::{Deserialize, Serialize};

use super::error::BundleError;

/// What compiled code is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kind of processor: `x86_64`.
    pub architecture: String,
    /// The processor's name.
    pub processor: String,
    /// Its instructions that compilers choose by.
    pub instructions: Vec<String>,
    /// The first NVIDIA GPU; `None` where there is none.
    pub card: Option<Card>,
}

/// A GPU with its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Its own name.
    pub name: String,
    /// Its compute capability: `9.0`.
    pub capability: String,
    /// Its driver and the newest CUDA that this knows: `580.159.04, CUDA 13.0`.
    pub driver: String,
}

/// Flags of x86 processors that compilers choose instructions by. The others tell of the
/// kernel, of virtual machines and of flaws, and differ without being of concern.
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
    /// This machine, with the card that was found.
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
        // "Features" is what ARM says, and all of them matter there.
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

    /// Whether what was made there is of use here; `self` is where it was made.
    pub(super) fn serves(&self, here: &Machine) -> Result<(), BundleError> {
        let refused = |why: String| Err(BundleError::Refused(why));
        if self.architecture != here.architecture {
            return refused(format!(
                "it was made on {}, and this machine is {}",
                self.architecture, here.architecture
            ));
        }
        // Without a card there is no code for one in it.
        let Some(made) = &self.card else {
            return Ok(());
        };
        let Some(card) = &here.card else {
            return refused(format!(
                "it was made for {}, and no NVIDIA GPU can be used here; `preheat doctor` says why",
                made.name
            ));
        };
        if (&made.name, &made.capability) != (&card.name, &card.capability) {
            return refused(format!(
                "it was made for another card: {} (compute capability {}), and here is {} ({})",
                made.name, made.capability, card.name, card.capability
            ));
        }
        if made.driver != card.driver {
            return refused(format!(
                "it was made with another driver: {}, and here is {}",
                made.driver, card.driver
            ));
        }
        Ok(())
    }

    /// An instruction that code from there may use, and that this machine does not have.
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
        // What was made without a card is of use with any.
        assert_eq!(machine(None).serves(&made), Ok(()));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn only_instructions_that_compilers_choose_matter() {
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
