// Package simnet gives net.Conn and net.Listener to Go programs built for wasip1.
//
// The standard library has no Dial and no Listen there. This package opens sockets through the
// WasmEdge socket imports and hands the descriptors to the standard library (os.NewFile, then
// net.FileConn or net.FileListener), so that the results are *net.TCPConn as usual and waiting goes
// through Go's own network poller. On every other system it is package net itself, so one source
// runs in the simulator and outside of it.
package simnet
