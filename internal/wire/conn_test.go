package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns a Conn over net.Pipe, which buffers nothing, and its peer's end.
func pair(t *testing.T, o ConnOptions) (*Conn, net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	c := NewConn(a, o)
	t.Cleanup(func() { c.Close(); b.Close() })
	return c, b
}

// sockets returns both ends of a real socket as Conns.
func sockets(t *testing.T, near, far ConnOptions) (*Conn, *Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	a, b := NewConn(accepted, near), NewConn(dialled, far)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestFramesArriveInOrder(t *testing.T) {
	a, b := sockets(t, ConnOptions{}, ConnOptions{})
	sizes := []int{0, 1, 100, coalesce - 5, coalesce, coalesce + 1, 3 * writeStep, 7, 20000, 50000, 50000, 2}
	go func() {
		for i := range 300 {
			body := bytes.Repeat([]byte{byte(i)}, sizes[i%len(sizes)])
			if err := a.Send(FrameType(i%3), body); err != nil {
				t.Errorf("frame %d: %v", i, err)
			}
		}
	}()
	for i := range 300 {
		f, err := b.Reader().ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{byte(i)}, sizes[i%len(sizes)]); f.Type != FrameType(i%3) || !bytes.Equal(f.Body, want) {
			t.Fatalf("frame %d: type %v, %d bytes, want %d", i, f.Type, len(f.Body), len(want))
		}
	}
}

func TestSendersDoNotMixTheirFrames(t *testing.T) {
	const senders, each = 8, 100
	a, b := sockets(t, ConnOptions{}, ConnOptions{})
	for s := range senders {
		go func() {
			for i := range each {
				body := binary.BigEndian.AppendUint16([]byte{byte(s)}, uint16(i))
				if err := a.Send(FrameBroadcast, append(body, make([]byte, 1000*s)...)); err != nil {
					t.Errorf("sender %d: %v", s, err)
				}
			}
		}()
	}
	next := [senders]int{}
	for range senders * each {
		f, err := b.Reader().ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		s := f.Body[0]
		if got := int(binary.BigEndian.Uint16(f.Body[1:])); got != next[s] || len(f.Body) != 3+1000*int(s) {
			t.Fatalf("sender %d: frame %d of %d bytes, want %d", s, got, len(f.Body), next[s])
		}
		next[s]++
	}
}

// TestR13_SlowReaderIsDroppedAtTheStatedLimit: one of several peers stops
// reading. The others get everything, the slow one is dropped when its lane is
// full, no call waits for it, and it can come back.
func TestR13_SlowReaderIsDroppedAtTheStatedLimit(t *testing.T) {
	const frames, size = 3000, 16 * kib
	var fast sync.WaitGroup
	var conns []*Conn
	for range 3 {
		a, b := sockets(t, ConnOptions{QueueFrames: 2 * frames}, ConnOptions{})
		conns = append(conns, a)
		fast.Go(func() {
			for i := range frames {
				f, err := b.Reader().ReadFrame()
				if err != nil || int(binary.BigEndian.Uint32(f.Body)) != i {
					t.Errorf("a fast peer at frame %d: %v", i, err)
					return
				}
			}
		})
	}
	slow, slowPeer := sockets(t, ConnOptions{}, ConnOptions{})
	var refused error
	sent := 0
	for i := range frames {
		body := binary.BigEndian.AppendUint32(make([]byte, 0, size), uint32(i))[:size] // shared by all
		for _, c := range conns {
			if err := c.Send(FrameRuntimeSync, body); err != nil {
				t.Fatalf("to a fast peer: %v", err)
			}
		}
		if refused == nil {
			if refused = slow.Send(FrameRuntimeSync, body); refused == nil {
				sent++
			}
		}
	}
	fast.Wait()
	if !errors.Is(refused, ErrSlowPeer) {
		t.Fatalf("the slow peer was told %v", refused)
	}
	if inSocket := sent - DefaultQueueFrames; inSocket < 0 || inSocket > 256 {
		t.Errorf("dropped after %d frames, want the lane of %d and what the socket takes", sent, DefaultQueueFrames)
	}
	<-slow.Done()
	if !errors.Is(slow.Err(), ErrSlowPeer) {
		t.Errorf("ended by %v", slow.Err())
	}
	if err := slow.Send(FrameControl, nil); !errors.Is(err, ErrSlowPeer) {
		t.Errorf("after the end: %v", err)
	}
	got := 0
	for err := error(nil); err == nil; got++ {
		_, err = slowPeer.Reader().ReadFrame()
	}
	if got > sent {
		t.Errorf("the slow peer read %d frames of %d", got, sent)
	}
	back, backPeer := sockets(t, ConnOptions{}, ConnOptions{})
	if err := back.Send(FrameControl, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if f, err := backPeer.Reader().ReadFrame(); err != nil || string(f.Body) != "{}" {
		t.Errorf("after coming back: %q, %v", f.Body, err)
	}
}

func TestR13_LaneOfBytesIsLimited(t *testing.T) {
	c, _ := pair(t, ConnOptions{QueueBytes: 1000})
	if err := c.Send(FrameRequest, make([]byte, 5000)); err != nil {
		t.Errorf("a single frame: %v", err)
	}
	if err := c.Send(FrameRequest, nil); !errors.Is(err, ErrSlowPeer) {
		t.Errorf("a second one: %v", err)
	}
	<-c.Done()
}

func TestPeerThatTakesNothingIsDroppedAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, ConnOptions{WriteTimeout: 10 * time.Second})
		start := time.Now()
		if err := c.Send(FrameControl, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if d := time.Since(start); d != 10*time.Second || !errors.Is(c.Err(), ErrSlowPeer) {
			t.Errorf("dropped after %v by %v", d, c.Err())
		}
	})
}

