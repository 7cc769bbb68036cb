//! The reason why a command is started plainly, and the one line about it that is printed at
//! a terminal: the first time only, if the reason lasts.

use std::fs;
use std::path::Path;

use preheat_launch::program::Program;

use crate::reason::Reason;
use crate::{Request, directories, identity, invocation};

/// The extension of the file with the reason that was already shown for a program.
pub(crate) const ENDING: &str = "hint";

/// The reason why a command is started plainly.
#[derive(Debug)]
pub(crate) struct Plain {
    /// The reason, a clause that continues "started plainly:".
    pub why: Reason,
    /// Advice, if the next start would be plain for the same reason.
    advice: Option<Advice>,
}

/// The advice for a lasting reason, by the origin of the reason.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// The command.
    Command,
    /// The process that starts the command.
    Process,
    /// The program.
    Program,
}

impl Advice {
    /// Adds this advice to a lasting reason.
    pub(crate) fn on(self, why: Reason) -> Plain {
        Plain {
            why,
            advice: Some(self),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Advice::Command => {
                "only `python FILE`, `python -m`, `python -c` and commands that execute one of these can be started warm"
            }
            Advice::Process => "start it from a shell or a launcher without that restriction",
            Advice::Program => {
                "`preheat start --prepare -- COMMAND` tries again and shows what it finds"
            }
        }
    }
}

impl Plain {
    /// A temporary reason: the next start may be warm.
    pub(crate) fn for_now(why: Reason) -> Plain {
        Plain { why, advice: None }
    }

    /// Shows the reason if it lasts and was not shown for this program before.
    pub(crate) fn hint(&self, request: &Request<'_>, program: &Program) {
        let (Some(advice), Some(hint)) = (self.advice, request.hint) else {
            return;
        };
        let invocation = invocation::read(request.command, &program.path);
        let name = identity::name_of(&invocation, &program.path);
        let is_new = directories::find().map_or(true, |directories| {
            note(&directories.kept, &name, &self.why.to_string())
        });
        if is_new {
            hint(&format!("started plainly: {}; {}", self.why, advice.text()));
        }
    }
}

/// Stores the reason, and returns true if it is new.
fn note(kept: &Path, name: &str, why: &str) -> bool {
    let path = kept.join(format!("{name}.{ENDING}"));
    if fs::read(&path).is_ok_and(|known| known == why.as_bytes()) {
        return false;
    }
    // If it cannot be stored, the next start shows it again.
    let _ = fs::write(&path, why);
    true
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn each_reason_is_new_only_once() {
        let scratch = Scratch::new("hint").expect("a directory for the test");
        let is_new = |name, why| note(scratch.path(), name, why);
        assert!(is_new("a", "it is traced"));
        assert!(!is_new("a", "it is traced"));
        assert!(is_new("b", "it is traced"));
        assert!(is_new("a", "it is interactive"));
    }
}
