//! Why a command is started plainly, and the one line about it that a person at a terminal
//! gets: the first time only, if the reason lasts.

use std::fs;
use std::path::Path;

use preheat_launch::program::Program;

use crate::invocation::Why;
use crate::{Request, identity, invocation, place};

/// The ending of the file that holds the reason that was already shown for a program.
pub(crate) const ENDING: &str = "hint";

/// Why a command is started plainly.
#[derive(Debug)]
pub(crate) struct Plain {
    /// A sentence without a beginning.
    pub why: Why,
    /// What to do about it, if the next start would be plain for the same reason.
    advice: Option<Advice>,
}

/// Where the reason lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// In the command.
    Command,
    /// In the process that starts it.
    Process,
    /// In the program itself.
    Program,
}

impl Advice {
    /// This advice on a reason that lasts.
    pub(crate) fn on(self, why: Why) -> Plain {
        Plain {
            why,
            advice: Some(self),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Advice::Command => {
                "only `python FILE`, `python -m`, `python -c` and commands that become one of these can be started warm"
            }
            Advice::Process => "start it from a shell or a launcher without that restriction",
            Advice::Program => {
                "`preheat start --prepare -- COMMAND` tries again and shows what it finds"
            }
        }
    }
}

impl Plain {
    /// The next start may be warm.
    pub(crate) fn for_now(why: Why) -> Plain {
        Plain { why, advice: None }
    }

    /// Shows the reason if it lasts and was not shown for this program before.
    pub(crate) fn hint(&self, request: &Request<'_>, program: &Program) {
        let (Some(advice), Some(hint)) = (self.advice, request.hint) else {
            return;
        };
        let invocation = invocation::read(request.command, &program.path);
        let name = identity::name_of(&invocation, &program.path);
        let is_new = place::places().map_or(true, |places| note(&places.kept, &name, &self.why));
        if is_new {
            hint(&format!("started plainly: {}; {}", self.why, advice.text()));
        }
    }
}

/// Keeps the reason; whether it was not known.
fn note(kept: &Path, name: &str, why: &str) -> bool {
    let path = kept.join(format!("{name}.{ENDING}"));
    if fs::read(&path).is_ok_and(|known| known == why.as_bytes()) {
        return false;
    }
    // If it cannot be kept, the next start shows it again.
    let _ = fs::write(&path, why);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_new_once() {
        let at = std::env::temp_dir().join(format!("preheat-hint-{}", std::process::id()));
        fs::create_dir(&at).expect("a directory for the test");
        assert!(note(&at, "a", "it is traced"));
        assert!(!note(&at, "a", "it is traced"));
        assert!(note(&at, "b", "it is traced"));
        assert!(note(&at, "a", "it is interactive"));
        fs::remove_dir_all(&at).expect("it goes");
    }
}
