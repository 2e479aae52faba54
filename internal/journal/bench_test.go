package journal

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkAppendWait measures one writer that waits for every record of 200
// bytes, and reports the median.
func BenchmarkAppendWait(b *testing.B) {
	j := benchJournal(b)
	data := make([]byte, 200)
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := j.Wait(b.Context(), j.Append(Record{1, data})); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkGroupCommit measures 64 writers that each wait for every record.
func BenchmarkGroupCommit(b *testing.B) {
	j := benchJournal(b)
	data := make([]byte, 200)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := j.Wait(b.Context(), j.Append(Record{1, data})); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkManyJournals measures 100 journals written at once, each waiting for every record.
func BenchmarkManyJournals(b *testing.B) {
	var all []*Journal
	for range 100 {
		all = append(all, benchJournal(b))
	}
	data := make([]byte, 200)
	for b.Loop() {
		var g sync.WaitGroup
		for _, j := range all {
			g.Go(func() {
				if err := j.Wait(b.Context(), j.Append(Record{1, data})); err != nil {
					b.Error(err)
				}
			})
		}
		g.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(all)), "µs/record")
}

func benchJournal(b *testing.B) *Journal {
	b.Helper()
	j, _, err := Open(filepath.Join(b.TempDir(), "a.journal"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	return j
}
