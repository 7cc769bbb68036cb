import time
from pyspark.sql import SparkSession
from pyspark.sql import functions

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
for number in range(6):
    began = time.perf_counter()
    table = spark.range(200_000).withColumn("key", functions.col("id") % 7)
    table.groupBy("key").count().collect()
    print(f"group {number} {time.perf_counter() - began:.6f}", flush=True)
    if number == 0:
        print(f"first_at {time.time():.6f}", flush=True)
spark.stop()
