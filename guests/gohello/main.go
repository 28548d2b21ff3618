// Goroutines, channels, timers, a map, a little garbage: the Go runtime at work without a network.
//
//	gohello [WORKERS [JOBS]]
//
// Prints only what the program decides itself; map order and select order come from the random
// source that the host gives, so they show whether that source is the same each time.
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

type result struct {
	worker, job int
	digest      uint64
}

// work allocates on purpose, so that the garbage collector runs.
func work(job int) uint64 {
	digest := fnv.New64a()
	for round := 0; round < 200; round++ {
		text := fmt.Sprintf("job %d round %d", job, round)
		digest.Write([]byte(text))
	}
	return digest.Sum64()
}

func worker(id int, jobs <-chan int, results chan<- result, done *sync.WaitGroup) {
	defer done.Done()
	for job := range jobs {
		results <- result{id, job, work(job)}
		time.Sleep(time.Duration(id+1) * time.Millisecond)
	}
}

func argument(index, missing int) int {
	if len(os.Args) <= index {
		return missing
	}
	value, err := strconv.Atoi(os.Args[index])
	if err != nil || value < 1 {
		fmt.Println("usage: gohello [WORKERS [JOBS]]")
		os.Exit(64)
	}
	return value
}

func runWorkers(workerCount, jobCount int) {
	jobs, results := make(chan int), make(chan result, jobCount)
	var done sync.WaitGroup
	for id := 0; id < workerCount; id++ {
		done.Add(1)
		go worker(id, jobs, results, &done)
	}
	for job := 0; job < jobCount; job++ {
		jobs <- job
	}
	close(jobs)
	done.Wait()
	close(results)
	perWorker := map[int]int{}
	sum := uint64(0)
	for r := range results {
		perWorker[r.worker]++
		sum += r.digest
	}
	workers := make([]int, 0, len(perWorker))
	for id := range perWorker {
		workers = append(workers, id)
	}
	fmt.Println("map order", workers)
	sort.Ints(workers)
	for _, id := range workers {
		fmt.Printf("worker %d did %d jobs\n", id, perWorker[id])
	}
	fmt.Printf("digest %016x\n", sum)
}

func runTimers() {
	start := time.Now()
	ticker := time.NewTicker(30 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(100 * time.Millisecond)
	for ticks := 0; ; {
		select {
		case <-ticker.C:
			ticks++
			fmt.Printf("tick %d after %d ms\n", ticks, time.Since(start).Milliseconds())
		case <-deadline:
			fmt.Printf("deadline after %d ms\n", time.Since(start).Milliseconds())
			return
		}
	}
}

func main() {
	runWorkers(argument(1, 4), argument(2, 20))
	runTimers()
	fmt.Println("ok")
}