// A peer that reads a little at a time within the timeout is never dropped.
func TestPeerThatReadsSlowlyIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := pair(t, ConnOptions{WriteTimeout: 10 * time.Second})
		if err := c.Send(FrameNotebookSync, make([]byte, 3*writeStep)); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{writeStep, writeStep, writeStep, 5} {
			<-time.After(9 * time.Second) // of the bubble's clock
			if _, err := io.CopyN(io.Discard, peer, n); err != nil {
				t.Fatal(err)
			}
		}
		if c.Err() != nil {
			t.Error(c.Err())
		}
	})
}

func TestDroppableFramesAreDroppedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := pair(t, ConnOptions{QueueFrames: 8, QueueBytes: 4000, WriteTimeout: time.Hour})
		var got []string
		for i := range 6 {
			got = append(got, fmt.Sprint(c.SendDroppable(FramePresence, []byte{byte(i)})))
		}
		if want := "[true true false false false false]"; fmt.Sprint(got) != want {
			t.Errorf("taken: %v, want %s", got, want)
		}
		if err := c.Send(FrameControl, nil); err != nil {
			t.Errorf("a frame that is not droppable: %v", err)
		}
		r := NewReader(peer)
		for _, want := range []FrameType{FramePresence, FramePresence, FrameControl} {
			if f, err := r.ReadFrame(); err != nil || f.Type != want {
				t.Errorf("%v, %v, want %v", f.Type, err, want)
			}
		}
		synctest.Wait()
		if c.SendDroppable(FramePresence, make([]byte, 2000)) {
			t.Error("took a droppable frame of half the lane")
		}
		if c.SendDroppable(FramePresence, make([]byte, MaxPresence+1)) {
			t.Error("took a frame above its limit")
		}
		c.Close()
		if c.SendDroppable(FramePresence, nil) {
			t.Error("took a frame after the end")
		}
	})
}

func TestCloseAfterFlushWritesEverything(t *testing.T) {
	a, b := sockets(t, ConnOptions{}, ConnOptions{})
	const frames = 500
	for range frames {
		if err := a.Send(FrameNotebookSync, make([]byte, 4000)); err != nil {
			t.Fatal(err)
		}
	}
	flushed := make(chan error)
	for range 2 {
		go func() { flushed <- a.CloseAfterFlush(t.Context()) }()
	}
	for i := range frames {
		if f, err := b.Reader().ReadFrame(); err != nil || len(f.Body) != 4000 {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	if _, err := b.Reader().ReadFrame(); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
	for range 2 {
		if err := <-flushed; err != nil {
			t.Error(err)
		}
	}
	if err := a.Send(FrameControl, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

func TestCloseAfterFlushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, ConnOptions{WriteTimeout: time.Hour})
		if err := c.Send(FrameControl, nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.CloseAfterFlush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := c.Send(FrameControl, nil); err == nil {
			t.Error("took a frame after the end")
		}
	})
}

func TestCloseEndsWritesReadsAndFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, ConnOptions{WriteTimeout: time.Hour})
		if err := c.Send(FrameControl, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		read, flushed := make(chan error), make(chan error)
		go func() {
			_, err := c.Reader().ReadFrame()
			read <- err
		}()
		go func() { flushed <- c.CloseAfterFlush(t.Context()) }()
		synctest.Wait()
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(func() { c.Close() })
		}
		if err := <-read; err == nil {
			t.Error("the read went on")
		}
		if err := <-flushed; !errors.Is(err, ErrClosed) {
			t.Errorf("flushing: %v", err)
		}
		closers.Wait()
		if !errors.Is(c.Err(), ErrClosed) {
			t.Errorf("ended by %v", c.Err())
		}
	})
}

func TestPeerThatGoesAwayEndsTheConnection(t *testing.T) {
	a, b := sockets(t, ConnOptions{}, ConnOptions{})
	b.Close()
	if _, err := a.Reader().ReadFrame(); err != io.EOF {
		t.Errorf("reading: %v", err)
	}
	if err := a.Send(FrameControl, nil); err != nil {
		t.Error(err)
	}
	<-a.Done()
	if err := a.Err(); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("ended by %v", err)
	}
}

func TestSendChecksLimitsAndStaysUsable(t *testing.T) {
	a, b := sockets(t, ConnOptions{}, ConnOptions{})
	var limit *LimitError
	if err := a.Send(FramePresence, make([]byte, MaxPresence+1)); !errors.As(err, &limit) {
		t.Error(err)
	}
	if err := a.SendUntyped(nil); !errors.Is(err, ErrZeroLength) {
		t.Error(err)
	}
	if err := errors.Join(a.SendRaw(Preamble[:]), a.SendUntyped([]byte("hello")), a.Send(FrameControl, nil)); err != nil {
		t.Fatal(err)
	}
	if err := b.Reader().ReadPreamble(); err != nil {
		t.Error(err)
	}
	if got, err := b.Reader().ReadUntyped(MaxHandshake); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if f, err := b.Reader().ReadFrame(); err != nil || f.Type != FrameControl || len(f.Body) != 0 {
		t.Errorf("%v, %v", f, err)
	}
}

func BenchmarkSendAndReceive(b *testing.B) {
	x, y := net.Pipe()
	c := NewConn(x, ConnOptions{})
	defer c.Close()
	r := NewReader(y)
	body := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(FrameRuntimeSync, body); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadFrame(); err != nil {
			b.Fatal(err)
		}
	}
}
