package automerge

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loop runs f b.N times and reports the processor time of the whole process
// beside the elapsed time, because the machine may be shared.
func loop(b *testing.B, f func(i int)) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	for i := range b.N {
		f(i)
	}
	b.StopTimer()
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

// notebook returns a document with cells of 180 characters each.
func notebook(b *testing.B, s *Shard, cells int) *Doc {
	b.Helper()
	d, err := s.New("local:bench/agent")
	must(b, err)
	batch := NewBatch()
	cs := batch.Put(batch.Root(), "cells", Map{})
	for i := range cells {
		batch.Put(cs, fmt.Sprintf("cell-%04d", i), Map{
			{"id", fmt.Sprintf("cell-%04d", i)}, {"cell_type", "code"}, {"position", fmt.Sprintf("80%04X", i)},
			{"source", Text(strings.Repeat("print(1)  ", 18))}, {"execution_count", "null"}, {"metadata", Map{}},
		})
	}
	batch.Put(batch.Root(), "executions", Map{})
	_, err = d.Apply(batch)
	must(b, err)
	return d
}

func typeOne(d *Doc, i int) (Update, error) {
	b := NewBatch()
	b.Splice(b.At("cells", "cell-0003", "source"), i%100, i%2, "x")
	return d.Apply(b)
}

func BenchmarkApplyKeystroke(b *testing.B) {
	for _, cells := range []int{20, 500} {
		b.Run(fmt.Sprint(cells, "cells"), func(b *testing.B) {
			d := notebook(b, newShard(b), cells)
			loop(b, func(i int) {
				_, err := typeOne(d, i)
				must(b, err)
			})
		})
	}
}

// execution writes a whole finished execution and deletes an old one, as the
// closing commit of a cell does.
func execution(d *Doc, i int) (Update, error) {
	b := NewBatch()
	es := b.At("executions")
	b.Put(es, fmt.Sprint("e", i), Map{
		{"status", "done"}, {"execution_count", i}, {"success", true}, {"source", "n+1"}, {"cell_id", "cell-0003"}, {"seq", Uint(i)},
		{"outputs", Map{{"o", Map{{"seq", Uint(0)}, {"manifest", Map{
			{"output_type", "execute_result"}, {"data", Map{{"text/plain", Map{{"inline", "42"}}}}},
		}}}}}},
	})
	b.Delete(es, fmt.Sprint("e", i-8))
	return d.Apply(b)
}

func BenchmarkApplyExecution(b *testing.B) {
	d := notebook(b, newShard(b), 20)
	loop(b, func(i int) {
		_, err := execution(d, i)
		must(b, err)
	})
}

// benchPair returns two live documents.
func benchPair(b *testing.B) (*Doc, *Doc, *link) {
	b.Helper()
	d := notebook(b, newShard(b), 20)
	saved, err := d.Save()
	must(b, err)
	e, err := newShard(b).Load(saved, "local:bench/person")
	must(b, err)
	l := newLink(d, e)
	settle(b, l)
	return d, e, l
}

// BenchmarkRoundTrip is one change, its frame, its receipt, the acknowledgement
// and its receipt: all that a change costs both ends.
func BenchmarkRoundTrip(b *testing.B) {
	for name, pure := range map[string]bool{"fast": false, "library": true} {
		b.Run(name, func(b *testing.B) {
			d, _, l := benchPair(b)
			if pure {
				l.a.pure, l.b.pure = true, true
				l.reconnect()
				settle(b, l)
			}
			loop(b, func(i int) {
				_, err := execution(d, i)
				must(b, err)
				settle(b, l)
			})
		})
	}
}

func BenchmarkReceiveFast(b *testing.B) {
	_, e, l := benchPair(b)
	d := l.a.d
	var msgs [][]byte
	for i := range b.N {
		_, err := typeOne(d, i)
		must(b, err)
		msg, err := l.a.Generate()
		must(b, err)
		msgs = append(msgs, msg)
	}
	loop(b, func(i int) {
		_, err := l.b.Receive(msgs[i], ReceiveOptions{})
		must(b, err)
	})
	if !l.b.Live() || !SameHeads(d.Heads(), e.Heads()) {
		b.Fatal("the fast path was left")
	}
}

func BenchmarkReceiveConcurrent(b *testing.B) {
	for _, cells := range []int{20, 500} {
		b.Run(fmt.Sprint(cells, "cells"), func(b *testing.B) {
			d := notebook(b, newShard(b), cells)
			saved, err := d.Save()
			must(b, err)
			e, err := newShard(b).Load(saved, "other")
			must(b, err)
			var ups []Update
			for i := range b.N {
				up, err := typeOne(e, i)
				must(b, err)
				ups = append(ups, up)
			}
			_, err = execution(d, 0)
			must(b, err)
			loop(b, func(i int) {
				_, err := d.ApplyChanges(ups[i].Changes)
				must(b, err)
			})
		})
	}
}

func BenchmarkGenerateFast(b *testing.B) {
	d, _, l := benchPair(b)
	others := []*Peer{d.NewPeer(), d.NewPeer(), d.NewPeer()}
	for _, p := range others {
		p.live, p.sent, p.told = true, d.hist.last(), d.heads
	}
	up, err := execution(d, 0)
	must(b, err)
	loop(b, func(int) {
		for _, p := range append(others, l.a) {
			p.sent--
			if _, err := p.Generate(); err != nil {
				b.Fatal(err)
			}
		}
	})
	_ = up
}

func BenchmarkReceiveAck(b *testing.B) {
	d, _, l := benchPair(b)
	ack := appendMessage(nil, d.Heads(), nil, 0)
	loop(b, func(int) {
		_, err := l.a.Receive(ack, ReceiveOptions{})
		must(b, err)
	})
}

func BenchmarkSave(b *testing.B) {
	d := notebook(b, newShard(b), 200)
	loop(b, func(int) {
		_, err := d.Save()
		must(b, err)
	})
}

func BenchmarkLoad(b *testing.B) {
	saved, err := notebook(b, newShard(b), 200).Save()
	must(b, err)
	s := newShard(b)
	loop(b, func(int) {
		d, err := s.Load(saved, "x")
		must(b, err)
		d.Close()
	})
}

// BenchmarkMemoryPerShard reports the WebAssembly memory of a room with a
// notebook of 20 cells and 100 executions.
func BenchmarkMemoryPerShard(b *testing.B) {
	for _, per := range []int{1, 5} {
		b.Run(fmt.Sprint(per, "per machine"), func(b *testing.B) {
			e := privateEngine(b, Options{ShardsPerVM: per})
			for range b.N {
				s, err := e.NewShard()
				must(b, err)
				d := notebook(b, s, 20)
				for i := range 100 {
					_, err := execution(d, i)
					must(b, err)
				}
			}
			st := e.Stats()
			b.ReportMetric(float64(st.Memory)/float64(st.Shards)/1024, "kB/shard")
		})
	}
}

// BenchmarkStart is how long an engine takes from Open to the first document,
// with and without compiled code on disk.
func BenchmarkStart(b *testing.B) {
	for name, dir := range map[string]string{"warm": cacheDir, "cold": ""} {
		b.Run(name, func(b *testing.B) {
			loop(b, func(int) {
				e := Open(Options{CacheDir: dir})
				s, err := e.NewShard()
				must(b, err)
				_, err = s.New("a")
				must(b, err)
				must(b, e.Close())
			})
		})
	}
}
