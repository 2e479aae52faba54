package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/zmtp"
)

// raw is a kernel without a host: what the kernel itself takes is measured with it.
type raw struct {
	codec        *jmsg.Codec
	shell, iopub *zmtp.Conn
	n            int
}

func startRaw(b *testing.B) *raw {
	b.Helper()
	dir := newDir(b)
	file := filepath.Join(dir, "kernel.json")
	content := fmt.Sprintf(`{"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5,"ip":"%s/k","key":"k","transport":"ipc","signature_scheme":"hmac-sha256"}`, dir)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	argv := pythonSpec(b).Argv
	argv[len(argv)-1] = file
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	codec, err := jmsg.NewCodec("hmac-sha256", "k")
	if err != nil {
		b.Fatal(err)
	}
	r := &raw{codec: codec, iopub: dialRaw(b, dir+"/k-2", zmtp.Sub), shell: dialRaw(b, dir+"/k-1", zmtp.Dealer)}
	if err := r.iopub.Subscribe(""); err != nil {
		b.Fatal(err)
	}
	return r
}

func dialRaw(b *testing.B, path string, kind zmtp.SocketType) *zmtp.Conn {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for {
		c, err := zmtp.Dial(ctx, "ipc://"+path, zmtp.Options{Type: kind, Identity: []byte("bench")})
		if err == nil {
			return c
		}
		if ctx.Err() != nil {
			b.Fatal(err)
		}
	}
}

func (r *raw) execute(b *testing.B, code string) {
	b.Helper()
	r.n++
	id := fmt.Sprintf("raw-%d", r.n)
	content, _ := json.Marshal(map[string]any{"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": false})
	parts, err := r.codec.Encode(jmsg.Message{Content: content, Header: jmsg.Header{ID: id, Session: "s", Type: "execute_request", Version: jmsg.ProtocolVersion}})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.shell.Send(parts...); err != nil {
		b.Fatal(err)
	}
	r.until(b, r.shell, id, "execute_reply", "")
	r.until(b, r.iopub, id, "status", "idle")
}

func (r *raw) until(b *testing.B, c *zmtp.Conn, id, typ, state string) {
	b.Helper()
	for {
		parts, err := c.Recv()
		if err != nil {
			b.Fatal(err)
		}
		m, err := r.codec.Decode(parts)
		if err != nil {
			b.Fatal(err)
		}
		var s struct {
			State string `json:"execution_state"`
		}
		if m.Parent.ID == id && m.Header.Type == typ && json.Unmarshal(m.Content, &s) == nil && s.State == state {
			return
		}
	}
}

// BenchmarkRoundTrip runs 1+1 on a kernel alone and through a host, in turns, and
// reports the medians: go test -bench RoundTrip -benchtime 200x.
func BenchmarkRoundTrip(b *testing.B) {
	r := startRaw(b)
	h, err := StartHost(b.Context(), HostConfig{Dir: newDir(b), Command: command(b), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, pythonSpec(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			b.Error(err)
		}
		_ = h.Close()
	})
	through := func() {
		id := newID()
		if err := h.Execute(Execute{ID: id, Code: "1+1", StoreHistory: true}); err != nil {
			b.Fatal(err)
		}
		for e := range h.Events() {
			h.Ack(e.Seq)
			if e.Kind == EventDone && e.ExecutionID == id {
				return
			}
		}
	}
	for range 20 {
		r.execute(b, "1+1")
		through()
	}
	var alone, hosted []time.Duration
	for b.Loop() {
		t0 := time.Now()
		r.execute(b, "1+1")
		t1 := time.Now()
		through()
		alone, hosted = append(alone, t1.Sub(t0)), append(hosted, time.Since(t1))
	}
	slices.Sort(alone)
	slices.Sort(hosted)
	micros := func(d []time.Duration, q float64) float64 {
		return float64(d[int(q*float64(len(d)-1))].Microseconds())
	}
	b.ReportMetric(micros(alone, 0.5), "raw-p50-us")
	b.ReportMetric(micros(hosted, 0.5), "host-p50-us")
	b.ReportMetric(micros(alone, 0.95), "raw-p95-us")
	b.ReportMetric(micros(hosted, 0.95), "host-p95-us")
}
