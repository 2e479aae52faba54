package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"runt/internal/kernel/link"
)

const (
	hostName   = "kernel host"
	leastPause = time.Second // between two kills
	morePause  = 4 * time.Second
	hostShare  = 10 // of a hundred kills
	daemonPart = 45
	goneLimit  = 20 * time.Second // until everything must have ended
)

// kill kills at random, until ctx ends.
func (c *chaos) kill(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(leastPause + rand.N(morePause)):
		}
		k := &killer{s: c.s, proxy: c.agents[rand.IntN(len(c.agents))].pid(), log: c.log}
		switch p := rand.IntN(100); {
		case p < hostShare:
			c.killHost()
		case p < hostShare+daemonPart:
			k.killDaemon(ctx)
		default:
			k.killChild()
		}
	}
}

// killHost kills the host of a kernel, not the kernel.
func (c *chaos) killHost() {
	var hosts []process
	for _, p := range c.s.processes() {
		if len(p.args) > 2 && p.args[1] == "kernel-host" {
			hosts = append(hosts, p)
		}
	}
	if len(hosts) == 0 {
		c.log.note("no kernel host to kill")
		return
	}
	p := hosts[rand.IntN(len(hosts))]
	m, err := link.ReadManifest(p.args[2])
	if err != nil || syscall.Kill(p.pid, syscall.SIGKILL) != nil {
		c.log.note("the kernel host was gone already")
		return
	}
	c.log.killed(hostName)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = append(c.hosts, hostKill{m.RoomID, time.Now()})
}

// process is a running process of a stage.
type process struct {
	pid  int
	args []string
}

// processes finds the stage's processes by their environment, where the system
// shows that in /proc.
func (s *stage) processes() []process {
	var found []process
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), "RUNTIMED_SOCKET_PATH="+s.socket+"\x00") {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, convErr := strconv.Atoi(filepath.Base(dir))
		if err != nil || convErr != nil || len(line) == 0 { // a zombie has no command line
			continue
		}
		found = append(found, process{pid, strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")})
	}
	return found
}

// leftOver waits for the end of the stage's processes, and returns those that
// stay and the sockets that do. It ends such processes.
func (s *stage) leftOver(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, goneLimit)
	defer cancel()
	for len(s.processes()) > 0 && ctx.Err() == nil {
		time.Sleep(look)
	}
	var left []string
	for _, p := range s.processes() {
		left = append(left, fmt.Sprintf("process %d %s", p.pid, strings.Join(p.args, " ")))
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&fs.ModeSocket != 0 {
			left = append(left, "socket "+path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		left = append(left, err.Error())
	}
	return left
}
