// A key-value store replicated with etcd's raft library, which is compiled as it comes.
//
//	etcdraft server NAME PEER,PEER,... [DIRECTORY]           one replica; PEERs are all replicas
//	etcdraft client NAME PEER,PEER,... OPERATIONS PAUSE_MS   writes and reads, and prints a history
//
// Packets are UDP on port 7000 of every node. Exit codes: 0 done, 1 could not go on, 64 usage.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func usage() {
	fmt.Println("usage: etcdraft server NAME PEER,PEER,... [DIRECTORY]")
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

func main() {
	if len(os.Args) < 4 {
		usage()
	}
	name, peers := os.Args[2], strings.Split(os.Args[3], ",")
	switch os.Args[1] {
	case "server":
		directory := "/raft"
		if len(os.Args) > 4 {
			directory = os.Args[4]
		}
		newServer(name, peers, directory).run()
	case "client":
		if len(os.Args) < 6 {
			usage()
		}
		count, err := strconv.Atoi(os.Args[4])
		pauseMs, pauseErr := strconv.Atoi(os.Args[5])
		if err != nil || pauseErr != nil {
			usage()
		}
		os.Exit(newClient(name, peers).run(count, time.Duration(pauseMs)*time.Millisecond))
	default:
		usage()
	}
}
