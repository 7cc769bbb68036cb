"""Shows what a process has from the chain of programs that became it."""

import json
import os
import resource
import signal
import sys

show = {
    "argv": [sys.argv, getattr(sys, "orig_argv", None)],
    "executable": [sys.executable, sys.prefix, sys.base_prefix],
    "path": sys.path,
    "flags": str(sys.flags),
    "environ": sorted(os.environ.items()),
    "cwd": os.getcwd(),
    "nice": os.nice(0),
    "umask": os.umask(0o22),
    "limits": [resource.getrlimit(number) for number in range(16)],
    "ignored": [str(each) for each in signal.valid_signals() if signal.getsignal(each) == signal.SIG_IGN],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "name": open("/proc/self/comm").read(),
    "open": sorted(name for name in os.listdir("/proc/self/fd") if int(name) < 10),
    "maps": any("libpreheat" in line for line in open("/proc/self/maps")),
}
for name, value in show.items():
    print(name, json.dumps(value))
sys.exit(len(sys.argv))
