// Package spool keeps numbered records on disk until the reader has said that
// it does not need them any more.
//
// # Files
//
// A folder of segments, each named by the number of its first record in 20
// digits and ".seg". A record is its length (four bytes, big-endian), a CRC-32C
// of number and data (four), its number (eight), the data. A segment ends where the file ends
// or where a record is not whole: a writer that dies leaves at most one such
// record, and it is the last. Nothing is synced: the spool has to survive the
// death of processes, not of the machine, with which the kernel dies too.
//
// # Concurrency
//
// One goroutine appends; any number of readers read, each in its own goroutine,
// and are woken when something was appended. Ack may be called by anyone. No
// lock is held while a file is read or written. The package starts no goroutine.
//
// The last few MiB also stay in memory, so that a reader that keeps up never
// touches the disk. A record that cannot be written (disk full) stays in memory until it is acknowledged.
package spool
