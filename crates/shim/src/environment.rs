//! The environment array of a new process, read and edited in place before anything else
//! reads it.

use std::ffi::{CStr, c_char};

/// The texts of an array.
///
/// # Safety
/// `array` must be null or an array of C strings that ends with a null, and stay valid.
pub(crate) unsafe fn strings<'a>(array: *const *mut c_char) -> impl Iterator<Item = &'a [u8]> {
    (0..).map_while(move |index| {
        // SAFETY: the caller guarantees that the array ends with a null, where this ends
        // too.
        unsafe {
            if array.is_null() {
                return None;
            }
            let text = *array.add(index);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
        }
    })
}

/// The value in a text of the environment, if it belongs to this variable.
pub(crate) fn value<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// The position of a variable in the array.
///
/// # Safety
/// Same as `strings`.
pub(crate) unsafe fn place(array: *mut *mut c_char, name: &str) -> Option<*mut *mut c_char> {
    // SAFETY: guaranteed by the caller; the index is that of one of the texts.
    unsafe {
        let index = strings(array).position(|text| value(text, name).is_some())?;
        Some(array.add(index))
    }
}

/// The value of a variable.
///
/// # Safety
/// Same as `strings`.
pub(crate) unsafe fn variable<'a>(array: *const *mut c_char, name: &str) -> Option<&'a [u8]> {
    // SAFETY: guaranteed by the caller.
    unsafe { strings(array) }.find_map(|text| value(text, name))
}

/// Removes a variable from the array.
///
/// # Safety
/// `place` must be that of a variable in such an array, and no other thread may access it.
pub(crate) unsafe fn remove(place: *mut *mut c_char) {
    let mut at = place;
    // SAFETY: the array ends with a null, where this ends too.
    unsafe {
        while !(*at).is_null() {
            *at = *at.add(1);
            at = at.add(1);
        }
    }
}

/// Removes `ours`, and the colon after it, from the beginning of a variable's value.
/// Removes the variable if nothing is left, not even a colon.
///
/// # Safety
/// Same as `remove`; the text must be writable.
pub(crate) unsafe fn leave(place: *mut *mut c_char, ours: &[u8]) {
    // SAFETY: the variable has a name and a value; the moved bytes are within its text, and
    // the pointers within the array.
    unsafe {
        let whole = CStr::from_ptr(*place).to_bytes_with_nul();
        let Some(begin) = whole.iter().position(|&byte| byte == b'=') else {
            return;
        };
        let Some(rest) = whole
            .get(begin + 1..)
            .and_then(|value| value.strip_prefix(ours))
        else {
            return;
        };
        match rest {
            [0] => remove(place),
            [b':', rest @ ..] => {
                let (from, count) = (rest.as_ptr(), rest.len());
                let to = (*place).cast::<u8>().add(begin + 1);
                to.copy_from(from, count);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_full_name() {
        let texts = [c"PREHEAT_LIMITS=1", c"PREHEAT_LIMIT=2=3", c"PATH=/"];
        let mut array: Vec<_> = texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
        array.push(std::ptr::null_mut());
        // SAFETY: an array of C strings that ends with a null, or null.
        unsafe {
            let found = variable(array.as_ptr(), "PREHEAT_LIMIT");
            assert_eq!(found, Some(b"2=3".as_slice()));
            assert_eq!(variable(array.as_ptr(), "PREHEAT"), None);
            assert_eq!(variable(std::ptr::null(), "PATH"), None);
            remove(place(array.as_mut_ptr(), "PREHEAT_LIMIT").expect("it exists"));
            assert_eq!(strings(array.as_ptr()).count(), 2);
            assert_eq!(variable(array.as_ptr(), "PATH"), Some(b"/".as_slice()));
        }
    }
}
