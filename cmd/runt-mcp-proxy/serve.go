package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"runt/internal/buildinfo"
	"runt/internal/domain"
	"runt/internal/paths"
	"runt/internal/proxy"
	"runt/internal/proxy/core"
	"runt/internal/supervise"
	"runt/internal/toolspec"
)

const (
	logPrefix = "mcp-proxy-"
	logLimit  = 8 << 20            // bytes of each of a log's two files
	logAge    = 7 * 24 * time.Hour // after which logs of others are removed
	program   = "runt"
)

// serve speaks for the notebook server until the client is gone.
func serve(childArgs []string) (int, error) {
	out, err := takeStdout()
	if err != nil {
		return 1, fmt.Errorf("take stdout: %w", err)
	}
	ignoreBrokenPipes()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	log, logPath := openLog()
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})).With("pid", os.Getpid())
	logger.Info("proxy started", "version", buildinfo.Version(), "child_args", childArgs)
	status, err := proxy.OpenStatus(statusDir(), buildinfo.Version(), logPath, logger)
	if err != nil {
		logger.Warn("no status file is kept", "err", err)
	} else {
		defer status.Close() //nolint:errcheck // nobody is left to tell
	}
	code := proxy.Run(ctx, proxy.Options{
		Core: coreConfig(logPath), In: os.Stdin, Out: out, Environ: os.Environ(), ChildLog: log, Status: status, Logger: logger,
		Command: func() (string, []string, error) {
			path, err := proxy.Locate(program)
			return path, append([]string{"mcp"}, childArgs...), err
		},
	})
	logger.Info("proxy ended", "code", code)
	return code, nil
}

func coreConfig(logPath string) core.Config {
	ids := domain.RandomIDs{Rand: rand.Reader}
	return core.Config{
		Name: toolspec.ServerName, Version: buildinfo.Version(), Instructions: toolspec.Instructions(), Tools: toolspec.ListJSON(), Capabilities: toolspec.CapabilitiesJSON(),
		LogPath: logPath, Held: core.HeldFrom(os.Getenv(core.RejoinDefaultVar), os.Getenv(core.RejoinAllVar)),
		NewSession: ids.UUID, Rand: mrand.Float64,
	}
}

// takeStdout returns the stream to the client and makes everything else that is
// written to stdout, by whatever piece of this process, appear on stderr.
func takeStdout() (*os.File, error) {
	fd, err := dupAway(syscall.Stdout)
	if err != nil {
		return nil, err
	}
	if err := dupOnto(syscall.Stderr, syscall.Stdout); err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(fd), "client"), nil
}

// ignoreBrokenPipes makes writes to a client or child that is gone fail instead
// of ending the process. The signal is caught, not ignored, because children
// would inherit that it is ignored.
func ignoreBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// openLog returns where the log goes: a file, or stderr where none can be made.
// Fatal errors of the runtime go to the file too.
func openLog() (io.Writer, string) {
	dir := filepath.Join(paths.For("").State, "logs")
	now := time.Now()
	supervise.PruneLogs(dir, logPrefix, now.Add(-logAge))
	name := fmt.Sprintf("%s%s-%d.log", logPrefix, now.Format("20060102-150405"), os.Getpid())
	file, err := supervise.OpenLogFile(filepath.Join(dir, name), logLimit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runt-mcp-proxy: logging to stderr:", err)
		return os.Stderr, "stderr"
	}
	if err := debug.SetCrashOutput(file.File(), debug.CrashOptions{}); err != nil {
		fmt.Fprintln(file, "fatal errors are not logged:", err)
	}
	return file, file.Path()
}
