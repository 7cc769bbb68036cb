//! `python -S`: removes our directory from `PYTHONPATH` before Python starts.
//!
//! Otherwise our `sitecustomize` removes it from `sys.path`, and it stays in the
//! environment for children. With `-S` no `sitecustomize` is run, and the program would see
//! it.

use crate::environment::{leave, place, strings, variable};
use preheat_wire::variables;
use std::ffi::c_char;

/// Removes it if these are the arguments of such a Python.
///
/// # Safety
/// Both must be null or arrays of C strings that end with a null, those of this process,
/// and no other thread may access them yet.
pub(crate) unsafe fn leave_without_site(
    arguments: *const *mut c_char,
    environment: *mut *mut c_char,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if arguments.is_null() || environment.is_null() || !is_without_site(strings(arguments)) {
            return;
        }
        let ours = variable(environment, variables::PYTHON);
        if let (Some(ours), Some(place)) = (ours, place(environment, "PYTHONPATH")) {
            leave(place, ours);
        }
    }
}

/// Returns whether these arguments start Python with `-S` among its own options.
fn is_without_site<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) -> bool {
    let program = arguments.next().unwrap_or_default();
    let name = program.rsplit(|&byte| byte == b'/').next();
    if !name.is_some_and(|name| name.starts_with(b"python")) {
        return false;
    }
    while let Some(argument) = arguments.next() {
        let options = match argument {
            // A long option whose value is the next argument.
            b"--check-hash-based-pycs" => {
                arguments.next();
                continue;
            }
            [b'-', b'-', _, ..] => continue,
            [b'-', options @ ..] if !options.is_empty() && options != b"-" => options,
            // The program's own arguments begin here.
            _ => return false,
        };
        for (index, option) in options.iter().enumerate() {
            match option {
                b'S' => return true,
                b'c' | b'm' => return false,
                b'W' | b'X' => {
                    if index + 1 == options.len() {
                        arguments.next();
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn only_the_options_of_python_itself_count() {
        let is_isolated = |line: &str| is_without_site(line.split(' ').map(str::as_bytes));
        assert!(is_isolated("/usr/bin/python3.11 -S x.py"));
        assert!(is_isolated("python -B -WS -X dev -uS"));
        assert!(is_isolated(
            "python --check-hash-based-pycs always -SE -c 1"
        ));
        assert!(!is_isolated("python x.py -S"));
        assert!(!is_isolated("python -c -S"));
        assert!(!is_isolated("python -W -S x.py"));
        assert!(!is_isolated("python -mS -S"));
        assert!(!is_isolated("python -- -S"));
        assert!(!is_isolated("python - -S"));
        assert!(!is_isolated("bash -S"));
    }

    #[test]
    fn our_directory_is_removed_from_the_path() {
        for (path, left) in [
            ("PYTHONPATH=/ours:/theirs", Some("PYTHONPATH=/theirs")),
            ("PYTHONPATH=/ours", None),
            ("PYTHONPATH=/ours2:/x", Some("PYTHONPATH=/ours2:/x")),
        ] {
            let texts = [path, "PREHEAT_PYTHON=/ours", "LAST=1"];
            let texts: Vec<_> = texts
                .iter()
                .map(|text| CString::new(*text).unwrap())
                .collect();
            // Leaked: freeing them would use their lengths, which change.
            let mut environment: Vec<_> = texts.into_iter().map(CString::into_raw).collect();
            environment.push(std::ptr::null_mut());
            let arguments = [c"python".as_ptr().cast_mut(), c"-S".as_ptr().cast_mut()];
            let arguments = [&arguments[..], &[std::ptr::null_mut()]].concat();
            // SAFETY: arrays of C strings that end with a null; those of the environment
            // are writable.
            let found: Vec<_> = unsafe {
                leave_without_site(arguments.as_ptr(), environment.as_mut_ptr());
                strings(environment.as_ptr()).map(<[u8]>::to_vec).collect()
            };
            let mut expected: Vec<_> = left
                .into_iter()
                .map(|text| text.as_bytes().to_vec())
                .collect();
            expected.extend([b"PREHEAT_PYTHON=/ours".to_vec(), b"LAST=1".to_vec()]);
            assert_eq!(found, expected);
        }
    }
}
