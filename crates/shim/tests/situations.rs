//! Tiny programs, each with one situation that the library must survive and record.

mod support;

use preheat_wire::{Event, Kind, State};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use support::{Process, Scratch, compile, read, recorded};

/// Compiles a program and runs it recorded; `None` without a compiler.
fn run(scratch: &Scratch, source: &str, flags: &[&str]) -> Option<(Output, Vec<Process>)> {
    let program = scratch.join("program");
    compile(source, &program, flags).then(|| again(scratch, &program))
}

fn again(scratch: &Scratch, program: &Path) -> (Output, Vec<Process>) {
    let directory = scratch.recording();
    let output = recorded(program.to_str().unwrap(), &directory)
        .output()
        .unwrap();
    (output, read(&directory))
}

fn library(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> bool {
    let path = scratch.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    compile(source, &path, &[&["-shared", "-fPIC"], flags].concat())
}

const INCLUDES: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
";

fn program(main: &str) -> String {
    format!("{INCLUDES}\nint main(int argc, char **argv) {{\n{main}\nreturn 0;\n}}\n")
}

#[test]
fn a_plain_program() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("data"), "x").unwrap();
    let source = program(
        r#"char path[4096]; sprintf(path, "%s/../data", argv[0]); *strrchr(argv[0], '/') = 0;
        chdir(argv[0]); errno = 42; close(open("data", O_RDONLY)); int kept = errno;
        fclose(fopen("data", "r")); open("/nowhere", O_RDONLY);
        int made = open("made", O_CREAT | O_WRONLY, 0640); open("/dev/null", O_RDONLY);
        printf("%d %d\n", kept, errno); return 3;"#,
    );
    let Some((output, files)) = run(&scratch, &source, &[]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42 2\n");
    assert!(output.stderr.is_empty());
    let process = &files[0];
    assert_eq!(process.events(Event::Main).len(), 1);
    assert_eq!(process.events(Event::Exit).len(), 1);
    assert!(process.texts(Event::Program)[0].ends_with("/program"));
    assert!(process.texts(Event::Arguments)[0].ends_with("/program"));
    assert!(
        process
            .texts(Event::Library)
            .iter()
            .any(|path| path.contains("libc.so"))
    );
    let data = scratch.join("data").to_str().unwrap().to_owned();
    assert_eq!(process.texts(Event::File), [data]);
    use std::os::unix::fs::PermissionsExt;
    let made = std::fs::metadata(scratch.join("made")).unwrap();
    assert_eq!(made.permissions().mode() & 0o700, 0o600);
}

#[test]
fn fork_and_exec() {
    let scratch = Scratch::new();
    let source = program(
        r#"if (argc > 1) return 7;
        int status; pid_t child = fork();
        if (!child) { close(open("/etc/passwd", O_RDONLY)); execl("/proc/self/exe", "again", "x", NULL); }
        waitpid(child, &status, 0); printf("%d %d\n", child, WEXITSTATUS(status));"#,
    );
    let Some((output, files)) = run(&scratch, &source, &[]) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (child, status) = said.trim().split_once(' ').unwrap();
    assert_eq!(status, "7");
    let named = |name: String| files.iter().find(|file| file.name == name).unwrap();
    let before = named(format!("{child}-0.process"));
    let after = named(format!("{child}-1.process"));
    assert_eq!(files.len(), 3);
    assert_eq!(before.texts(Event::File), ["/etc/passwd"]);
    assert!(before.events(Event::Main).is_empty() && before.events(Event::Exit).is_empty());
    assert_eq!(after.texts(Event::Arguments), ["again\0x"]);
    assert_eq!(after.events(Event::Exit).len(), 1);
    assert_eq!(before.header.started_ticks, after.header.started_ticks);
    let parent = files
        .iter()
        .find(|file| !file.name.starts_with(child))
        .unwrap();
    let forked = parent.events(Event::Forked);
    assert_eq!(forked[0].record.value.to_string(), child);
}

