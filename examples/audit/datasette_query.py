import asyncio
import sqlite3
import tempfile
import os
import time
from datasette.app import Datasette

WARM_UP = int(os.environ.get("WARM_UP", 0))

async def main():
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        with sqlite3.connect(file.name) as connection:
            connection.execute("create table numbers (n integer, square integer)")
            connection.executemany("insert into numbers values (?, ?)", ((n, n * n) for n in range(20_000)))
        datasette = Datasette([file.name])
        name = file.name.rpartition("/")[2].removesuffix(".db")
        for number in range(-WARM_UP, 30):
            began = time.perf_counter()
            response = await datasette.client.get(f"/{name}/numbers.json?n__gt=10000&_sort_desc=square")
            assert response.status_code == 200
            print(f"request {number} {time.perf_counter() - began:.6f}", flush=True)
            if number == 0:
                print(f"first_at {time.time():.6f}", flush=True)

asyncio.run(main())
