package journal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv/leak"
)

const childEnv = "RUNT_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := appendForEver(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leak.Main(m)
}

// appendForEver is the child: it appends numbered records, writes down each
// number that is durable, and compacts the journal now and then.
func appendForEver(path string) error {
	acknowledged := make(chan uint64, 1<<16)
	j, r, err := Open(path, Options{OnDurable: func(pos uint64) { acknowledged <- pos }})
	if err != nil {
		return err
	}
	next := 0
	if n := len(r.Records); n > 0 {
		next = last(r.Records[n-1]) + 1
	}
	fmt.Printf("start %d\n", next)
	numbers := map[uint64]int{}
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	told := uint64(0)
	for ; ; next++ {
		numbers[j.Append(Record{1, fmt.Appendf(nil, "%d %0*d", next, random.IntN(3000), 0)})] = next
		if random.IntN(20) == 0 {
			j.Rewrite([]Record{{2, fmt.Appendf(nil, "%d", next)}})
		}
		for told+50 < j.Durable() || len(acknowledged) > 0 {
			told = <-acknowledged
			if n, ok := numbers[told]; ok {
				fmt.Printf("durable %d\n", n)
			}
		}
		if len(numbers)%64 == 0 {
			if err := j.Wait(context.Background(), j.Append()); err != nil {
				return err
			}
		}
	}
}

// last returns the number of a record: with type 2 it stands for all up to it.
func last(r Record) int {
	n := 0
	_, _ = fmt.Sscanf(string(r.Data), "%d", &n)
	return n
}

// TestD01_Kill kills a process at random moments while it appends and
// compacts: everything that it was told is durable is there, once and in order.
func TestD01_Kill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	random := rand.New(rand.NewPCG(1, 2))
	durable, rounds := -1, 0
	for range 40 {
		durable = max(durable, killOnce(t, path, time.Duration(random.IntN(60))*time.Millisecond))
		c := mustRead(t, path)
		if c.corrupt() {
			t.Fatalf("round %d: damaged at %d", rounds, c.at)
		}
		expect := -1
		for i, r := range c.records {
			n := last(r)
			if i > 0 && n != expect {
				t.Fatalf("round %d: record %d is number %d, want %d", rounds, i, n, expect)
			}
			expect = n + 1
		}
		if expect <= durable {
			t.Fatalf("round %d: %d was durable, the journal ends before %d", rounds, durable, expect)
		}
		rounds++
	}
	if durable < 100 {
		t.Errorf("only %d records were written in %d rounds", durable, rounds)
	}
	t.Logf("%d records over %d kills", durable, rounds)
}

// killOnce lets the child append for a while, kills it, and returns the last number it reported.
func killOnce(t *testing.T, path string, after time.Duration) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	durable := -1
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the child said nothing")
	}
	timer := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(number); err == nil && word == "durable" {
			durable = n
		}
	}
	_ = child.Wait()
	return durable
}
