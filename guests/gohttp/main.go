// A register replicated over three HTTP servers, with majorities: a plain net/http program.
//
//	gohttp server NAME ADDRESS [DIRECTORY]        keeps its copy in DIRECTORY, or in memory only
//	gohttp client WRITES PAUSE_MS HOST:PORT...    writes and reads back by majority, and checks
//
// Exit codes: 0 done, 1 could not go on, 2 a read lost an acknowledged write, 64 usage. A server
// that keeps its copy in memory only loses acknowledged writes when it crashes: the checker's own
// test.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func usage() {
	fmt.Println("usage: gohttp server NAME ADDRESS [DIRECTORY]")
	fmt.Println("       gohttp client WRITES PAUSE_MS HOST:PORT...")
	os.Exit(64)
}

func main() {
	if len(os.Args) < 4 {
		usage()
	}
	switch os.Args[1] {
	case "server":
		directory := ""
		if len(os.Args) > 4 {
			directory = os.Args[4]
		}
		if err := serve(os.Args[2], os.Args[3], directory); err != nil {
			fmt.Println("server:", err)
			os.Exit(1)
		}
	case "client":
		writes, err := strconv.Atoi(os.Args[2])
		pauseMs, pauseErr := strconv.Atoi(os.Args[3])
		if err != nil || pauseErr != nil || len(os.Args) < 5 {
			usage()
		}
		client := newClient(os.Args[4:])
		os.Exit(client.run(writes, time.Duration(pauseMs)*time.Millisecond))
	default:
		usage()
	}
}
