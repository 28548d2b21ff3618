package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/raft"
	"go.etcd.io/etcd/raft/raftpb"
)

// Kinds of records of the write-ahead log.
const (
	recordBase  = 1 // The snapshot that the log goes on from; always first.
	recordState = 2
	recordEntry = 3
)

// storage keeps what raft must not forget: a snapshot, and a log of what came after it. The
// library reads from memory; every change goes to the disk first and is synced.
type storage struct {
	*raft.MemoryStorage
	directory string
	log       *os.File
	state     raftpb.HardState
}

type message interface{ Marshal() ([]byte, error) }

// appendRecord adds checksum, size, kind and body.
func appendRecord(bytes []byte, kind byte, m message) []byte {
	body, err := m.Marshal()
	must(err, "marshal")
	var head [9]byte
	binary.LittleEndian.PutUint32(head[4:], uint32(len(body)))
	head[8] = kind
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, body)
	binary.LittleEndian.PutUint32(head[:], sum)
	return append(append(bytes, head[:]...), body...)
}

// nextRecord takes a whole record off the front; false at the end or where the log is torn.
func nextRecord(bytes []byte) (kind byte, body, rest []byte, ok bool) {
	if len(bytes) < 9 {
		return 0, nil, bytes, false
	}
	end := 9 + int(binary.LittleEndian.Uint32(bytes[4:]))
	if end > len(bytes) || end < 9 ||
		crc32.ChecksumIEEE(bytes[4:end]) != binary.LittleEndian.Uint32(bytes) {
		return 0, nil, bytes, false
	}
	return bytes[8], bytes[9:end], bytes[end:], true
}

func (s *storage) path(name string) string { return filepath.Join(s.directory, name) }

// replace puts a file in the place of another, so that a crash leaves one or the other.
func (s *storage) replace(name string, bytes []byte) *os.File {
	file, err := os.Create(s.path(name + ".draft"))
	must(err, "create")
	_, err = file.Write(bytes)
	must(err, "write")
	must(file.Sync(), "sync")
	must(os.Rename(file.Name(), s.path(name)), "rename")
	directory, err := os.Open(s.directory)
	must(err, "open")
	must(directory.Sync(), "sync")
	must(directory.Close(), "close")
	return file
}

// openStorage recovers what the disk holds, or starts with the given voters.
func openStorage(directory string, voters []uint64) *storage {
	must(os.MkdirAll(directory, 0o755), "mkdir")
	s := &storage{MemoryStorage: raft.NewMemoryStorage(), directory: directory}
	// The first configuration stands in a snapshot that all replicas share.
	snapshot := raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{
		ConfState: raftpb.ConfState{Voters: voters}, Index: 1, Term: 1,
	}}
	s.state = raftpb.HardState{Term: 1, Commit: 1}
	bytes, err := os.ReadFile(s.path("snapshot"))
	if err == nil {
		snapshot = raftpb.Snapshot{} // Unmarshal would add to the voters that are there.
		must(snapshot.Unmarshal(bytes), "snapshot")
	} else if !errors.Is(err, fs.ErrNotExist) {
		must(err, "snapshot")
	}
	must(s.ApplySnapshot(snapshot), "snapshot")
	must(s.Append(s.recover(snapshot.Metadata)), "append")
	if s.state.Commit < snapshot.Metadata.Index {
		s.state.Commit = snapshot.Metadata.Index
	}
	must(s.SetHardState(s.state), "state")
	s.rewrite()
	return s
}

// recover reads the log up to its end or a torn record. What goes on from another snapshot counts
// only if it contains this one.
func (s *storage) recover(at raftpb.SnapshotMetadata) []raftpb.Entry {
	bytes, err := os.ReadFile(s.path("log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		must(err, "log")
	}
	var entries []raftpb.Entry
	belongs := false
	for {
		kind, body, rest, ok := nextRecord(bytes)
		if !ok {
			break
		}
		bytes = rest
		switch kind {
		case recordBase:
			var base raftpb.SnapshotMetadata
			must(base.Unmarshal(body), "log")
			belongs = base.Index == at.Index && base.Term == at.Term
		case recordState:
			must(s.state.Unmarshal(body), "log")
		case recordEntry:
			var entry raftpb.Entry
			must(entry.Unmarshal(body), "log")
			for len(entries) > 0 && entries[len(entries)-1].Index >= entry.Index {
				entries = entries[:len(entries)-1]
			}
			entries = append(entries, entry)
		}
	}
	for len(entries) > 0 && entries[0].Index <= at.Index {
		belongs = belongs || entries[0].Index == at.Index && entries[0].Term == at.Term
		entries = entries[1:]
	}
	if !belongs {
		return nil
	}
	return entries
}

// rewrite makes the log hold what the memory holds: the base, the state, the entries after it.
func (s *storage) rewrite() {
	snapshot, err := s.Snapshot()
	must(err, "snapshot")
	bytes := appendRecord(nil, recordBase, &snapshot.Metadata)
	bytes = appendRecord(bytes, recordState, &s.state)
	first, err := s.FirstIndex()
	must(err, "first")
	last, err := s.LastIndex()
	must(err, "last")
	if first <= last {
		entries, err := s.Entries(first, last+1, ^uint64(0))
		must(err, "entries")
		for i := range entries {
			bytes = appendRecord(bytes, recordEntry, &entries[i])
		}
	}
	if s.log != nil {
		must(s.log.Close(), "close")
	}
	s.log = s.replace("log", bytes)
}

// save makes everything durable that a Ready carries; its messages may be sent afterwards.
func (s *storage) save(ready raft.Ready) {
	if !raft.IsEmptyHardState(ready.HardState) {
		s.state = ready.HardState
		must(s.SetHardState(s.state), "state")
	}
	if !raft.IsEmptySnap(ready.Snapshot) {
		s.saveSnapshot(ready.Snapshot)
		must(s.ApplySnapshot(ready.Snapshot), "snapshot")
		must(s.Append(ready.Entries), "append")
		s.rewrite()
		return
	}
	var bytes []byte
	for i := range ready.Entries {
		bytes = appendRecord(bytes, recordEntry, &ready.Entries[i])
	}
	must(s.Append(ready.Entries), "append")
	if !raft.IsEmptyHardState(ready.HardState) {
		bytes = appendRecord(bytes, recordState, &s.state)
	}
	if len(bytes) == 0 {
		return
	}
	_, err := s.log.Write(bytes)
	must(err, "write")
	must(s.log.Sync(), "sync")
}

func (s *storage) saveSnapshot(snapshot raftpb.Snapshot) {
	bytes, err := snapshot.Marshal()
	must(err, "marshal")
	must(s.replace("snapshot", bytes).Close(), "close")
}

// compact replaces all entries up to `index` by the state that they lead to.
func (s *storage) compact(index uint64, configuration raftpb.ConfState, data []byte) {
	snapshot, err := s.CreateSnapshot(index, &configuration, data)
	must(err, "snapshot")
	s.saveSnapshot(snapshot)
	must(s.Compact(index), "compact")
	s.rewrite()
}
