<?php
$rows = range(1, 20000);
for ($number = 0; $number < 30; $number++) {
    echo "begin $number\n";
    $began = hrtime(true);
    $text = json_encode(array_map(fn($i) => ["id" => $i, "hash" => md5((string)$i)], $rows));
    $back = json_decode($text, true);
    printf("page %d %.6f\n", $number, (hrtime(true) - $began) / 1e9);
    if ($number == 0) printf("first_at %.6f\n", microtime(true));
}
