//! Tiny programs that would notice a careless recorder: by a hang, a crash, a message or a
//! library that is not theirs.

mod support;

use preheat_wire::{Event, Kind, State};
use std::path::Path;
use std::process::{Command, Output};
use support::{Process, Scratch, compile, missing, read, recorded, shim};

const INCLUDES: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
";

/// Compiles a program and runs it recorded; `None` without a compiler.
fn run(scratch: &Scratch, source: &str) -> Option<(Output, Vec<Process>)> {
    let program = scratch.join("program");
    if !compile(&format!("{INCLUDES}\n{source}"), &program, &["-pthread"]) {
        return None;
    }
    let directory = scratch.recording();
    let output = recorded(program.to_str().unwrap(), &directory)
        .output()
        .unwrap();
    Some((output, read(&directory)))
}

fn said(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// At many of these forks another thread holds the loader's lock, and no child may wait for
/// that thread.
#[test]
fn a_lookup_in_a_child_forked_during_a_load() {
    let scratch = Scratch::new();
    let library = scratch.join("libsmall.so");
    if !compile("int small;", &library, &["-shared", "-fPIC"]) {
        return;
    }
    let source = format!(
        r#"static volatile int stop;
        static void *loads(void *unused) {{
            while (!stop) {{ void *it = dlopen("{}", RTLD_NOW); if (it) dlclose(it); }}
            return NULL;
        }}
        int main() {{
            pthread_t threads[2]; int bad = 0, status;
            for (int i = 0; i < 2; i++) pthread_create(threads + i, NULL, loads, NULL);
            for (int i = 0; i < 300 && !bad; i++) {{
                pid_t child = fork();
                if (!child) {{
                    alarm(30);
                    dlsym(RTLD_DEFAULT, "printf"); dlsym(RTLD_DEFAULT, "cuInit");
                    dlsym(RTLD_NEXT, "cuInit"); _exit(0);
                }}
                waitpid(child, &status, 0); bad = status;
            }}
            stop = 1;
            for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
            printf("%d\n", bad); return 0;
        }}"#,
        library.display()
    );
    if let Some((output, _)) = run(&scratch, &source) {
        assert_eq!(said(&output), "0\n");
    }
}

/// A child may query the loaded libraries again once it has loaded one itself.
#[test]
fn the_libraries_of_a_forked_child() {
    let scratch = Scratch::new();
    for (name, needs) in [("liblow.so", None), ("libhigh.so", Some("-llow"))] {
        let here = format!("-L{}", scratch.path().display());
        let flags = [
            "-shared",
            "-fPIC",
            "-Wl,-rpath,$ORIGIN",
            "-Wl,--no-as-needed",
            &here,
        ];
        let flags = [&flags, needs.as_slice()].concat();
        if !compile("static int unused;", &scratch.join(name), &flags) {
            return;
        }
    }
    let source = format!(
        r#"int main() {{
            if (!fork()) {{
                if (!dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD)) dlopen("libc.so.6", RTLD_NOW);
                _exit(dlopen("{}", RTLD_NOW) ? 5 : 6);
            }}
            int status; wait(&status); printf("%d\n", WEXITSTATUS(status)); return 0;
        }}"#,
        scratch.join("libhigh.so").display()
    );
    let Some((output, files)) = run(&scratch, &source) else {
        return;
    };
    assert_eq!(said(&output), "5\n");
    let loads = |file: &&Process| !file.of(Kind::Load).is_empty();
    let child = files.iter().find(loads).unwrap();
    let libraries = child.texts(Event::Library);
    for name in ["/liblow.so", "/libhigh.so"] {
        assert!(libraries.iter().any(|path| path.ends_with(name)), "{name}");
    }
}

#[test]
fn only_the_c_library_is_needed() {
    let ask = |option| match Command::new("readelf")
        .args(["-W", option])
        .arg(shim())
        .output()
    {
        Ok(done) => Some(String::from_utf8_lossy(&done.stdout).into_owned()),
        Err(_) => {
            missing("binutils", "there is no readelf");
            None
        }
    };
    let (Some(section), Some(symbols)) = (ask("-d"), ask("--dyn-syms")) else {
        return;
    };
    let needed: Vec<_> = section
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| line.split(['[', ']']).nth(1))
        .filter(|name| !name.starts_with("ld-linux"))
        .collect();
    assert_eq!(needed, ["libc.so.6"]);
    assert!(section.contains("NODELETE"));
    // Not imported from the program or its C library, which may be older.
    for name in ["_Unwind_", "_dl_find_object"] {
        let with_name = |line: &&str| line.split_whitespace().any(|word| word.starts_with(name));
        assert_eq!(symbols.lines().find(with_name), None);
    }
}

