import time
import duckdb

db = duckdb.connect()
db.execute("create table t as select range as id, hash(range) % 1000 as k, random() as v from range(1000000)")
for number in range(25):
    began = time.perf_counter()
    rows = db.execute("select k, avg(v), count(*) from t group by k order by 2 desc limit 5").fetchall()
    print(f"query {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
