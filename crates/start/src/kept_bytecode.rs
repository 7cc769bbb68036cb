//! Kept bytecode: the bytecode of imported Python modules is kept in the cache directory.
//!
//! - Applies to Python programs that were observed compiling modules in every start, and to
//!   all Python programs if a cache directory is named.
//! - Apply: our `sitecustomize` (`python/bytecode.py`) serves stored bytecode to the import
//!   system, and stores what Python compiles. The program's settings for bytecode stay
//!   unchanged.
//! - Verify: each entry is checked against the hash of its source before use.
//! - Undo: do not apply it; the directory can be removed at any time.

use std::ffi::OsStr;
use std::path::PathBuf;

use preheat_host::trusted;
use preheat_launch::caches;

use crate::context::StartContext;
use crate::invocation::{self};
use crate::kept_caches;
use crate::reason::Reason;

/// The variable that passes the directory to our `sitecustomize`.
pub(crate) const VARIABLE: &str = "PREHEAT_BYTECODE";

/// Creates the directory for the bytecode of a start; an error is the reason why it keeps
/// none.
pub(crate) fn apply(context: &StartContext<'_>) -> Result<PathBuf, Reason> {
    invocation::read(context.command, context.program)?;
    let user = |name: &str| context.variable(name).map(OsStr::to_owned);
    if !kept_caches::is_named(&user) {
        match context.observations {
            Some(observed) if observed.compiles_bytecode => {}
            Some(_) => return Err(Reason::CompilesNoModules),
            None => return Err(Reason::Unmeasured),
        }
    }
    let directory = kept_caches::directory(user)?.join(caches::BYTECODE.directory());
    // Code is loaded from there.
    let directory = trusted(&directory).map_err(|why| Reason::Untrusted(why.into()))?;
    kept_caches::make_directory(&directory).map_err(|why| Reason::Path {
        path: directory.clone(),
        why: why.into(),
    })?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;
    use crate::context::tests::sample;
    use crate::observations::Observations;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn bytecode_is_kept_only_where_no_other_user_can_change_it() {
        let scratch = Scratch::new("kept").expect("a directory for the test");
        let at = scratch.path();
        let home = at.to_str().expect("the path is UTF-8");
        let python = |observed: Option<Observations>, environment: &[(&str, &str)]| {
            let mut sample = sample(environment, observed);
            sample.program = "/usr/bin/python3".into();
            sample.command = ["python3", "-c", "pass"].map(Into::into).to_vec();
            apply(&sample.context())
        };
        let observed = |compiles_bytecode| {
            Some(Observations {
                compiles_bytecode,
                ..Observations::default()
            })
        };
        let home_is = [("HOME", home)];
        let expected = at.join(".cache/preheat/caches/pythonpycacheprefix");
        assert_eq!(python(observed(true), &home_is), Ok(expected.clone()));
        assert!(expected.is_dir());
        assert!(
            python(observed(false), &home_is)
                .is_err_and(|why| why.to_string().contains("did not compile"))
        );
        assert!(
            python(None, &home_is).is_err_and(|why| why.to_string().contains("not been measured"))
        );
        // A named directory is used for every program.
        let named = at.join("named");
        fs::create_dir(&named).expect("a directory for the test");
        let name = named.to_str().expect("the path is UTF-8");
        let directory = named.join("pythonpycacheprefix");
        assert_eq!(python(None, &[("PREHEAT_CACHES", name)]), Ok(directory));
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&named, open).expect("it is ours");
        let refused = python(None, &[("PREHEAT_CACHES", name)]);
        assert!(refused.is_err_and(|why| why.to_string().contains("can be changed by every user")));
        // Only Python has bytecode.
        let mut other = sample(&[("PREHEAT_CACHES", home)], None);
        other.program = "/bin/true".into();
        other.command = vec!["true".into()];
        assert!(apply(&other.context()).is_err());
    }
}