/// The stack of a signal handler may have 8 KiB, most of which the kernel uses.
#[test]
fn little_stack_space_is_used() {
    let scratch = Scratch::new();
    let source = r#"static char stack[65536]; static ucontext_t back, there; static const char *path;
        static void opens(void) { open(path, O_RDONLY); }
        static int depth(const char *name) {
            size_t unused = 0; path = name;
            memset(stack, 0x5a, sizeof stack); getcontext(&there);
            there.uc_stack.ss_sp = stack; there.uc_stack.ss_size = sizeof stack; there.uc_link = &back;
            makecontext(&there, opens, 0); swapcontext(&back, &there);
            while (stack[unused] == 0x5a) unused++;
            return sizeof stack - unused;
        }
        int main() {
            chdir("/etc"); open("/nowhere", O_RDONLY);
            printf("%d %d ", depth("/etc/group"), depth("passwd")); fflush(stdout);
            if (!fork()) { printf("%d\n", depth("/etc/passwd")); fflush(stdout); _exit(0); }
            wait(NULL); return 0;
        }"#;
    let Some((output, files)) = run(&scratch, source) else {
        return;
    };
    let said = said(&output);
    let depths: Vec<u32> = said
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let [absolute, relative, child] = depths[..] else {
        panic!("{said}");
    };
    assert!(absolute < 1024, "{absolute}");
    assert!(relative < 2048, "{relative}");
    assert!(child < 2048, "{child}");
    assert_eq!(files.len(), 2);
    let both = |file: &Process| file.texts(Event::File).contains(&"/etc/passwd".to_owned());
    assert!(files.iter().all(both));
}

#[test]
fn a_program_that_restricts_its_system_calls() {
    let scratch = Scratch::new();
    let source = r#"static void *opens(void *unused) {
            return (void *) (long) open("/etc/passwd", O_RDONLY);
        }
        int main() {
            struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
            struct sock_fprog all = { 4, filter };
            open("/etc/group", O_RDONLY);
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all)) { puts("unbounded"); return 0; }
            pthread_t thread; void *opened; int status;
            pthread_create(&thread, NULL, opens, NULL); pthread_join(thread, &opened);
            for (int i = 0; i < 3000; i++) dlopen("/nowhere", RTLD_NOW);
            pid_t child = fork();
            if (!child) { open("/etc/passwd", O_RDONLY); dlopen("/nowhere", RTLD_NOW); _exit(3); }
            waitpid(child, &status, 0);
            printf("%d %d\n", (long) opened > 0, WEXITSTATUS(status)); return 0;
        }"#;
    let Some((output, files)) = run(&scratch, source) else {
        return;
    };
    if String::from_utf8_lossy(&output.stdout) == "unbounded\n" {
        return missing("seccomp", "the kernel takes no filter");
    }
    assert_eq!(said(&output), "1 3\n");
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].texts(Event::File), ["/etc/group"]);
    assert_eq!(files[0].header.state, State::Off as u32);
    assert!(files[0].header.dropped > 0);
    assert!(!files[0].of(Kind::Load).is_empty());
}

#[test]
fn loaded_by_the_program_and_closed_again() {
    let scratch = Scratch::new();
    let path = scratch.join("program");
    let source = format!(
        r#"{INCLUDES}int main() {{ void *it = dlopen(getenv("PREHEAT_SHIM"), RTLD_NOW);
        printf("%d\n", it != NULL); dlclose(it); return 7; }}"#
    );
    if !compile(&source, &path, &[]) {
        return;
    }
    let output = recorded(path.to_str().unwrap(), &scratch.recording())
        .env_remove("LD_PRELOAD")
        .output()
        .unwrap();
    assert_eq!(said(&output), "1\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn dlerror_is_preserved() {
    let scratch = Scratch::new();
    let source = r#"#define KEPT(what) dlopen("/nowhere", RTLD_NOW); what; \
            printf("%d", strstr(dlerror() ?: "", "/nowhere") != NULL);
        int main() {
            printf("%d", dlerror() == NULL);
            KEPT(if (!fork()) _exit(0)) KEPT(fopen("/etc/passwd", "r"))
            KEPT(open("/etc/group", O_RDONLY)) KEPT(prctl(PR_SET_DUMPABLE, 1))
            return 0;
        }"#;
    if let Some((output, _)) = run(&scratch, source) {
        assert_eq!(said(&output), "11111");
    }
}

