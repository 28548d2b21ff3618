package call

import (
	"runtime"
	"time"
	"unsafe"
)

//go:wasmimport athanor call
//go:noescape
func call32(
	target unsafe.Pointer, targetSize uint32, arguments unsafe.Pointer, argumentsSize uint32,
	timeoutNs int64, number uint32, room unsafe.Pointer, roomSize uint32, reply unsafe.Pointer,
) int32

func attempt(
	target string, arguments []byte, timeout time.Duration, number uint32, room []byte,
) (status int32, size, retryAfterMs uint32) {
	var reply [2]uint32
	status = call32(
		unsafe.Pointer(unsafe.StringData(target)), uint32(len(target)),
		unsafe.Pointer(unsafe.SliceData(arguments)), uint32(len(arguments)),
		int64(timeout), number,
		unsafe.Pointer(unsafe.SliceData(room)), uint32(len(room)), unsafe.Pointer(&reply),
	)
	runtime.KeepAlive(target)
	runtime.KeepAlive(arguments)
	runtime.KeepAlive(room)
	return status, reply[0], reply[1]
}
