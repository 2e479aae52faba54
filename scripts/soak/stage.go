package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
)

// endLimit bounds the end of the notebooks and the daemon.
const endLimit = time.Minute

// stage is where the soak takes place: a folder with a socket, a home and notebooks of its own.
type stage struct {
	bin, dir, socket, counter string
	env                       []string
	keep                      bool
}

func prepare(o options) (*stage, error) {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "soak")
	if err != nil {
		return nil, err
	}
	s := &stage{bin: bin, dir: dir, socket: filepath.Join(dir, "s"), counter: filepath.Join(dir, "counter"), keep: o.keep}
	for _, sub := range []string{"home", "state", "cache", "work"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	s.env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "RUNTIMED_SOCKET_PATH="+s.socket, "RUNT_STATE_DIR="+filepath.Join(dir, "state"),
		"XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	if o.python != "" {
		s.env = append(s.env, "VIRTUAL_ENV="+filepath.Dir(o.python), "PATH="+o.python+":"+os.Getenv("PATH"))
	}
	return s, nil
}

// program is one of the programs, to be run in the notebooks' folder.
func (s *stage) program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Env, cmd.Dir = s.env, filepath.Join(s.dir, "work")
	return cmd
}

// end ends notebooks, kernels and daemon, and removes the folder.
func (s *stage) end(ctx context.Context) error {
	return errors.Join(s.stop(ctx), s.remove())
}

// stop ends notebooks, kernels and daemon.
func (s *stage) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	var errs []error
	for _, args := range [][]string{{"runt", "daemon", "start"}, {"notebooks"}, {"runt", "daemon", "stop"}} {
		if args[0] == "notebooks" {
			errs = append(errs, s.endNotebooks(ctx))
			continue
		}
		if out, err := s.program(ctx, args...).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out))
		}
	}
	return errors.Join(errs...)
}

// remove removes the folder, unless it is to be kept.
func (s *stage) remove() error {
	if s.keep {
		fmt.Println("kept:", s.dir)
		return nil
	}
	return os.RemoveAll(s.dir)
}

func (s *stage) endNotebooks(ctx context.Context) error {
	rooms, err := client.ListRooms(ctx, s.socket)
	if err != nil {
		return fmt.Errorf("list notebooks: %w", err)
	}
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(ctx, s.socket, domain.NotebookID(r.NotebookID)); err != nil {
			return fmt.Errorf("end notebook %s: %w", r.NotebookID, err)
		}
	}
	return nil
}
