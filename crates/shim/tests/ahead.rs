//! Initializing the driver ahead, with a scripted driver in place of the real one: the
//! program finds it initialized, and nothing else changes.

mod libcuda;
mod support;

use libcuda::{Fake, calls};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::{read, shim};

const INCLUDES: &str = r#"
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void wait_for(const char *path) { while (access(path, F_OK)) usleep(1000); }
static void make(const char *path) { FILE *file = fopen(path, "w"); if (file) fclose(file); }
static void *driver(void) { return dlopen("libcuda.so.1", RTLD_NOW); }
static int is_active(void) {
    unsigned flags; int active = -1;
    void *it = driver();
    int (*state)(int, unsigned *, int *) = it ? dlsym(it, "cuDevicePrimaryCtxGetState") : NULL;
    if (state) state(0, &flags, &active);
    return active;
}
"#;

/// A program that is initialized ahead, if it is the one in the request.
fn ahead(fake: &Fake, run: &Path, meant: &Path) -> Command {
    let driver = fake.scratch.join("libcuda.so.1");
    let asked = format!(
        "0\n{}\n{}\n{}",
        shim().display(),
        driver.display(),
        meant.display()
    );
    let mut command = fake.command(run, &[]);
    command
        .env("LD_PRELOAD", shim())
        .env("PREHEAT_AHEAD", asked)
        .env_remove("FAKE_GATE");
    command
}

fn program(fake: &Fake, name: &str, source: &str) -> std::path::PathBuf {
    fake.build(
        name,
        &format!("{INCLUDES}{source}"),
        &["-pthread", "-ldl"],
        &[],
    )
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// The number of calls of a driver function.
fn called(fake: &Fake, name: &str) -> u64 {
    let log = fake.log();
    let line = log.iter().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |rest| {
        let count = rest.trim_start().split(' ').next().unwrap_or_default();
        count.parse().unwrap()
    })
}

#[test]
fn a_program_has_its_own_environment_and_a_context_that_is_not_current() {
    let Some(fake) = Fake::new() else { return };
    let source = r#"int main(void) {
        for (char **at = environ; *at; at++) puts(*at);
        void *it = driver(), *context = it, *current = it;
        int (*init)(unsigned) = dlsym(it, "cuInit");
        int (*retain)(void **, int) = dlsym(it, "cuDevicePrimaryCtxRetain");
        int (*get)(void **) = dlsym(it, "cuCtxGetCurrent");
        int status = get(&current);
        printf("current %d %p\n", status, current);
        status = init(0);
        printf("init %d retain %d", status, retain(&context, 0));
        printf(" context %p\n", context);
        fflush(stdout);
        return system("env | grep -E 'PREHEAT|LD_PRELOAD'") == 0 ? 3 : 0;
    }"#;
    let program = program(&fake, "program", source);
    for theirs in [None, Some("libm.so.6")] {
        let mut plain = fake.command(&program, &[]);
        let mut command = ahead(&fake, &program, &program);
        if let Some(theirs) = theirs {
            plain.env("LD_PRELOAD", theirs);
            command.env("LD_PRELOAD", format!("{}:{theirs}", shim().display()));
        }
        let plain = plain.output().unwrap();
        assert_eq!(called(&fake, "cuInit"), 1);
        assert_eq!(said(&command.output().unwrap()), said(&plain));
        // Our call, and that of the program.
        assert_eq!(called(&fake, "cuInit"), 2);
        assert_eq!(called(&fake, "cuDevicePrimaryCtxRetain"), 2);
        assert_eq!(called(&fake, "cuDevicePrimaryCtxRelease"), 0);
    }
}

#[test]
fn another_program_passes_the_request_on() {
    let Some(fake) = Fake::new() else { return };
    let program = program(&fake, "program", "int main(void) { return 0; }");
    let mut command = ahead(&fake, Path::new("/usr/bin/env"), &program);
    assert!(command.arg(&program).status().unwrap().success());
    assert_eq!(called(&fake, "cuInit"), 1);

    let _ = fs::remove_file(fake.scratch.join("log"));
    let other = fake.build("other", "int main(void) { return 0; }", &[], &[]);
    let status = ahead(&fake, &other, &program).status().unwrap();
    assert!(status.success());
    assert_eq!(called(&fake, "cuInit"), 0);
}

