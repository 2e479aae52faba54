package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// Version is the version of the format that is written, and the newest that is read.
const Version = 1

const (
	magic        = "RUNTJRNL"
	headerSize   = len(magic) + 4 + 4
	recordMagic  = "\x1fRJ\xa7"
	recordHeader = len(recordMagic) + 4 + 1 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of Open that leave the file untouched.
var (
	ErrNewerVersion = errors.New("journal was written by a newer version")
	ErrNotJournal   = errors.New("file is not a journal")
)

// ErrTooLarge is the error for a record of 4 GiB or more.
var ErrTooLarge = errors.New("record is too large for a journal")

// Record is one entry. The journal gives no meaning to its type.
type Record struct {
	Type byte
	Data []byte
}

func (r Record) size() int64 { return int64(recordHeader) + int64(len(r.Data)) }

// appendHeader appends the beginning of a file of some version.
func appendHeader(dst []byte, version uint32) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// appendRecord appends one record.
func appendRecord(dst []byte, r Record) ([]byte, error) {
	if len(r.Data) > math.MaxUint32 {
		return dst, fmt.Errorf("%d bytes: %w", len(r.Data), ErrTooLarge)
	}
	dst = append(dst, recordMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Data)))
	dst = append(dst, r.Type)
	dst = binary.LittleEndian.AppendUint32(dst, checksum(r.Type, r.Data))
	return append(dst, r.Data...), nil
}

func checksum(kind byte, data []byte) uint32 {
	var b [5]byte
	binary.LittleEndian.PutUint32(b[:], uint32(len(data)))
	b[4] = kind
	return crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, data)
}

// verdict is what was found where a record should be.
type verdict int

const (
	whole   verdict = iota
	short           // the file ends within the record
	damaged         // the bytes are not what was written
)

// readRecord reads the record at the start of b.
func readRecord(b []byte) (r Record, size int, v verdict) {
	n := min(len(b), len(recordMagic))
	if string(b[:n]) != recordMagic[:n] {
		return r, 0, damaged
	}
	if len(b) < recordHeader {
		return r, 0, short
	}
	length := int64(binary.LittleEndian.Uint32(b[4:]))
	r.Type = b[8]
	if int64(len(b)-recordHeader) < length {
		return r, 0, short
	}
	size = recordHeader + int(length)
	r.Data = b[recordHeader:size:size]
	if binary.LittleEndian.Uint32(b[9:]) != checksum(r.Type, r.Data) {
		return r, size, damaged
	}
	return r, size, whole
}

// contents is what the bytes of a file hold.
type contents struct {
	records []Record
	end     int  // end of the last whole record
	torn    bool // bytes after end were never acknowledged
	gap     int  // index of the first record after damaged bytes, or -1
	at      int  // where the damage begins, if any; else -1
}

func (c contents) corrupt() bool { return c.at >= 0 }

// readFile reads a whole file. Records alias b.
func readFile(b []byte) (contents, error) {
	c := contents{gap: -1, at: -1}
	if len(b) < headerSize {
		if !bytes.HasPrefix(appendHeader(nil, Version), b) && !allZero(b) {
			return c, ErrNotJournal
		}
		c.torn = len(b) > 0
		return c, nil
	}
	version := binary.LittleEndian.Uint32(b[len(magic):])
	good := bytes.Equal(b[:headerSize], appendHeader(nil, version)) && version > 0
	switch {
	case good && version > Version:
		return c, fmt.Errorf("version %d: %w", version, ErrNewerVersion)
	case allZero(b):
		c.torn = true
		return c, nil
	case !good:
		c.at = 0
	}
	c.scan(b, headerSize)
	if !good && len(c.records) == 0 {
		return c, ErrNotJournal
	}
	return c, nil
}

// scan reads records from offset on. After damage it looks for the next whole record.
func (c *contents) scan(b []byte, offset int) {
	c.end = offset
	if c.at >= 0 {
		c.gap = 0
	}
	for offset < len(b) {
		r, size, v := readRecord(b[offset:])
		if v == whole {
			offset += size
			c.records = append(c.records, r)
			c.end = offset
			continue
		}
		next, found := nextWhole(b, offset+1)
		if !found && (v == short || allZero(b[offset:])) {
			c.torn = true
			return
		}
		if c.at < 0 {
			c.at, c.gap = offset, len(c.records)
		}
		if !found {
			return
		}
		offset = next
	}
}

// nextWhole finds a whole record at or after offset.
func nextWhole(b []byte, offset int) (int, bool) {
	for {
		n := bytes.Index(b[offset:], []byte(recordMagic))
		if n < 0 {
			return 0, false
		}
		offset += n
		if _, _, v := readRecord(b[offset:]); v == whole {
			return offset, true
		}
		offset++
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
