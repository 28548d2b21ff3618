// Calls itself depth deep and sleeps there, count times.
//
//	suspend COUNT [DEPTH]
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Each frame keeps two values of its own over the sleep.
//
//go:noinline
func descend(depth, seed uint32) uint32 {
	own := seed * 2654435761
	if depth == 1 {
		time.Sleep(time.Millisecond)
		return own
	}
	below := descend(depth-1, own)
	return below ^ own ^ depth
}

func argument(index, missing int) int {
	if len(os.Args) <= index {
		return missing
	}
	value, _ := strconv.Atoi(os.Args[index])
	return value
}

func main() {
	count, depth := argument(1, 1), argument(2, 32)
	sum := uint32(0)
	for index := 0; index < count; index++ {
		sum += descend(uint32(depth), uint32(index))
	}
	fmt.Println(sum)
}