#[test]
fn internal_functions_are_not_found() {
    let scratch = Scratch::new();
    let source = r#"int clInitLayer(void) { return 0; }
        int main() {
            for (int i = 0; i < 2; i++) {
                void *handle = i ? RTLD_NEXT : RTLD_DEFAULT;
                printf("%d%d%d", dlsym(handle, "clGetLayerInfo") == NULL,
                    dlsym(handle, "InitializeInjectionNvtx2") == NULL,
                    dlsym(handle, "PyInit__preheat") == NULL);
            }
            printf("%d", dlsym(RTLD_DEFAULT, "clInitLayer") == (void *) clInitLayer);
            void *shim = dlopen(getenv("PREHEAT_SHIM"), RTLD_NOW);
            printf("%d", dlsym(shim, "clGetLayerInfo") != NULL); return 0;
        }"#;
    let path = scratch.join("program");
    let flags = ["-Wl,--export-dynamic"];
    if compile(&format!("{INCLUDES}{source}"), &path, &flags) {
        let output = recorded(path.to_str().unwrap(), &scratch.recording()).output();
        assert_eq!(said(&output.unwrap()), "11111111");
    }
}

#[test]
fn the_files_of_a_child_with_any_mask_and_any_way_to_fork() {
    let scratch = Scratch::new();
    // _Fork calls no handlers, and is newer than some C libraries.
    let source = r#"int main() {
            pid_t (*bare)(void) = dlsym(RTLD_DEFAULT, "_Fork"); umask(0777);
            if (!fork()) {
                open("/etc/passwd", O_RDONLY);
                if (bare && !bare()) { open("/etc/passwd", O_RDONLY); _exit(0); }
                while (wait(NULL) > 0) {}
                _exit(0);
            }
            wait(NULL); printf("%d\n", bare != NULL); return 0;
        }"#;
    let Some((output, files)) = run(&scratch, source) else {
        return;
    };
    let expected = if said(&output) == "1\n" { 3 } else { 2 };
    assert_eq!(files.len(), expected);
    for file in &files {
        use std::os::unix::fs::PermissionsExt;
        let path = scratch.recording().join(&file.name);
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let mut began: Vec<_> = files.iter().map(|file| file.header.began).collect();
    began.sort_unstable();
    began.dedup();
    assert_eq!(began.len(), expected);
}

/// The output of a recorded Python, with our directory before another in PYTHONPATH.
fn python(options: &[&str], program: &str) -> Option<String> {
    const PYTHON: &str = "/usr/bin/python3";
    if !Path::new(PYTHON).exists() {
        missing("python", "there is no /usr/bin/python3");
        return None;
    }
    let scratch = Scratch::new();
    let ours = scratch.join("ours");
    std::fs::create_dir(&ours).unwrap();
    let text = include_str!("../../launch/src/python/sitecustomize.py");
    std::fs::write(ours.join("sitecustomize.py"), text).unwrap();
    let output = recorded(PYTHON, &scratch.recording())
        .args(options)
        .args(["-c", program])
        .env("PYTHONPATH", format!("{}:/theirs", ours.display()))
        .env("PREHEAT_PYTHON", &ours)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    Some(said(&output))
}

#[test]
fn a_removed_main_module_stays_removed() {
    let program = "import sys; del sys.modules['__main__']; import colorsys
print('__main__' in sys.modules); sys.modules['__main__'] = 5; import fileinput
print(sys.modules['__main__'])";
    if let Some(said) = python(&[], program) {
        assert_eq!(said, "False\n5\n");
    }
}

#[test]
fn python_without_site_has_only_its_own_path() {
    let program = "import sys; print(sys.path[1]); print(any('ours' in path for path in sys.path))";
    for option in ["-S", "-B"] {
        if let Some(said) = python(&[option], program) {
            assert_eq!(said, "/theirs\nFalse\n");
        }
    }
}
