// Package trace notes when an execution passes a place, in whatever process it
// is, so that it can be seen where its time goes. It is off unless EnvDir names
// a folder, and then costs a system call per mark; off, it costs a load.
//
// Every process appends lines "nanoseconds point subject" to a file of its own
// in that folder. The clock is that of the machine, so that the lines of
// several processes can be put in order. Mark may be called by any number of
// goroutines and never fails: what cannot be written is lost.
package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// EnvDir names the environment variable with the folder.
const EnvDir = "RUNT_TRACE_DIR"

// Suffix is how the names of the files end.
const Suffix = ".trace"

// out is where marks go; nil when there is no trace. It stays open until the process ends.
var out atomic.Pointer[os.File]

func init() {
	if dir := os.Getenv(EnvDir); dir != "" {
		if err := To(dir); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", EnvDir, err)
		}
	}
}

// To begins to trace this process into a file of its own in dir.
func To(dir string) error {
	name := fmt.Sprintf("%s-%d%s", filepath.Base(os.Args[0]), os.Getpid(), Suffix)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open trace: %w", err)
	}
	if old := out.Swap(f); old != nil {
		return old.Close()
	}
	return nil
}

// Off ends the trace of this process.
func Off() error {
	if f := out.Swap(nil); f != nil {
		return f.Close()
	}
	return nil
}

// Mark notes that subject, such as the id of an execution, passes a point now.
// Neither may hold spaces.
func Mark(point, subject string) {
	if f := out.Load(); f != nil {
		write(f, point, subject)
	}
}

func write(f *os.File, point, subject string) {
	b := make([]byte, 0, 96)
	b = strconv.AppendInt(b, time.Now().UnixNano(), 10)
	b = append(b, ' ')
	b = append(b, point...)
	b = append(b, ' ')
	b = append(b, subject...)
	_, _ = f.Write(append(b, '\n'))
}
