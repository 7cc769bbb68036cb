//! Kept bytecode: the bytecode of imported Python modules is kept in the cache directory.
//!
//! - It applies to Python programs that were seen to compile modules in every start, and
//!   to all Python programs where a cache directory was named.
//! - It is applied by our `sitecustomize` (`python/bytecode.py`), which serves the import
//!   system with what is kept, and keeps what it compiles. The program's own settings for
//!   bytecode stay as they are.
//! - It is verified by the hash of the source, whenever an entry is used.
//! - It is undone by not being applied; the directory can be removed at any time.

use std::ffi::OsStr;
use std::path::PathBuf;

use preheat_host::trusted;
use preheat_launch::caches;

use crate::case::Case;
use crate::invocation::{self, Why};
use crate::kept_caches;

/// The variable by which our `sitecustomize` learns the directory.
pub(crate) const VARIABLE: &str = "PREHEAT_BYTECODE";

/// The directory in which a start keeps its bytecode; or why it keeps none.
pub(crate) fn apply(case: &Case<'_>) -> Result<PathBuf, Why> {
    invocation::read(case.command, case.program)?;
    let user = |name: &str| case.variable(name).map(OsStr::to_owned);
    if !kept_caches::is_named(&user) {
        match case.seen {
            Some(seen) if seen.compiles_bytecode => {}
            Some(_) => return Err("the program was not seen to compile its modules".into()),
            None => return Err("the program was not measured yet".into()),
        }
    }
    let directory = kept_caches::directory(user)?.join(caches::BYTECODE.directory());
    // Code is loaded from there.
    let directory = trusted(&directory)
        .map_err(|why| format!("bytecode is code, and another user could change it: {why}"))?;
    kept_caches::make_directory(&directory)
        .map_err(|why| format!("{}: {why}", directory.display()))?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::sample;
    use crate::seen::Seen;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn bytecode_is_kept_where_nobody_else_can_change_it() {
        let at = std::env::temp_dir().join(format!("preheat-kept-{}", std::process::id()));
        fs::create_dir(&at).expect("a directory for the test");
        let home = at.to_str().expect("text");
        let python = |seen: Option<Seen>, environment: &[(&str, &str)]| {
            let mut sample = sample(environment, seen);
            sample.program = "/usr/bin/python3".into();
            sample.command = ["python3", "-c", "pass"].map(Into::into).to_vec();
            apply(&sample.case())
        };
        let seen = |compiles_bytecode| {
            Some(Seen {
                compiles_bytecode,
                ..Seen::default()
            })
        };
        let home_is = [("HOME", home)];
        let expected = at.join(".cache/preheat/caches/pythonpycacheprefix");
        assert_eq!(python(seen(true), &home_is), Ok(expected.clone()));
        assert!(expected.is_dir());
        assert!(python(seen(false), &home_is).is_err_and(|why| why.contains("not seen")));
        assert!(python(None, &home_is).is_err_and(|why| why.contains("not measured")));
        // A named directory is for every program.
        let named = at.join("named");
        fs::create_dir(&named).expect("a directory for the test");
        let name = named.to_str().expect("text");
        let directory = named.join("pythonpycacheprefix");
        assert_eq!(python(None, &[("PREHEAT_CACHES", name)]), Ok(directory));
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&named, open).expect("it is ours");
        let refused = python(None, &[("PREHEAT_CACHES", name)]);
        assert!(refused.is_err_and(|why| why.contains("can be changed by every user")));
        // Only Python has bytecode.
        let mut other = sample(&[("PREHEAT_CACHES", home)], None);
        other.program = "/bin/true".into();
        other.command = vec!["true".into()];
        assert!(apply(&other.case()).is_err());
        fs::remove_dir_all(&at).expect("it goes");
    }
}
