//! Measures the cost that interception adds to one call of a driver function in
//! nanoseconds, compared with the plain call in the same run. The functions do nothing, so
//! the difference is ours: two clock readings, the record, and the page faults of its file.

use preheat_shim::{hooks, loader, recorder};
use preheat_wire::Kind;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;

const DRIVER: &str = "
int cuStreamSynchronize(void *stream) { return 0; }
int cuMemcpyHtoDAsync_v2(void *to, void *from, unsigned long bytes, void *stream) { return 0; }
int cuLaunchKernel(void *f, int a, int b, int c, int d, int e, int g, int h, void *stream,
                   void **arguments, void **extra) { return 0; }
";

const CALLS: usize = 200_000;
const ROUNDS: usize = 15;

type Function = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> i32;

/// The CPU time of this thread in nanoseconds, independent of other load.
fn on_processor() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: one timespec is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The minimum duration of a call over the rounds, in nanoseconds.
fn least(function: Function) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let began = on_processor();
            for _ in 0..CALLS {
                // SAFETY: a function of at most this many words that reads none.
                let status =
                    unsafe { std::hint::black_box(function)(64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) };
                assert_eq!(status, 0);
            }
            (on_processor() - began) as f64 / CALLS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

#[rustfmt::skip]
unsafe extern "C" fn two_readings(
    _: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: usize, _: usize,
    _: usize, _: usize,
) -> i32 {
    i32::from(recorder::now() > recorder::now() + 1)
}

fn build(directory: &Path) -> Option<CString> {
    let source = directory.join("driver.c");
    let library = directory.join("libcuda.so.1");
    std::fs::write(&source, DRIVER).ok()?;
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    if !compiler.status().ok()?.success() {
        return None;
    }
    CString::new(library.to_str()?).ok()
}

/// Repeats iterations until frequent calls are left out.
fn until_sparse() {
    let name = recorder::text(b"Model");
    for _ in 0..100 {
        let open = recorder::begin(Kind::Iteration, 2, u64::from(name), 0, &[], false);
        recorder::detail::iteration_began(2, name, open.began(), false);
        open.end(0, None);
        if recorder::detail::is_sparse() {
            return;
        }
    }
    panic!("nothing is left out");
}

fn measure(handle: *mut c_void, name: &CStr, symbol: &CStr) {
    let real = loader::real_dlsym(handle, symbol);
    let wrapper = hooks::looked_up(symbol, real);
    assert!(!real.is_null() && wrapper != real);
    let function = |address: *mut c_void| {
        // SAFETY: a function of at most this many words.
        unsafe { std::mem::transmute::<*mut c_void, Function>(address) }
    };
    let (real, wrapper) = (function(real), function(wrapper));
    let (plain, hooked) = (least(real), least(wrapper));
    let name = name.to_string_lossy();
    println!(
        "{name:<20} plain {plain:6.1} ns   hooked {hooked:6.1} ns   added {:6.1} ns",
        hooked - plain
    );
}

fn main() {
    let directory = std::env::temp_dir().join(format!("preheat-intercept-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the measurement");
    match build(&directory) {
        None => println!("skipped: gcc is needed to build a driver that does nothing"),
        Some(library) => {
            let path = directory.to_str().expect("a path in UTF-8");
            assert!(
                recorder::start(path.as_bytes(), 2 << 30),
                "nothing is recorded"
            );
            let handle = loader::real_dlopen(&library, libc::RTLD_NOW);
            assert!(!handle.is_null());
            let clock = least(two_readings);
            println!("two readings of the clock {clock:6.1} ns");
            measure(handle, c"cuStreamSynchronize", c"cuStreamSynchronize");
            measure(handle, c"cuMemcpyHtoDAsync", c"cuMemcpyHtoDAsync_v2");
            measure(handle, c"cuLaunchKernel", c"cuLaunchKernel");
            until_sparse();
            println!("without detail, as most steady iterations are:");
            measure(handle, c"cuMemcpyHtoDAsync", c"cuMemcpyHtoDAsync_v2");
            measure(handle, c"cuLaunchKernel", c"cuLaunchKernel");
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
}
