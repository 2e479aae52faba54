package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are what the command line says.
type options struct {
	bin    string
	python string
	rounds int
	gap    time.Duration
	peers  string
}

// section is a part of the report that can be asked for alone.
type section struct {
	name string
	run  func(context.Context, options, *report) error
}

var sections = []section{
	{"execute", benchExecute}, {"peers", benchPeers}, {"stages", benchStages}, {"edit", benchEdits}, {"lines", benchLines},
	{"start", benchStart}, {"tools", benchTools}, {"memory", benchMemory}, {"crowd", benchCrowd}, {"shared", benchShared},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	var only string
	var asJSON bool
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.bin, "bin", "bin", "folder of the programs")
	f.StringVar(&o.python, "python", "python3", "interpreter with ipykernel and jupyter_client")
	f.IntVar(&o.rounds, "n", 200, "rounds of what is quick")
	f.DurationVar(&o.gap, "gap", 15*time.Millisecond, "pause before every run")
	f.StringVar(&only, "only", "", "the sections to measure, with commas; all when empty")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "Usage: bench [FLAG]...\n\nSections: %s.\n\n", strings.Join(names(sections), ", "))
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("no argument is expected, got %q", f.Args())
	}
	if err := o.resolve(); err != nil {
		return err
	}
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	r := &report{}
	for _, s := range chosen {
		fmt.Fprintf(os.Stderr, "measuring %s\n", s.name)
		if err = s.run(ctx, o, r); err != nil {
			err = failed("section "+s.name, err)
			break
		}
	}
	r.note("%d processors, %s, load %s. ratio: median of the ratios round by round.", runtime.NumCPU(), runtime.Version(), load())
	if asJSON {
		return errors.Join(err, r.printJSON(os.Stdout))
	}
	return errors.Join(err, r.printTable(os.Stdout))
}

// resolve makes paths absolute, because the programs run in other folders.
func (o *options) resolve() error {
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	if o.python, err = exec.LookPath(o.python); err != nil {
		return fmt.Errorf("find Python: %w", err)
	}
	if o.python, err = filepath.Abs(o.python); err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("-n %d: want at least one round", o.rounds)
	}
	o.peers = os.Getenv("RUNT_PEERS")
	return nil
}

// warmup is how many rounds are not counted.
func (o options) warmup() int { return max(3, o.rounds/10) }

func (o options) startBed(ctx context.Context, more ...string) (*bed, error) {
	b, err := newBed(o.bin, o.python, more...)
	if err == nil {
		if err = b.start(ctx); err != nil {
			err = errors.Join(err, b.close())
		}
	}
	return b, err
}

func names(all []section) (list []string) {
	for _, s := range all {
		list = append(list, s.name)
	}
	return list
}

func choose(only string) ([]section, error) {
	if only == "" {
		return sections, nil
	}
	var chosen []section
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no section %q; the sections are %s", name, strings.Join(names(sections), ", "))
		}
		chosen = append(chosen, sections[i])
	}
	return chosen, nil
}

// load says how busy the machine is besides, where the system tells.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// closers are things to be ended, the last one first.
type closers struct{ all []func() error }

func (c *closers) add(f func() error) { c.all = append(c.all, f) }

// close ends everything and adds what goes wrong to err.
func (c *closers) close(err *error) {
	for _, f := range slices.Backward(c.all) {
		*err = errors.Join(*err, f())
	}
}
