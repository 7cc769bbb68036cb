//! Finds the importer of a module by walking Python's frames.
//!
//! This is done here and not in Python, because a signal handler can interrupt Python code.
//! Its exception would then pass through our code, and it would run at a point where it
//! never runs in an unrecorded program.

use super::api::{Api, Pointer};
use preheat_wire::SLOT_BYTES;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A text on the stack; anything that does not fit is cut off.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    pub(super) const EMPTY: Text<N> = Text {
        bytes: [0; N],
        length: 0,
    };

    pub(super) fn put(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.put(&[b'0' + (number % 10) as u8]);
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// An interned Python string, created on first use.
pub(super) struct Name(&'static CStr, AtomicPtr<super::api::Object>);

impl Name {
    pub(super) const fn new(text: &'static CStr) -> Name {
        Name(text, AtomicPtr::new(null_mut()))
    }

    pub(super) fn forget(&self) {
        self.1.store(null_mut(), Ordering::Relaxed);
    }

    /// The object; null only if memory is exhausted.
    pub(super) fn get(&self, api: &Api) -> Pointer {
        let mut object = self.1.load(Ordering::Relaxed);
        if object.is_null() {
            // SAFETY: a C string; the reference is never released.
            object = unsafe { (api.interned)(self.0.as_ptr()) };
            self.1.store(object, Ordering::Relaxed);
        }
        object
    }
}

static BACK: Name = Name::new(c"f_back");
static CODE: Name = Name::new(c"f_code");
static GLOBALS: Name = Name::new(c"f_globals");
static FILE: Name = Name::new(c"co_filename");
static QUALIFIED: Name = Name::new(c"co_qualname");
static PLAIN: Name = Name::new(c"co_name");
static MODULE: Name = Name::new(c"__name__");

/// Forgets the objects: a program that ends its interpreter and starts another has freed
/// them.
pub(super) fn forget() {
    for name in [&BACK, &CODE, &GLOBALS, &FILE, &QUALIFIED, &PLAIN, &MODULE] {
        name.forget();
    }
}

/// The maximum length of a position in the main program.
const PLACE: usize = 16 * SLOT_BYTES;

/// The position in the main program of the import in progress on this thread, for its
/// nested imports. Stored by value: a greenlet may move the stack.
struct Under {
    depth: usize,
    place: Text<PLACE>,
}

thread_local! {
    static UNDER: UnsafeCell<Under> = const {
        UnsafeCell::new(Under { depth: 0, place: Text::EMPTY })
    };
}

/// The origin of an import that is about to begin.
pub(super) struct Importer {
    /// The name of the module, the importing module and function, and the position in the
    /// main program.
    pub(super) text: Text<1024>,
    /// The line of the import.
    pub(super) line: u64,
}

/// Finds the importer. To be followed by [`done`].
///
/// # Safety
/// The interpreter's lock must be held and no error set.
pub(super) unsafe fn asked(api: &Api, name: &[u8]) -> Importer {
    let mut asked = Importer {
        text: Text::EMPTY,
        line: 0,
    };
    asked.text.put(name);
    asked.text.put(b"\0");
    // SAFETY: this thread's own value, and nothing below re-enters this function.
    let under = unsafe { &mut *UNDER.with(UnsafeCell::get) };
    under.depth += 1;
    let outermost = under.depth == 1;
    if outermost {
        under.place.clear();
    }
    // SAFETY: guaranteed by the caller. The frame is borrowed, so a reference is added.
    unsafe {
        let mut frame = (api.frame)();
        if !frame.is_null() {
            (api.increment)(frame);
        }
        let main = main_globals(api);
        let mut found = false;
        while !frame.is_null() && frame != api.none {
            let code = api.get(frame, CODE.get(api));
            let file = if code.is_null() {
                null_mut()
            } else {
                api.get(code, FILE.get(api))
            };
            if !found && !is_import_machinery(api.bytes(file)) {
                found = true;
                describe(api, frame, code, &mut asked);
            }
            let globals = api.get(frame, GLOBALS.get(api));
            let in_main = !globals.is_null() && globals == main;
            if outermost && in_main {
                under.place.put(api.bytes(file));
                under.place.put(b":");
                under.place.number((api.line)(frame).max(0) as u64);
            }
            let back = api.get(frame, BACK.get(api));
            for object in [globals, file, code, frame] {
                api.drop(object);
            }
            frame = back;
            if found && (in_main || !outermost) {
                break;
            }
        }
        api.drop(frame);
    }
    if asked.line == 0 && asked.text.bytes().iter().filter(|&&byte| byte == 0).count() == 1 {
        asked.text.put(b"\0\0");
    }
    asked.text.put(under.place.bytes());
    asked
}

/// The globals of the main program, borrowed; null if there are none. It is looked up and
/// never created: a program may have removed it from `sys.modules`, or put anything there.
///
/// # Safety
/// Same as [`asked`].
pub(super) unsafe fn main_globals(api: &Api) -> Pointer {
    // SAFETY: guaranteed by the caller. Both return null for objects of another type.
    unsafe {
        let modules = (api.modules)();
        if modules.is_null() {
            (api.clear_error)();
            return null_mut();
        }
        let main = (api.item_string)(modules, c"__main__".as_ptr());
        if main.is_null() {
            (api.clear_error)();
            return null_mut();
        }
        let globals = (api.module_dict)(main);
        if globals.is_null() {
            (api.clear_error)();
        }
        globals
    }
}

/// Ends the import.
pub(super) fn done() {
    // SAFETY: this thread's own value, as above.
    let under = unsafe { &mut *UNDER.with(UnsafeCell::get) };
    under.depth = under.depth.saturating_sub(1);
}

/// # Safety
/// Same as [`asked`]; both objects must be alive, or the code null.
unsafe fn describe(api: &Api, frame: Pointer, code: Pointer, asked: &mut Importer) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let globals = api.get(frame, GLOBALS.get(api));
        if !globals.is_null() {
            asked
                .text
                .put(api.bytes((api.dict_item)(globals, MODULE.get(api))));
            api.drop(globals);
        }
        asked.text.put(b"\0");
        if !code.is_null() {
            let mut name = api.get(code, QUALIFIED.get(api));
            if name.is_null() {
                name = api.get(code, PLAIN.get(api));
            }
            asked.text.put(api.bytes(name));
            api.drop(name);
        }
        asked.text.put(b"\0");
        asked.line = (api.line)(frame).max(0) as u64;
    }
}

fn is_import_machinery(file: &[u8]) -> bool {
    file.starts_with(b"<frozen importlib") || file.ends_with(b"/importlib/__init__.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_off_at_its_capacity() {
        let mut text = Text::<8>::EMPTY;
        text.put(b"line:");
        text.number(1203);
        assert_eq!(text.bytes(), b"line:120");
    }

    #[test]
    fn the_import_machinery_is_not_an_importer() {
        assert!(is_import_machinery(b"<frozen importlib._bootstrap>"));
        assert!(is_import_machinery(
            b"/usr/lib/python3.11/importlib/__init__.py"
        ));
        assert!(!is_import_machinery(b"/srv/app/__init__.py"));
    }
}
