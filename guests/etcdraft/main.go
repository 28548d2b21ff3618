// A key-value store replicated with etcd's raft library, which is compiled as it comes.
//
//	etcdraft server NAME PEER,PEER,... TICK_MS                one replica; PEERs are all replicas
//	etcdraft client NAME PEER,PEER,... OPERATIONS PAUSE_MS    reads and writes, and prints a history
//
// A leader's heartbeat is sent each tick, and an election begins after ten without one, as etcd
// has it. Packets are UDP on port 7000 of every node. Exit codes: 0 done, 1 could not go on, 64 usage.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func usage() {
	fmt.Println("usage: etcdraft server NAME PEER,PEER,... TICK_MS")
	fmt.Println("       etcdraft client NAME PEER,PEER,... OPERATIONS PAUSE_MS")
	os.Exit(64)
}

// must ends the program when it cannot go on; a supervisor would start it again.
func must(err error, what string) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
}

// number is an argument that must be one.
func number(index int) int {
	if len(os.Args) <= index {
		usage()
	}
	value, err := strconv.Atoi(os.Args[index])
	if err != nil {
		usage()
	}
	return value
}

func milliseconds(index int) time.Duration {
	return time.Duration(number(index)) * time.Millisecond
}

func main() {
	if len(os.Args) < 5 {
		usage()
	}
	name, peers := os.Args[2], strings.Split(os.Args[3], ",")
	switch os.Args[1] {
	case "server":
		newServer(name, peers).run(milliseconds(4))
	case "client":
		newClient(name, peers).run(number(4), milliseconds(5))
	default:
		usage()
	}
}
