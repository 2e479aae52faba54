package main

import (
	"context"
	"path/filepath"
	"syscall"
	"time"

	"runt/internal/client"
	"runt/internal/proxy"
)

// look is how often the killer looks whether what it killed is back.
const look = 10 * time.Millisecond

// killer kills the session layer and the daemon, each in its rhythm, and notes
// when they are back.
type killer struct {
	s     *stage
	proxy int
	log   *diary
}

func (k *killer) run(ctx context.Context, child, daemon time.Duration) {
	children, daemons := ticks(child), ticks(daemon)
	defer children.stop()
	defer daemons.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-daemons.c:
			k.killDaemon(ctx)
		case <-children.c:
			k.killChild()
		}
	}
}

// pulse ticks, or never does.
type pulse struct {
	c    <-chan time.Time
	stop func()
}

func ticks(every time.Duration) pulse {
	if every <= 0 {
		return pulse{nil, func() {}}
	}
	t := time.NewTicker(every)
	return pulse{t.C, t.Stop}
}

func (k *killer) killChild() {
	r, ok := k.s.status(k.proxy)
	if !ok || r.Child.PID == 0 {
		k.log.note("no session layer to kill")
		return
	}
	if err := syscall.Kill(r.Child.PID, syscall.SIGKILL); err != nil {
		k.log.note("the session layer was gone already")
		return
	}
	k.log.killed(sessionLayer)
}

func (k *killer) killDaemon(ctx context.Context) {
	info, err := client.DaemonInfo(ctx, k.s.socket)
	if err != nil || syscall.Kill(info.PID, syscall.SIGKILL) != nil {
		k.log.note("no daemon to kill")
		return
	}
	k.log.killed(daemonName)
	killed := time.Now()
	for tick := ticks(look); ; {
		select {
		case <-ctx.Done():
			tick.stop()
			return
		case <-tick.c:
		}
		now, err := client.DaemonInfo(ctx, k.s.socket)
		if err == nil && now.PID != info.PID {
			tick.stop()
			k.log.back(time.Since(killed), now.StartedAt.Sub(killed))
			return
		}
	}
}

// status is what a proxy says of itself.
func (s *stage) status(pid int) (proxy.Report, bool) {
	reports, err := proxy.Reports(filepath.Join(s.dir, "state", "proxies"))
	if err != nil {
		return proxy.Report{}, false
	}
	for _, r := range reports {
		if r.PID == pid {
			return r, true
		}
	}
	return proxy.Report{}, false
}