#[test]
fn exit_waits_for_the_initialization_but_a_kill_does_not() {
    let Some(fake) = Fake::new() else { return };
    let ways = [
        ("returns", "return 7;", Some(7), 1),
        ("exits", "exit(7);", Some(7), 1),
        (
            "leaves",
            "wait_for(\"gate.reached\"); _exit(7);",
            Some(7),
            0,
        ),
        (
            "dies",
            "wait_for(\"gate.reached\"); raise(SIGKILL);",
            None,
            0,
        ),
    ];
    for (name, way, code, contexts) in ways {
        let source = format!("int main(void) {{ {way} }}");
        let program = program(&fake, name, &source);
        let (gate, log) = (fake.scratch.join("gate"), fake.scratch.join("log"));
        for path in [&gate, &log, &fake.scratch.join("gate.reached")] {
            let _ = fs::remove_file(path);
        }
        if contexts > 0 {
            // It passes the gate; the context takes time afterwards.
            fs::write(&gate, "").unwrap();
        }
        let mut command = ahead(&fake, &program, &program);
        command.env("FAKE_GATE", &gate).env("FAKE_CONTEXT_MS", "50");
        let status = command.status().unwrap();
        assert_eq!(status.code(), code, "{name}");
        // The log is written when the library is unloaded.
        assert_eq!(
            called(&fake, "cuDevicePrimaryCtxRetain"),
            contexts,
            "{name}"
        );
    }
}

#[test]
fn a_fork_waits_and_the_child_can_load_and_exit() {
    let Some(fake) = Fake::new() else { return };
    let source = r#"
    static volatile int forks;
    static void *opens(void *unused) { while (!forks) usleep(100); make("gate"); return NULL; }
    int main(void) {
        pthread_t thread; int status;
        pthread_create(&thread, NULL, opens, NULL);
        wait_for("gate.reached");
        forks = 1;
        pid_t child = fork();
        if (!child) {
            alarm(30);
            int active = is_active();
            exit(dlopen("libm.so.6", RTLD_NOW) ? active : 9);
        }
        waitpid(child, &status, 0);
        pthread_join(thread, NULL);
        printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
        return 0;
    }"#;
    let program = program(&fake, "program", source);
    let mut command = ahead(&fake, &program, &program);
    let gate = fake.scratch.join("gate");
    command.env("FAKE_GATE", gate).env("FAKE_CONTEXT_MS", "100");
    assert_eq!(said(&command.output().unwrap()), "1\n");
}

#[test]
fn the_thread_has_a_name_and_blocks_signals() {
    let Some(fake) = Fake::new() else { return };
    let source = r#"int main(void) {
        wait_for("gate.reached");
        char path[512], line[512];
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *entry; (entry = readdir(tasks));) {
            snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
            FILE *status = fopen(path, "r");
            int is_ours = 0;
            while (status && fgets(line, sizeof line, status)) {
                if (!strncmp(line, "Name:\tpreheat-ahead\n", 20)) is_ours = 1;
                if (is_ours && !strncmp(line, "SigBlk:", 7)) fputs(line, stdout);
            }
            if (status) fclose(status);
        }
        sigset_t now;
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        printf("%d\n", sigismember(&now, SIGUSR1));
        fflush(stdout);
        make("gate");
        return 0;
    }"#;
    let program = program(&fake, "program", source);
    let mut command = ahead(&fake, &program, &program);
    command.env("FAKE_GATE", fake.scratch.join("gate"));
    // All except for the two that the C library reserves; SIGKILL and SIGSTOP cannot be
    // blocked.
    let said = said(&command.output().unwrap());
    assert_eq!(said, "SigBlk:\tfffffffe7ffbfeff\n0\n");
}

