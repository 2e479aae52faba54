package roomactor

import (
	"bytes"
	"runtime"
	"testing"

	"runt/internal/journal"
)

// TestReadingAJournalCopiesItOnce: the time a daemon needs to come back grows
// with the journal, not with its square, and the records stay as they were.
func TestReadingAJournalCopiesItOnce(t *testing.T) {
	const n = 5000
	file := bytes.Repeat([]byte("0123456789"), n*10)
	recs := []journal.Record{{Type: recMeta, Data: []byte("{}")}, {Type: recNotebookSave, Data: file[:100]}}
	for i := 1; i < n; i++ {
		recs = append(recs, journal.Record{Type: recNotebookChanges, Data: file[i*100 : (i+1)*100]})
	}
	before := bytes.Clone(file)
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	s, err := readRecords(recs)
	runtime.ReadMemStats(&m1)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.docs[docNotebook], before) || !bytes.Equal(file, before) {
		t.Error("the changes are not what was written")
	}
	if got := m1.TotalAlloc - m0.TotalAlloc; got > 20*uint64(len(file)) {
		t.Errorf("reading %d bytes takes %d bytes of memory", len(file), got)
	}
}