#[test]
fn sixty_four_threads() {
    let scratch = Scratch::new();
    let source = format!(
        r#"{INCLUDES}
        static pthread_barrier_t barrier;
        static void *work(void *number) {{
            char path[64]; sprintf(path, "/tmp/nothing-%ld", (long) number);
            pthread_barrier_wait(&barrier);
            for (int i = 0; i < 200; i++) {{
                dlopen(path, RTLD_NOW); dlsym(RTLD_DEFAULT, "printf"); dlsym(RTLD_NEXT, path);
            }}
            return 0;
        }}
        int main() {{
            pthread_t threads[64]; pthread_barrier_init(&barrier, 0, 64);
            for (long i = 0; i < 64; i++) pthread_create(threads + i, 0, work, (void *) i);
            for (long i = 0; i < 64; i++) pthread_join(threads[i], 0);
            return 0;
        }}"#
    );
    let Some((output, files)) = run(&scratch, &source, &["-pthread"]) else {
        return;
    };
    assert!(output.status.success());
    let loads = files[0].of(Kind::Load);
    assert_eq!(loads.len(), 64 * 200);
    assert!(
        loads
            .iter()
            .all(|load| load.record.status == 1 && !load.is_open())
    );
    assert_eq!(files[0].threads, 65);
}

#[test]
fn dlopen_uses_the_callers_rpath() {
    let scratch = Scratch::new();
    let inner = "#include <execinfo.h>\nint inner(void) { return 5; }
        __attribute__((constructor)) static void begin(void) { void *at[50]; backtrace(at, 50); }";
    let outer = "#include <dlfcn.h>\nint outer(void) {
        void *handle = dlopen(\"libinner.so\", RTLD_NOW); if (!handle) return -1;
        return ((int (*)(void)) dlsym(handle, \"inner\"))(); }";
    let source = program(
        r#"void *handle = dlopen("libouter.so", RTLD_NOW | RTLD_LOCAL);
        if (!handle) { puts(dlerror()); return 1; }
        int (*outer)(void) = dlsym(handle, "outer");
        printf("%d\n", outer());
        printf("%d\n", dlopen("libnowhere.so", RTLD_NOW) == NULL);
        printf("%d\n", strstr(dlerror(), "libnowhere.so") != NULL);"#,
    );
    if !library(&scratch, "a/b/libinner.so", inner, &[])
        || !library(&scratch, "a/libouter.so", outer, &["-Wl,-rpath,$ORIGIN/b"])
    {
        return;
    }
    let Some((output, files)) = run(&scratch, &source, &["-Wl,-rpath,$ORIGIN/a"]) else {
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "5\n1\n1\n");
    let loads = files[0].of(Kind::Load);
    let said: Vec<_> = loads
        .iter()
        .map(|load| (load.text(1), load.record.status))
        .collect();
    let expected = [("libouter.so", 0), ("libinner.so", 0), ("libnowhere.so", 1)];
    assert_eq!(
        said,
        expected.map(|(name, status)| (name.to_owned(), status))
    );
    let libraries = files[0].texts(Event::Library);
    assert!(libraries.contains(&scratch.join("a/b/libinner.so").to_str().unwrap().to_owned()));
}

#[test]
fn the_next_definition_after_another_preloaded_library() {
    let scratch = Scratch::new();
    let first = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint who(void) {
        return 10 + ((int (*)(void)) dlsym(RTLD_NEXT, \"who\"))(); }";
    let second = "int who(void) { return 2; }";
    let source = format!(
        "{INCLUDES}\nint who(void);\nint main() {{ int (*mine)(void) = dlsym(RTLD_DEFAULT, \"who\");
        printf(\"%d %d\\n\", who(), mine()); return 0; }}"
    );
    let program = scratch.join("program");
    if !library(&scratch, "libfirst.so", first, &[])
        || !library(&scratch, "libsecond.so", second, &[])
        || !compile(
            &source,
            &program,
            &[scratch.join("libsecond.so").to_str().unwrap()],
        )
    {
        return;
    }
    let preload = format!(
        "{}:{}",
        support::shim().display(),
        scratch.join("libfirst.so").display()
    );
    let output = recorded(program.to_str().unwrap(), &scratch.recording())
        .env("LD_PRELOAD", preload)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "12 12\n");
}

#[test]
fn an_exit_without_handlers() {
    let scratch = Scratch::new();
    let Some((output, files)) = run(&scratch, &program("_exit(9);"), &[]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(9));
    assert_eq!(files[0].events(Event::Main).len(), 1);
    assert!(files[0].events(Event::Exit).is_empty());
}

#[test]
fn a_kill_and_a_crash_during_a_load() {
    for (signal, end) in [
        (libc::SIGKILL, "kill(getpid(), SIGKILL);"),
        (libc::SIGSEGV, "*(volatile int *) 8 = 1;"),
    ] {
        let scratch = Scratch::new();
        let bad =
            format!("{INCLUDES}\n__attribute__((constructor)) static void begin(void) {{ {end} }}");
        if !library(&scratch, "libbad.so", &bad, &[]) {
            return;
        }
        let source = program(r#"dlopen("libbad.so", RTLD_NOW);"#);
        let Some((output, files)) = run(&scratch, &source, &["-Wl,-rpath,$ORIGIN"]) else {
            return;
        };
        assert_eq!(output.status.signal(), Some(signal));
        assert_eq!(files[0].header.state, State::Recording as u32);
        let load = files[0].of(Kind::Load)[0];
        assert!(load.is_open());
        assert_eq!(load.text(1), "libbad.so");
        assert_eq!(files[0].events(Event::Main).len(), 1);
    }
}

#[test]
fn a_daemon_that_closes_all_descriptors() {
    let scratch = Scratch::new();
    let source = program(
        r#"prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (!fork()) {
            setsid(); chdir("/");
            for (int fd = 0; fd < 1024; fd++) close(fd);
            if (!fork()) {
                for (int i = 0; i < 3000; i++) dlopen("/nowhere", RTLD_NOW);
                int first = open("/etc/passwd", O_RDONLY);
                return first == 0 ? 0 : 1;
            }
            _exit(0);
        }
        int bad = 0, status; while (wait(&status) > 0) bad += status != 0;
        return bad;"#,
    );
    let Some((output, files)) = run(&scratch, &source, &[]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0));
    let daemon = files
        .iter()
        .find(|file| !file.of(Kind::Load).is_empty())
        .unwrap();
    assert_eq!(daemon.of(Kind::Load).len(), 3000);
    assert_eq!(daemon.texts(Event::File), ["/etc/passwd"]);
}

#[test]
fn nowhere_to_record() {
    let scratch = Scratch::new();
    let main = r#"close(open("/etc/passwd", O_RDONLY)); dlopen("libm.so.6", RTLD_NOW);
        printf("%p\n", (void *) (dlsym(RTLD_DEFAULT, "puts") != 0)); return 4;"#;
    let path = scratch.join("program");
    if !compile(&program(main), &path, &[]) {
        return;
    }
    let file = scratch.join("a file");
    std::fs::write(&file, "").unwrap();
    for directory in [scratch.join("nowhere"), file] {
        let output = recorded(path.to_str().unwrap(), &directory)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0x1\n");
        assert!(output.stderr.is_empty());
    }
    let output = recorded(path.to_str().unwrap(), &scratch.join("nowhere"))
        .env_remove("PREHEAT_DIRECTORY")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(!scratch.join("nowhere").exists());
}

#[test]
fn a_small_limit_is_kept() {
    let scratch = Scratch::new();
    let path = scratch.join("program");
    let main = r#"for (int i = 0; i < 5000; i++) dlopen("/nowhere", RTLD_NOW);"#;
    if !compile(&program(main), &path, &[]) {
        return;
    }
    let directory = scratch.recording();
    let output = recorded(path.to_str().unwrap(), &directory)
        .env("PREHEAT_LIMIT", "131072")
        .output()
        .unwrap();
    assert!(output.status.success());
    let process = &read(&directory)[0];
    assert!(process.bytes <= 131_072);
    assert_eq!(process.header.state, State::Full as u32);
    assert!(process.header.dropped > 0 && process.header.full_at > 0);
}
