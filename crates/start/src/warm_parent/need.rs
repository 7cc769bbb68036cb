//! Decides whether a program needs another warm parent, in addition to those that are running.
//!
//! If a variable differs at each start, no start could use a parent made for an earlier one,
//! and each start would create another. preheat therefore records such variables, and no
//! longer imports ahead the modules that read them. If that does not help, it creates no further
//! parent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use super::REFUSED_FOR;
use super::learned::{self, Learned};
use super::list::{forget, is_alive, leave, served};
use super::make::ParentRequest;
use super::sandbox::is_shared_with;
use super::state::{Parent, parents};
use super::variables::{Environment, Matters, VariablesRead};
use crate::identity::name;
use crate::reason::Reason;

/// The largest number of parents per program.
const MAX_PARENTS: usize = 3;

impl ParentRequest<'_> {
    /// Returns `None` if no other parent is needed, or if none would help. Otherwise returns the
    /// files of the parents that the new one replaces once it is ready.
    pub(crate) fn wanted(&self) -> io::Result<Option<Vec<PathBuf>>> {
        let (mut others, mut replaced) = (Vec::new(), Vec::new());
        for parent in parents(&self.directories.run, &name(&self.identity.whole)) {
            let suits = self.is_suited_by(&parent);
            if parent.identity != self.identity.whole {
                continue;
            } else if !is_alive(&parent) {
                forget(&parent);
            } else if !self.has_keyring_of(&parent) {
                // Each login and each job may have a keyring; its parents exit when it ends.
                others.push((parent, Reason::OtherKeyring));
            } else if let Err(why) = suits.and_then(|()| is_shared_with(parent.process)) {
                others.push((parent, why));
            } else if parent.is_right_for(self.invocation).is_err() {
                leave(&parent);
            } else if parent.is_outdated() {
                replaced.extend([parent.path, parent.socket]);
            } else {
                return Ok(None);
            }
        }
        // Parents that exited unused when their keyring ended count as well.
        let mut of_keyrings = self.unused();
        // An idle parent has served no start: even the one after its creation did not match.
        let is_idle = |parent: &Parent| served(parent).is_none_or(|starts| starts == 0);
        let (mut idle, used): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(parent, _)| is_idle(parent));
        let asked: Vec<&VariablesRead> = idle.iter().map(|(parent, _)| &parent.asked).collect();
        let mut varying = varying(&asked, self.environment);
        // A recorded variable that still differs belongs to modules that could not be left out.
        let known = Learned::read(&self.learned()).unwrap_or_default();
        varying.retain(|name| !known.varies(name));
        if !varying.is_empty() {
            learned::note_varying(&self.learned(), &varying)?;
            for (parent, _) in idle.drain(..) {
                leave(&parent);
            }
        }
        let is_of_keyring = |(_, why): &&(Parent, Reason)| matches!(why, Reason::OtherKeyring);
        of_keyrings += idle.iter().filter(is_of_keyring).count();
        let is_full = idle.len() + used.len() >= MAX_PARENTS;
        // More unused parents than used ones: most keyrings have a single start.
        let are_useless = of_keyrings >= MAX_PARENTS || is_full && of_keyrings > used.len();
        if replaced.is_empty() && are_useless {
            // The next login or job could not use a new parent either.
            fs::write(self.refusal(), Reason::KeyringsDiffer.stored())?;
            return Ok(None);
        }
        if !replaced.is_empty() || !is_full {
            return Ok(Some(replaced));
        }
        if used.is_empty() {
            let (_, why) = &idle[0];
            let why = Reason::NeverMatches(why.clone().into());
            fs::write(self.refusal(), why.stored())?;
            return Ok(None);
        }
        let of = if idle.is_empty() { &used } else { &idle };
        if let Some((oldest, _)) = of.iter().min_by_key(|(parent, _)| parent.began) {
            leave(oldest);
        }
        Ok(Some(replaced))
    }
}

impl ParentRequest<'_> {
    pub(super) fn unused_file(&self) -> PathBuf {
        let name = name(&self.identity.whole);
        self.directories.run.join(name + ".unused")
    }

    /// The number of parents that recently exited unused because their session keyring ended.
    /// Each appended one byte to a file.
    fn unused(&self) -> usize {
        let path = self.unused_file();
        let is_recent = |of: &fs::Metadata| {
            let age = of.modified().ok().and_then(|then| then.elapsed().ok());
            age.is_none_or(|age| age < REFUSED_FOR)
        };
        match fs::metadata(&path) {
            Ok(of) if is_recent(&of) => usize::try_from(of.len()).unwrap_or(MAX_PARENTS),
            Ok(_) => {
                let _ = fs::remove_file(&path);
                0
            }
            Err(_) => 0,
        }
    }
}

/// The variables that probably differ at each start: those in which this start differs from
/// `idle` parents, which no start could use. If modules have read the whole environment, a
/// difference from one parent is enough; if they have read the variable by name, two are
/// needed. Variables that libraries read are never returned: they cannot be left out.
fn varying(idle: &[&VariablesRead], environment: &Environment) -> BTreeSet<Vec<u8>> {
    let mut asked: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for parent in idle {
        let differing: BTreeMap<_, _> = parent.differing(environment).collect();
        for (name, how) in differing {
            match how {
                Matters::ByName => *asked.entry(name).or_default() += 1,
                Matters::Everything => drop(found.insert(name.to_vec())),
                Matters::Always => {}
            }
        }
    }
    let often = asked.into_iter().filter(|&(_, parents)| parents > 1);
    found.extend(often.map(|(name, _)| name.to_vec()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> (Vec<u8>, Vec<u8>) {
        (name.into(), value.into())
    }

    fn names(found: &BTreeSet<Vec<u8>>) -> Vec<String> {
        let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        found.iter().map(text).collect()
    }

    #[test]
    fn variables_that_differ_at_each_start_are_found() {
        let asking = |value: &str| VariablesRead {
            variables: vec![(b"JOB".into(), Some(value.into()))],
            environment: vec![one("JOB", value), one("OMP_NUM_THREADS", value)],
            ..VariablesRead::default()
        };
        let (first, second) = (asking("1"), asking("2"));
        let third = [one("JOB", "3"), one("OMP_NUM_THREADS", "3")];
        // Two values may have two parents; a third value shows that the variable varies.
        assert!(varying(&[&first], &third).is_empty());
        assert_eq!(names(&varying(&[&first, &second], &third)), ["JOB"]);
        let again = [one("JOB", "2"), one("OMP_NUM_THREADS", "2")];
        assert!(varying(&[&first, &second], &again).is_empty());
        let looking = VariablesRead {
            everything: true,
            environment: vec![one("BEGAN", "1"), one("TERM", "dumb")],
            ..VariablesRead::default()
        };
        let now = [one("BEGAN", "2"), one("TERM", "dumb")];
        assert_eq!(names(&varying(&[&looking], &now)), ["BEGAN"]);
    }
}
