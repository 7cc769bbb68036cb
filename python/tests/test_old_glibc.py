"""packaging/old_glibc.py: programs that are linked with its stubs run with an old glibc."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "old_glibc.py"
PROGRAM = """
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
static void *thread(void *given) { return given; }
int main(int count, char **words) {
    pthread_t id;
    void *result = 0;
    struct stat about;
    pthread_create(&id, 0, thread, words);
    pthread_join(id, &result);
    if (stat(words[0], &about)) return 2;
    printf("%d %d %d %.3f\\n", result == words, about.st_size > 0, dlsym(0, "printf") != 0, exp(count));
}
"""
NEWER = "int gettid(void); int main(void) { return gettid() == 0; }"

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("readelf") is None, reason="no C compiler"
)


@pytest.fixture(scope="module")
def linker(tmp_path_factory):
    directory = tmp_path_factory.mktemp("glibc")
    subprocess.run([sys.executable, SCRIPT, directory, "2.28"], check=True)
    return directory / "linker"


def built(linker, directory, source):
    (directory / "program.c").write_text(source)
    return subprocess.run(
        [linker, "-fno-builtin", "program.c", "-o", "program", "-lm", "-lpthread", "-ldl"],
        cwd=directory,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_program_needs_no_newer_versions_and_runs(linker, tmp_path):
    done = built(linker, tmp_path, PROGRAM)
    assert done.returncode == 0, done.stderr
    needed = subprocess.run(
        ["readelf", "-W", "--version-info", "--dynamic", "program"],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", needed)}
    assert versions and max(versions) <= (2, 28)
    # Libraries that were separate then.
    assert {"libpthread.so.0", "libdl.so.2"} <= set(re.findall(r"\[(lib.*?)\]", needed))
    ran = subprocess.run([tmp_path / "program"], stdout=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stdout) == (0, "1 1 1 2.718\n")


def test_a_newer_function_is_an_error(linker, tmp_path):
    done = built(linker, tmp_path, NEWER)
    assert done.returncode != 0
    assert "gettid" in done.stderr


def test_wrong_usage_is_reported():
    done = subprocess.run([sys.executable, SCRIPT, "x"], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("usage: old_glibc.py DIRECTORY VERSION")
