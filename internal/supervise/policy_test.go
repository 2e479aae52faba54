package supervise

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	b := Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second}
	want := []int{100, 200, 400, 800, 1600, 2000, 2000}
	for i, ms := range want {
		if got := b.Next(); got != time.Duration(ms)*time.Millisecond {
			t.Errorf("pause %d: %v, want %d ms", i, got, ms)
		}
	}
	b.Reset()
	if got := b.Next(); got != b.Min {
		t.Errorf("after Reset: %v", got)
	}
}

func TestBackoffJitterStaysInItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		b := Backoff{Min: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2, Rand: rng.Float64}
		if got := b.Next(); got < 80*time.Millisecond || got > 120*time.Millisecond {
			t.Fatalf("pause %v", got)
		}
	}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func newBreaker() *Breaker {
	return &Breaker{Limit: 5, Window: 30 * time.Second, Cooldown: time.Minute}
}

func TestP05_BreakerOpensAtTheFifthCrashAndLetsOneStartThroughAfterAMinute(t *testing.T) {
	b := newBreaker()
	for i := range 4 {
		if b.Crash(at(float64(i))) {
			t.Fatalf("open after %d crashes", i+1)
		}
	}
	if !b.Start(at(4)) || !b.Crash(at(4)) {
		t.Fatal("not open after the fifth crash")
	}
	if b.Start(at(5)) || b.Start(at(63.9)) {
		t.Error("a start sneaked through")
	}
	if got := b.Left(at(24)); got != 40*time.Second {
		t.Errorf("left %v, want 40s", got)
	}
	if b.State(at(64)) != BreakerHalfOpen || !b.Start(at(64)) || b.Start(at(64)) || b.Start(at(70)) {
		t.Error("half-open must let exactly one start through")
	}
	if !b.Crash(at(71)) || b.Left(at(71)) != time.Minute {
		t.Error("the crash of the trial must open it again at once")
	}
	if !b.Start(at(131)) {
		t.Error("no second trial")
	}
	b.Success()
	if b.State(at(132)) != BreakerClosed || !b.Start(at(132)) || b.Recent(at(132)) != 0 {
		t.Error("success must close it and forgive")
	}
}

func TestBreakerForgetsCrashesOutsideItsWindow(t *testing.T) {
	b := newBreaker()
	for i := range 20 {
		if b.Crash(at(float64(i) * 7.5)) {
			t.Fatalf("one crash every 7.5 s opened it at the %d.", i+1)
		}
	}
	if got := b.Recent(at(19 * 7.5)); got != 4 {
		t.Errorf("recent %d, want 4", got)
	}
}

func TestBreakerGivesATrialBackWhenTheChildIsReplaced(t *testing.T) {
	b := newBreaker()
	for range 5 {
		b.Crash(at(0))
	}
	if !b.Start(at(60)) {
		t.Fatal("no trial")
	}
	b.Replace()
	if !b.Start(at(61)) || b.Start(at(61)) {
		t.Error("the successor must get the one trial")
	}
}

func TestExitClasses(t *testing.T) {
	tests := []struct {
		exit Exit
		want ExitClass
		text string
	}{
		{Exit{Code: 0}, ExitClean, "exit code 0"},
		{Exit{Code: 75}, ExitUpgrade, "exit code 75"},
		{Exit{Code: 1}, ExitCrash, "exit code 1"},
		{Exit{Code: 2}, ExitCrash, "exit code 2"},
		{Exit{Code: -1, Signal: syscall.SIGKILL}, ExitCrash, "signal 9 (killed)"},
		{Exit{Code: -1, Ending: EndedUnreapable}, ExitCrash, "still there after SIGKILL"},
	}
	for _, tt := range tests {
		if got := tt.exit.Class(); got != tt.want || tt.exit.String() != tt.text {
			t.Errorf("%v is %v, want %v (%s)", tt.exit, got, tt.want, tt.text)
		}
	}
}
