package proxytest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"runt/internal/domain"
	"runt/internal/proxy/rpcline"
)

// drainPlay is how long a fake child answers after the end of its input, as the real one does.
const drainPlay = 3 * time.Second

// PlayChild makes this process a fake notebook server if it was started as one,
// and then does not return. Call it first in TestMain.
func PlayChild() {
	dir := os.Getenv("FAKE_CHILD")
	if dir == "" {
		return
	}
	if code := os.Getenv("FAKE_EXIT"); code != "" {
		n, _ := strconv.Atoi(code)
		fmt.Fprintln(os.Stderr, "fake child: told to exit with", code)
		os.Exit(n)
	}
	p := &player{dir: dir, version: os.Getenv("FAKE_VERSION"), asked: map[string]chan []byte{}}
	p.out = rpcline.NewWriter(os.Stdout, nil)
	p.serve()
	if os.Getenv("FAKE_DEAF") != "" {
		<-time.After(time.Hour)
	}
	p.out.Close(time.Second)
	os.Exit(0)
}

// player is the fake child.
type player struct {
	dir, version string
	out          *rpcline.Writer
	calls        sync.WaitGroup
	client       string
	session      string

	mu    sync.Mutex // guards what follows
	level string
	notes []string // methods of notifications received
	asks  int
	asked map[string]chan []byte
}

func (p *player) serve() {
	if os.Getenv("FAKE_DEAF") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	lines := rpcline.NewReader(os.Stdin, rpcline.MaxLine)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		m, err := rpcline.Parse(line)
		if err != nil {
			fmt.Fprintf(os.Stderr, "fake child: bad line: %v\n", err)
			continue
		}
		p.message(m)
	}
	done := make(chan struct{})
	go func() { p.calls.Wait(); close(done) }()
	within(done, drainPlay)
}

func (p *player) message(m rpcline.Message) {
	switch {
	case m.IsResponse():
		p.mu.Lock()
		answer := p.asked[string(m.ID)]
		p.mu.Unlock()
		if answer != nil {
			answer <- m.Line
		}
	case m.IsNotification():
		p.mu.Lock()
		p.notes = append(p.notes, m.Method)
		p.mu.Unlock()
	case m.Method == "initialize":
		p.client, _ = rpcline.GetString(m.Params, "clientInfo", "name")
		p.session, _ = rpcline.GetString(m.Params, "_meta", "runt/session")
		if os.Getenv("FAKE_MUTE") == "" {
			p.reply(m.ID, fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"runt","version":%q}}`, p.version))
		}
	case m.Method == "logging/setLevel":
		level, _ := rpcline.GetString(m.Params, "level")
		p.mu.Lock()
		p.level = level
		p.mu.Unlock()
		p.reply(m.ID, `{}`)
	case m.Method == "tools/call":
		p.calls.Go(func() { p.call(m) })
	default:
		p.reply(m.ID, fmt.Sprintf(`{"line":%s}`, rpcline.Quote(string(m.Line))))
	}
}

func (p *player) reply(id []byte, result string) {
	_ = p.out.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// text answers a tools/call; extra goes into the result as it is.
func (p *player) text(id []byte, text, extra string) {
	p.reply(id, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]%s}`, rpcline.Quote(text), extra))
}

// note leaves a file behind. It returns whether the file is new.
func (p *player) note(kind, name string) bool {
	f, err := os.OpenFile(filepath.Join(p.dir, kind+"-"+name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

type playArgs struct {
	Millis  int    `json:"ms"`
	Code    int    `json:"code"`
	Bytes   int    `json:"bytes"`
	Times   int    `json:"times"` // die only that often
	Event   string `json:"event"`
	ID      string `json:"id"`
	Path    string `json:"path"`
	Default bool   `json:"default"`
}

func (p *player) call(m rpcline.Message) {
	tool, _ := rpcline.GetString(m.Params, "name")
	raw, _ := rpcline.Get(m.Params, "arguments")
	var args playArgs
	_ = json.Unmarshal(raw, &args) // what a tool does not need may be of any type
	callID := domain.DerivedUUID("call", p.session, string(m.ID))
	p.note("received", fmt.Sprintf("%s-%d", callID, os.Getpid()))
	switch tool {
	case "execute": // takes a while and happens once for a call id, however often the call comes
		p.note("executed", callID)
		<-time.After(time.Duration(args.Millis) * time.Millisecond)
		p.text(m.ID, "executed "+callID, "")
	case "hang":
		select {}
	case "die":
		for i := range args.Times {
			if p.note("died", fmt.Sprint(callID, "-", i)) {
				os.Exit(args.Code)
			}
		}
		p.text(m.ID, "alive", "")
	case "fail":
		p.text(m.ID, "cell_id is missing", `,"isError":true`)
	case "who":
		p.text(m.ID, fmt.Sprintf("%d %s %s", os.Getpid(), p.version, p.client), "")
	case "state":
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text(m.ID, fmt.Sprintf("level=%s notes=%s default=%s all=%s", p.level, strings.Join(p.notes, ","),
			os.Getenv("NTERACT_MCP_REJOIN_NOTEBOOK"), os.Getenv("RUNT_MCP_REJOIN")), "")
	case "bind":
		p.text(m.ID, "ok", fmt.Sprintf(`,"_meta":{"runt/notebook":{"event":%q,"id":%q,"path":%q,"default":%v}}`, args.Event, args.ID, args.Path, args.Default))
	case "measure":
		p.text(m.ID, fmt.Sprintf("%d %x", len(m.Line), sha256.Sum256(m.Line)), "")
	case "big":
		p.text(m.ID, strings.Repeat("x", args.Bytes), "")
	default:
		p.oddCall(m, tool, raw)
	}
}

// oddCall plays the tools that write more than an answer.
func (p *player) oddCall(m rpcline.Message, tool string, args []byte) {
	switch tool {
	case "noise":
		_ = p.out.Send([]byte("noise on stdout"))
		_ = p.out.Send([]byte(`{"almost":"a message"}`))
		fmt.Fprintln(os.Stderr, "noise on stderr")
		p.text(m.ID, "quiet again", "")
	case "progress":
		token, _ := rpcline.Get(m.Params, "_meta", "progressToken")
		for i := range 3 {
			_ = p.out.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i+1))
		}
		p.text(m.ID, "done", "")
	case "ask":
		p.mu.Lock()
		p.asks++
		id := fmt.Sprint(p.asks)
		answer := make(chan []byte, 1)
		p.asked[id] = answer
		p.mu.Unlock()
		_ = p.out.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"roots/list"}`, id))
		p.text(m.ID, string(<-answer), "")
	case "notify":
		for _, method := range []string{"notifications/message", "notifications/tools/list_changed", "notifications/future"} {
			_ = p.out.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"big":12345678901234567890}}`, method))
		}
		p.text(m.ID, "notified", "")
	default: // say what arrived
		p.text(m.ID, string(m.Line), fmt.Sprintf(`,"structuredContent":%s`, args))
	}
}
