// Static: go build -o primes primes.go (CGO_ENABLED=0).
package main

import (
	"fmt"
	"time"
)

func main() {
	var cache map[int]bool
	for number := 0; number < 30; number++ {
		fmt.Printf("begin %d\n", number)
		began := time.Now()
		if cache == nil { // The first builds a table.
			cache = map[int]bool{}
			for i := 0; i < 300000; i++ {
				cache[i] = i%2 == 1
			}
		}
		found := 0
		for i := 2; i < 60000; i++ {
			prime := cache[i] || i == 2
			for j := 3; prime && j*j <= i; j += 2 {
				prime = i%j != 0
			}
			if prime {
				found++
			}
		}
		fmt.Printf("sieve %d %.6f\n", number, time.Since(began).Seconds())
		if number == 0 {
			fmt.Printf("first_at %.6f\n", float64(time.Now().UnixMicro())/1e6)
		}
	}
}