#[test]
fn a_missing_or_failing_driver_is_ignored() {
    let Some(fake) = Fake::new() else { return };
    let source = r#"int main(void) { printf("%d\n", is_active()); return 0; }"#;
    let program = program(&fake, "program", source);
    // A device that does not exist.
    let mut command = ahead(&fake, &program, &program);
    let asked = |device: &str, driver: &Path| {
        let shim = shim().display();
        format!(
            "{device}\n{shim}\n{}\n{}",
            driver.display(),
            program.display()
        )
    };
    let real = fake.scratch.join("libcuda.so.1");
    command.env("PREHEAT_AHEAD", asked("5", &real));
    assert_eq!(said(&command.output().unwrap()), "0\n");
    assert_eq!(called(&fake, "cuInit"), 1);
    command.env(
        "PREHEAT_AHEAD",
        asked("0", Path::new("/nowhere/libcuda.so.1")),
    );
    assert_eq!(said(&command.output().unwrap()), "0\n");
    // An invalid request is ignored.
    command.env("PREHEAT_AHEAD", "what");
    assert_eq!(said(&command.output().unwrap()), "0\n");
}

/// The driver reads variables continuously while the program sets some, one of which the
/// driver would notice.
#[test]
fn variables_can_be_set_meanwhile() {
    let Some(fake) = Fake::new() else { return };
    let driver = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    int cuInit(unsigned flags) {
        FILE *file = fopen("gate.reached", "w");
        if (file) fclose(file);
        int wrong = 0;
        while (access("gate", F_OK))
            for (int i = 0; i < 1000; i++) {
                const char *value = getenv("CUDA_VISIBLE_DEVICES");
                wrong |= !value || strcmp(value, "7") || getenv("SET_0") || secure_getenv("SET_1");
            }
        return printf("wrong %d\n", wrong), fflush(stdout), 1;
    }
    int cuDeviceGet(int *device, int ordinal) { return 1; }
    int cuDevicePrimaryCtxRetain(void **context, int device) { return 1; }
    "#;
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"];
    fake.build("libcuda.so.1", driver, &flags, &[]);
    let source = r#"int main(void) {
        wait_for("gate.reached");
        char name[32];
        setenv("CUDA_VISIBLE_DEVICES", "3", 1);
        for (int round = 0; round < 200; round++) {
            for (int i = 0; i < 100; i++) { sprintf(name, "SET_%d", i); setenv(name, name, 1); free(malloc(8 * i)); }
            for (int i = 0; i < 100; i++) { sprintf(name, "SET_%d", i); unsetenv(name); }
        }
        printf("set %s\n", getenv("CUDA_VISIBLE_DEVICES"));
        fflush(stdout);
        make("gate");
        return 0;
    }"#;
    let program = program(&fake, "program", source);
    let mut command = ahead(&fake, &program, &program);
    command.env("CUDA_VISIBLE_DEVICES", "7");
    let output = command.output().unwrap();
    assert_eq!(said(&output), "set 3\nwrong 0\n");
    assert!(output.status.success());
}

#[test]
fn the_calls_are_recorded_on_a_separate_thread() {
    let Some(fake) = Fake::new() else { return };
    let program = fake.build("as_cudart", libcuda::AS_CUDART, &["-ldl"], &[]);
    let directory = fake.scratch.recording();
    let plain = fake.command(&program, &[]).output().unwrap();
    let mut command = ahead(&fake, &program, &program);
    command.env("PREHEAT_DIRECTORY", &directory);
    assert_eq!(said(&command.output().unwrap()), said(&plain));
    let processes = read(&directory);
    assert_eq!(processes.len(), 1);
    let process = &processes[0];
    let main = calls(process, "cuLaunchKernel")[0].thread;
    for name in ["cuInit", "cuDevicePrimaryCtxRetain"] {
        let calls = calls(process, name);
        assert_eq!(calls.len(), 2, "{name}");
        let of_main = calls.iter().filter(|call| call.thread == main).count();
        assert_eq!(of_main, 1, "{name}");
        assert!(calls.iter().all(|call| call.record.status == 0), "{name}");
    }
    let loads = process.of(preheat_wire::Kind::Load);
    assert!(loads.iter().any(|load| load.thread != main));
}
