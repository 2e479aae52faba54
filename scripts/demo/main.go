// Command demo is what `make run` runs: an MCP client that opens a notebook
// through the real proxy, session layer, daemon and kernel, works on it, kills
// two of the programs on the way, and prints what it asked and what it got.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionLimit bounds the whole session; a first run may have to make a Python environment.
const sessionLimit = 10 * time.Minute

func main() {
	bin := flag.String("bin", "bin", "folder of the programs")
	notebook := flag.String("notebook", "examples/tides.ipynb", "notebook to work on a copy of")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), sessionLimit)
	defer cancel()
	if err := run(ctx, *bin, *notebook); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		cancel()
		os.Exit(1)
	}
}

// stage is where the demo takes place: folders of its own beside the programs.
type stage struct {
	bin, dir, notebook, state string
	env                       []string
}

func prepare(bin, notebook string) (stage, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return stage{}, err
	}
	s := stage{bin: abs, dir: filepath.Join(abs, "demo")}
	if s.state, err = os.MkdirTemp("", "runt-demo-"); err != nil {
		return stage{}, err
	}
	s.notebook = filepath.Join(s.dir, filepath.Base(notebook))
	content, err := os.ReadFile(notebook)
	if err == nil {
		err = os.MkdirAll(s.dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(s.notebook, content, 0o644)
	}
	s.env = append(os.Environ(), "RUNTIMED_SOCKET_PATH="+filepath.Join(s.state, "s"), "RUNT_STATE_DIR="+filepath.Join(s.state, "state"))
	return s, err
}

// program runs one of the programs to its end.
func (s stage) program(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, args[0]), args[1:]...)
	cmd.Env, cmd.Dir = s.env, s.dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func run(ctx context.Context, bin, notebook string) (err error) {
	s, err := prepare(bin, notebook)
	if err != nil {
		return err
	}
	defer func() {
		out, stopErr := s.program(context.WithoutCancel(ctx), "runt", "stop", s.notebook)
		say("$ runt stop", s.notebook+"\n"+out)
		out, daemonErr := s.program(context.WithoutCancel(ctx), "runt", "daemon", "stop")
		say("$ runt daemon stop", out)
		err = errors.Join(err, stopErr, daemonErr, os.RemoveAll(s.state))
	}()
	proxy := exec.CommandContext(ctx, filepath.Join(s.bin, "runt-mcp-proxy"))
	proxy.Env, proxy.Dir = s.env, s.dir
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: proxy}, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	a := &agent{ctx: ctx, session: session, dir: s.dir}
	err = a.work(s, proxy.Process.Pid)
	return errors.Join(err, session.Close())
}

// agent calls tools and prints what it sees.
type agent struct {
	ctx     context.Context
	session *mcp.ClientSession
	dir     string
	images  int
}

func say(what, text string) {
	fmt.Printf("\n\033[1m%s\033[0m\n", what)
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fmt.Println("  " + line)
	}
}

// call runs a tool; a result that says it failed is an error.
func (a *agent) call(tool string, args map[string]any) (string, error) {
	shown, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	began := time.Now()
	res, err := a.session.CallTool(a.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("%s: %w", tool, err)
	}
	var text []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			text = append(text, c.Text)
		case *mcp.ImageContent:
			text = append(text, a.keep(c))
		}
	}
	all := strings.Join(text, "\n")
	say(fmt.Sprintf("agent: %s %s", tool, shown), fmt.Sprintf("%s\n(%d ms)", all, time.Since(began).Milliseconds()))
	if res.IsError {
		return all, fmt.Errorf("%s failed: %s", tool, all)
	}
	return all, nil
}

// keep writes an image beside the notebook and says where.
func (a *agent) keep(c *mcp.ImageContent) string {
	a.images++
	name := filepath.Join(a.dir, fmt.Sprintf("image-%d.%s", a.images, strings.TrimPrefix(c.MIMEType, "image/")))
	if err := os.WriteFile(name, c.Data, 0o644); err != nil {
		return fmt.Sprintf("[%s that could not be written: %v]", c.MIMEType, err)
	}
	return fmt.Sprintf("[%s, %d bytes as base64, written to %s]", c.MIMEType, base64.StdEncoding.EncodedLen(len(c.Data)), name)
}

