// Package doctor looks for what keeps runt from working: stale sockets, kernel
// hosts that nobody owns, journals that cannot be read, proxies whose notebook server
// crashes, missing interpreters. It changes nothing and says of everything it finds what to do.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"runt/internal/client"
	"runt/internal/env"
	"runt/internal/journal"
	"runt/internal/kernel"
	"runt/internal/kernel/proc"
	"runt/internal/paths"
)

// Status is how a finding is meant.
type Status string

// The statuses of a finding.
const (
	OK      Status = "ok"
	Warning Status = "warning" // works, but somebody should look
	Failure Status = "failure" // something will not work
)

// Finding is one thing that was looked at.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// Options says where to look.
type Options struct {
	Places paths.Places
	Hosts  string // folder of the kernel hosts
	Dir    string // folder whose environment is looked at
	Env    *env.Resolver
}

const askTimeout = 3 * time.Second

// Examine makes all checks, in the order in which a person would fix them.
func Examine(ctx context.Context, o Options) []Finding {
	var out []Finding
	for _, check := range []func(context.Context, Options) []Finding{folders, daemon, hosts, journals, proxies, python, uv} {
		out = append(out, check(ctx, o)...)
	}
	return out
}

// Worst returns the worst status among the findings.
func Worst(findings []Finding) Status {
	worst := OK
	for _, f := range findings {
		if f.Status == Failure || f.Status == Warning && worst == OK {
			worst = f.Status
		}
	}
	return worst
}

func folders(_ context.Context, o Options) []Finding {
	var out []Finding
	for _, dir := range []string{o.Places.State, o.Places.Cache, filepath.Dir(o.Places.Socket)} {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			out = append(out, Finding{"folders", OK, dir + " is not there yet; it is made by need.", ""})
		case err != nil:
			out = append(out, Finding{"folders", Failure, fmt.Sprintf("%s cannot be looked at: %v", dir, err), "Check its permissions."})
		case !info.IsDir():
			out = append(out, Finding{"folders", Failure, dir + " is no folder.", "Remove it, or set another place."})
		case syscall.Access(dir, 2) != nil:
			out = append(out, Finding{"folders", Failure, dir + " cannot be written.", "Run chmod u+rwx " + dir + "."})
		}
	}
	return out
}

func daemon(ctx context.Context, o Options) []Finding {
	socket := o.Places.Socket
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := client.DaemonInfo(ctx, socket)
	if err == nil {
		name := info.DaemonVersion
		if info.Runt != nil {
			name = info.Runt.Version
		}
		return []Finding{{"daemon", OK, fmt.Sprintf("A daemon %s runs with pid %d on %s.", name, info.PID, socket), ""}}
	}
	held := lockHeld(socket + ".lock")
	_, statErr := os.Stat(socket)
	switch {
	case held:
		return []Finding{{"daemon", Failure, fmt.Sprintf("A daemon holds %s but does not answer: %v", socket, err),
			"Look into " + o.Places.LogFile() + "; end the process named in " + socket + ".lock if it hangs."}}
	case statErr == nil && !listens(socket):
		return []Finding{{"socket", Warning, socket + " is left over from a daemon that is gone.", "Nothing to do: the next daemon replaces it. Start one with runt daemon start."}}
	}
	return []Finding{{"daemon", OK, "No daemon runs on " + socket + "; one is started by need.", ""}}
}

func listens(socket string) bool {
	c, err := net.DialTimeout("unix", socket, askTimeout)
	if err != nil {
		return false
	}
	_ = c.Close() // it was only a question
	return true
}

func lockHeld(lock string) bool {
	f, err := os.Open(lock)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // gives the lock back
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func hosts(_ context.Context, o Options) []Finding {
	dirs, err := filepath.Glob(filepath.Join(o.Hosts, "*"))
	if err != nil {
		return []Finding{{"kernel hosts", Failure, fmt.Sprintf("%s cannot be listed: %v", o.Hosts, err), "Check its permissions."}}
	}
	var out []Finding
	running := 0
	for _, dir := range dirs {
		m, err := kernel.ReadManifest(dir)
		if err != nil {
			out = append(out, Finding{"kernel hosts", Warning, dir + " has no kernel host.", "Nothing to do: the next daemon removes it."})
			continue
		}
		_, kept := os.Stat(filepath.Join(o.Places.State, "rooms", m.RoomID, "journal"))
		switch {
		case !proc.Alive(m.PID, m.Start):
			out = append(out, Finding{"kernel hosts", Warning, fmt.Sprintf("The kernel host of notebook %s is gone.", m.RoomID), "Nothing to do: the next daemon cleans up " + dir + "."})
		case kept != nil:
			out = append(out, Finding{"kernel hosts", Warning, fmt.Sprintf("Kernel host %d belongs to notebook %s, which is not kept.", m.PID, m.RoomID),
				"The next daemon ends it; or end it with kill " + fmt.Sprint(m.PID) + "."})
		default:
			running++
		}
	}
	return append(out, Finding{"kernel hosts", OK, fmt.Sprintf("%d kernels run.", running), ""})
}

func journals(_ context.Context, o Options) []Finding {
	files, err := filepath.Glob(filepath.Join(o.Places.State, "rooms", "*", "journal"))
	if err != nil {
		return []Finding{{"journals", Failure, err.Error(), ""}}
	}
	var out []Finding
	good := 0
	for _, file := range files {
		id := filepath.Base(filepath.Dir(file))
		r, err := journal.Check(file)
		switch {
		case err != nil:
			out = append(out, Finding{"journals", Failure, fmt.Sprintf("The journal of notebook %s cannot be read: %v", id, err), "It is left as it is; keep a copy of " + filepath.Dir(file) + " and report it."})
		case r.Corrupt != "":
			out = append(out, Finding{"journals", Warning, fmt.Sprintf("Notebook %s: %s", id, r.Corrupt), "Open it: what can be read is recovered, and the damaged file is kept beside it."})
		default:
			good++
		}
	}
	return append(out, Finding{"journals", OK, fmt.Sprintf("%d notebooks are kept in journals.", good), ""})
}

func python(ctx context.Context, o Options) []Finding {
	found, err := o.Env.Interpreters(ctx, o.Dir)
	if err != nil {
		return []Finding{{"python", Failure, fmt.Sprintf("Interpreters cannot be listed: %v", err), ""}}
	}
	var out []Finding
	ready := 0
	for _, i := range found {
		switch {
		case i.Problem != "":
			out = append(out, Finding{"python", Warning, fmt.Sprintf("%s cannot be used: %s", i.Path, i.Problem), "Repair or remove that environment."})
		case i.IPykernel:
			ready++
			out = append(out, Finding{"python", OK, fmt.Sprintf("%s (Python %s) can run notebooks.", i.Path, i.Version), ""})
		default:
			out = append(out, Finding{"python", OK, fmt.Sprintf("%s (Python %s) has no ipykernel.", i.Path, i.Version), "To use it: " + i.Path + " -m pip install ipykernel"})
		}
	}
	if ready == 0 {
		out = append(out, Finding{"python", Warning, "No Python here has ipykernel.", "Nothing to do: a private environment is made at the first notebook, from the package registry."})
	}
	return out
}

func uv(_ context.Context, _ Options) []Finding {
	if path, err := exec.LookPath("uv"); err == nil {
		return []Finding{{"uv", OK, "uv is " + path + ".", ""}}
	}
	return []Finding{{"uv", OK, "uv is not on PATH; it is installed privately when an environment has to be made.", ""}}
}
