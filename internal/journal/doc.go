// Package journal is an append-only log of records in one file. What Wait has
// reported as durable is there after any crash of the process or the machine.
//
// # Use
//
//	j, recovered, err := journal.Open(path, journal.Options{})
//	pos := j.Append(journal.Record{Type: 1, Data: change}) // no IO
//	err = j.Wait(ctx, pos)                                  // on disk now
//
// Rewrite replaces all that was appended before it by records that say the
// same in fewer bytes.
//
// # Guarantees
//
// Order: records are kept in the order of the calls of Append and Rewrite,
// from whatever goroutines these come.
//
// Blocking: Append, Rewrite, Durable and Size never wait for the disk. One
// goroutine, owned by the Journal, writes: everything appended while it waits
// for the disk goes out with the next write and one sync.
//
// Failure: when the disk refuses, nothing is acknowledged. Wait returns the
// error for every position that was part of the attempt, OnError is told, and
// the records stay queued. Each later Append or Wait makes another attempt, so
// that a full disk is cured by making room. A failed Rewrite is reported and
// dropped; the old file goes on.
//
// Ownership: the bytes of a record belong to the Journal until it is durable.
// OnDurable and OnError are called by the writing goroutine, without locks;
// they must not block and must not call Close.
//
// Shutdown: Close makes a last attempt to write what is queued and waits for
// the goroutine.
//
// # Format, version 1
//
// Numbers are little-endian. Checksums are CRC-32C (Castagnoli).
//
//	file    = header record*
//	header  = "RUNTJRNL" version:u32 checksum:u32        16 bytes; checksum of the first 12
//	record  = 0x1F "RJ" 0xA7 length:u32 type:u8 checksum:u32 data
//
// The checksum of a record covers its length, type and data. The four bytes at
// its start only serve to find the next record after damaged bytes.
//
// # Damage
//
// Open never throws away bytes that may have been acknowledged:
//
//	no file, empty file, part of a header    an empty journal
//	file ends within a record, or in zeros   Torn: the tail is cut; it was never acknowledged.
//	                                         Unless it is zeros, a copy is kept as NAME.torn-N
//	damaged bytes elsewhere                  Corrupt: a copy of the file is kept as NAME.corrupt-N,
//	                                         all records that are whole are returned and the journal
//	                                         goes on with them; Gap says where some are missing
//	a newer version                          ErrNewerVersion; the file is not touched
//	something else                           ErrNotJournal; the file is not touched
package journal
