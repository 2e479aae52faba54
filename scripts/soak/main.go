// Command soak is what `make soak` runs: an agent that works through the real
// proxy while the session layer is killed every few seconds and the daemon now
// and then. It reports what was asked, answered, refused and done twice, and what
// the longest waits were made of. It fails when a call was refused or lost, or
// when something was done twice or not at all.
//
// With -chaos it is what `make chaos` runs: two agents edit, run and save two
// notebooks while daemon, session layers and kernel hosts are killed at random;
// then it proves that all that was acknowledged is there once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shown is how many faults are printed.
const shown = 20

// options are the flags.
type options struct {
	bin      string
	python   string
	duration time.Duration
	child    time.Duration
	daemon   time.Duration
	pace     time.Duration
	keep     bool
	chaos    bool
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder of the programs")
	flag.StringVar(&o.python, "python", "", "folder of a Python with ipykernel; default: what a notebook finds by itself")
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "how long the agent works")
	flag.DurationVar(&o.child, "child", 5*time.Second, "pause between kills of the session layer; 0 for none")
	flag.DurationVar(&o.daemon, "daemon", 30*time.Second, "pause between kills of the daemon; 0 for none")
	flag.DurationVar(&o.pace, "pace", 100*time.Millisecond, "pause between two calls of each of the agent's three hands")
	flag.BoolVar(&o.keep, "keep", false, "keep the folder with logs and notebooks")
	flag.BoolVar(&o.chaos, "chaos", false, "two agents, kills at random, and a proof that nothing was lost")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	play := run
	if o.chaos {
		play = runChaos
	}
	err := play(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// run prepares, lets the agent and the killer work, and judges.
func run(ctx context.Context, o options) (err error) {
	s, err := prepare(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(context.WithoutCancel(ctx))) }()
	a, err := start(s)
	if err != nil {
		return err
	}
	w := &work{s: s, a: a, log: &diary{began: time.Now()}, pace: o.pace}
	if err := w.begin(ctx); err != nil {
		return errors.Join(err, a.close())
	}
	fmt.Printf("%v of work; the session layer is killed every %v, the daemon every %v; folder %s\n", o.duration, o.child, o.daemon, s.dir)
	working, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		(&killer{s: s, proxy: a.pid(), log: w.log}).run(working, o.child, o.daemon)
	}()
	w.run(working)
	<-killed
	faults := w.judge(context.WithoutCancel(ctx))
	faults = append(faults, a.faults()...)
	w.log.report(os.Stdout, a, s)
	if err := a.close(); err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults[:min(shown, len(faults))] {
		fmt.Println("FAULT:", f)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d faults", len(faults))
	}
	return nil
}
