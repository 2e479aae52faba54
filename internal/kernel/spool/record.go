package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	headSize      = 16
	maxRecord     = 700 << 20
	trustedLength = 1 << 20
	extension     = ".seg"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errTorn = errors.New("torn record")

func recordHead(seq uint64, data []byte) []byte {
	var h [headSize]byte
	binary.BigEndian.PutUint32(h[0:], uint32(len(data)))
	binary.BigEndian.PutUint64(h[8:], seq)
	binary.BigEndian.PutUint32(h[4:], checksum(h[8:], data))
	return h[:]
}

func checksum(seq, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(seq, castagnoli), castagnoli, data)
}

// readRecord reads the next record; io.EOF after the last, errTorn when what follows is not a whole record.
func readRecord(r io.Reader) (seq uint64, data []byte, err error) {
	var h [headSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errTorn
		}
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(h[0:])
	if n > maxRecord {
		return 0, nil, errTorn
	}
	data = make([]byte, 0, min(n, trustedLength))
	for uint32(len(data)) < n {
		data = slices.Grow(data, min(int(n)-len(data), max(trustedLength, len(data))))
		m, err := io.ReadFull(r, data[len(data):min(cap(data), int(n))])
		data = data[:len(data)+m]
		if err != nil {
			return 0, nil, errTorn
		}
	}
	if checksum(h[8:], data) != binary.BigEndian.Uint32(h[4:]) {
		return 0, nil, errTorn
	}
	return binary.BigEndian.Uint64(h[8:]), data, nil
}

func segmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", first, extension))
}

// segmentsIn lists the first numbers of the segments of a folder, in order.
func segmentsIn(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var firsts []uint64
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if n, err := strconv.ParseUint(name, 10, 64); ok && err == nil {
			firsts = append(firsts, n)
		}
	}
	slices.Sort(firsts)
	return firsts, nil
}

// ReadDir gives every whole record after number after to f, in order: what a
// writer that is gone has left. It stops at the first error of f.
func ReadDir(dir string, after uint64, f func(seq uint64, data []byte) error) error {
	firsts, err := segmentsIn(dir)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		if i+1 < len(firsts) && firsts[i+1] <= after+1 {
			continue
		}
		if err := readSegment(segmentPath(dir, first), after, f); err != nil {
			return err
		}
	}
	return nil
}

func readSegment(path string, after uint64, f func(uint64, []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	defer func() { _ = file.Close() }()
	r := bufio.NewReaderSize(file, 64<<10)
	for {
		seq, data, err := readRecord(r)
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
		if seq <= after {
			continue
		}
		if err := f(seq, data); err != nil {
			return err
		}
	}
}