func (a *agent) work(s stage, proxy int) error {
	tools, err := a.session.ListTools(a.ctx, nil)
	if err != nil {
		return err
	}
	say("agent: tools/list", fmt.Sprintf("%d tools", len(tools.Tools)))
	steps := []func() error{
		func() error { return a.calls("connect_notebook", map[string]any{"path": s.notebook}) },
		func() error { return a.calls("run_all_cells", map[string]any{"timeout_secs": 120}) },
		func() error { return a.calls("get_cell", map[string]any{"cell_id": "turns"}) },
		func() error { return a.calls("get_cell", map[string]any{"cell_id": "plot"}) },
		func() error { return a.calls("get_cell", map[string]any{"cell_id": "error"}) },
		func() error {
			return a.calls("set_cell", map[string]any{"cell_id": "answer", "source": "next_high_water(after=12, above=4.5)", "and_run": true})
		},
		func() error { return a.calls("save_notebook", map[string]any{}) },
		func() error { return a.surviveChild(proxy) },
		func() error { return a.surviveDaemon(s) },
		func() error { return a.calls("save_notebook", map[string]any{}) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	say("proxy", fmt.Sprintf("pid %d, the same from the first call to the last", proxy))
	return nil
}

func (a *agent) calls(tool string, args map[string]any) error {
	_, err := a.call(tool, args)
	return err
}

// surviveChild kills the session layer under the agent.
func (a *agent) surviveChild(proxy int) error {
	if _, err := a.call("create_cell", map[string]any{"source": "kept = 42\nprint('kept is', kept)", "and_run": true}); err != nil {
		return err
	}
	child, err := childOf(proxy)
	if err != nil {
		return err
	}
	if err := kill(child, "the session layer (runt mcp)"); err != nil {
		return err
	}
	text, err := a.call("create_cell", map[string]any{"source": "print('after the session layer died, kept is', kept)", "and_run": true})
	if err == nil && !strings.Contains(text, "kept is 42") {
		err = errors.New("the variable is gone")
	}
	return err
}

// surviveDaemon kills the daemon while a cell is printing.
func (a *agent) surviveDaemon(s stage) error {
	out, err := s.program(a.ctx, "runt", "daemon", "status", "--json")
	if err != nil {
		return fmt.Errorf("daemon status: %w", err)
	}
	var status struct{ PID int }
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		return err
	}
	text, err := a.call("create_cell", map[string]any{"source": "import time\nfor i in range(20):\n    print('line', i)\n    time.sleep(0.1)\nkept += 1", "and_run": true, "timeout_secs": 0})
	if err != nil {
		return err
	}
	id := executionID(text)
	if err := kill(status.PID, "the daemon (runtimed), while the cell prints"); err != nil {
		return err
	}
	text, err = a.call("get_results", map[string]any{"execution_id": id, "wait_secs": 30})
	if err != nil {
		return err
	}
	for i := range 20 {
		if strings.Count(text+"\n", fmt.Sprintf("line %d\n", i)) != 1 {
			return fmt.Errorf("line %d is not there exactly once", i)
		}
	}
	text, err = a.call("create_cell", map[string]any{"source": "print('after the daemon died, kept is', kept)", "and_run": true})
	if err == nil && !strings.Contains(text, "kept is 43") {
		err = errors.New("the variable is gone")
	}
	return err
}

func kill(pid int, who string) error {
	say("kill -9 "+strconv.Itoa(pid), who)
	return syscall.Kill(pid, syscall.SIGKILL)
}

var uuid = regexp.MustCompile(`execution ([0-9a-f]{8}-[0-9a-f-]{27})`)

// executionID finds the execution that a result names.
func executionID(text string) string {
	if m := uuid.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// childOf returns the process that a process has started: from /proc, or from ps where there is none.
func childOf(pid int) (int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if f := strings.Fields(string(b)); err == nil && len(f) > 0 {
			return strconv.Atoi(f[0])
		}
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Fields(line)
		if len(f) == 2 && f[1] == strconv.Itoa(pid) {
			return strconv.Atoi(f[0])
		}
	}
	return 0, fmt.Errorf("process %d has no child", pid)
}
