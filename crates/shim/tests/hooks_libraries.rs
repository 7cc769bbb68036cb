//! Libraries above the driver that programs are linked with: several of one name in a
//! process, each with its own callers, and arguments that do not fit into registers.

mod libcuda;
mod support;

use libcuda::{Fake, calls, symbols};
use support::Entry;

const ABOVE: &str = include_str!("libcuda/above.c");
const LOADS: &str = include_str!("libcuda/loads.c");
const LIBRARY: [&str; 2] = ["-shared", "-fPIC"];

#[test]
fn each_caller_gets_its_own_library() {
    let Some(fake) = Fake::new() else { return };
    let with = |flag: &'static str| [LIBRARY.as_slice(), &[flag]].concat();
    fake.build("libnccl.so.2", ABOVE, &with("-DNCCL"), &[]);
    for number in ["11", "12"] {
        let (name, define) = (
            format!("libcublas.so.{number}"),
            format!("-DCUBLAS={number}"),
        );
        let soname = format!("-Wl,-soname,{name}");
        fake.build(
            &name,
            ABOVE,
            &[LIBRARY[0], LIBRARY[1], &define, &soname],
            &[],
        );
        let user = format!("user{number}.so");
        let define = format!("-DUSER={number}");
        let flags = [LIBRARY[0], LIBRARY[1], define.as_str()];
        fake.build(&user, ABOVE, &flags, &[&name, "libnccl.so.2"]);
    }
    let loads = fake.build("loads", LOADS, &["-ldl"], &[]);
    let (said, processes) = fake.both(&loads, &["./user11.so", "./user12.so"]);
    assert!(said.contains("user 11: 0, cuBLAS 11"), "{said}");
    assert!(said.contains("user 12: 0, cuBLAS 12"), "{said}");
    assert!(said.contains("nccl 8 379 3"), "{said}");
    let process = &processes[0];
    assert_eq!(calls(process, "cublasCreate").len(), 6);
    assert_eq!(calls(process, "ncclCommInitRank").len(), 2);
    let mut libraries: Vec<String> = symbols(process)
        .into_iter()
        .map(|symbol| symbol.library)
        .collect();
    libraries.sort();
    assert_eq!(
        libraries,
        ["libcublas.so.11", "libcublas.so.12", "libnccl.so.2"]
    );
}

#[test]
fn a_library_with_its_own_function_of_that_name_keeps_it() {
    let Some(fake) = Fake::new() else { return };
    fake.build("own.so", ABOVE, &[LIBRARY[0], LIBRARY[1], "-DSTUB"], &[]);
    let loads = fake.build("loads", LOADS, &["-ldl"], &[]);
    let (said, processes) = fake.both(&loads, &["./own.so"]);
    assert_eq!(said, "own 5\nstatus 0\n");
    assert!(symbols(&processes[0]).is_empty());
}

#[test]
fn functions_that_are_always_quick_are_hardly_recorded() {
    let Some(fake) = Fake::new() else { return };
    let soname = "-Wl,-soname,libcudnn.so.9";
    let flags = [LIBRARY[0], LIBRARY[1], "-DCUDNN", soname];
    fake.build("libcudnn.so.9", ABOVE, &flags, &[]);
    let flags = [LIBRARY[0], LIBRARY[1], "-DOFTEN"];
    fake.build("often.so", ABOVE, &flags, &["libcudnn.so.9"]);
    let loads = fake.build("loads", LOADS, &["-ldl"], &[]);
    let (said, processes) = fake.both(&loads, &["./often.so"]);
    assert_eq!(said, "status 0\n");
    let calls = calls(&processes[0], "cudnnBackendFinalize");
    let slow = |call: &&&Entry| call.record.end - call.record.begin >= 1_000_000;
    let (first, rest) = calls.split_at(20);
    assert!(first.iter().all(|call| slow(&call)));
    // At least one in sixteen of the last forty was recorded, and all after it.
    let last = rest.iter().filter(slow).count();
    assert!((24..=40).contains(&last), "{last}");
    // 1024 quick ones and one in sixteen of the others, if the machine were never slow.
    let quick = rest.len() - last;
    assert!((2000..20_000).contains(&quick), "{quick}");
}
