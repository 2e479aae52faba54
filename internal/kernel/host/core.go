package host

import (
	"encoding/json"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/link"
)

// The channels of a kernel, by their names in commands and in code.
const (
	chShell   = "shell"
	chControl = "control"
	chStdin   = "stdin"
	chIOPub   = "iopub"
)

// The bounds of what the core waits for.
const (
	probeInterval    = 50 * time.Millisecond  // kernel_info is asked again when iopub is silent
	startLimit       = 120 * time.Second      // from launch to ready
	idleQuiet        = time.Second            // silence on iopub after a reply whose idle does not come
	interruptedQuiet = 200 * time.Millisecond // from idle to a reply that an interrupt may have cut off
	idleCheck        = 10 * time.Millisecond  // before a lost idle is believed
	idleLimit        = 30 * time.Second       // the same, however loud iopub is
	abortRetry       = 20 * time.Millisecond  // before a request is sent again that the kernel aborted by mistake
	maxKnown         = 20_000                 // executions whose late outputs are still told apart
	maxAborts        = 5                      // how often it is sent again
	exitLimit        = leaveLimit             // for a kernel to end after its code asked for it
	startedGuess     = 100 * time.Millisecond // after busy, when execute_input does not come
)

// effects is what the core asks of the world. No method blocks; after runs f later on the core's goroutine.
type effects interface {
	now() time.Time
	after(d time.Duration, f func())
	emit(e link.Event) // numbers and spools it
	send(channel string, m jmsg.Message)
	signal(sig syscall.Signal) error // to the kernel's process group
	newID() string
	hearing() bool // a message on iopub is being read
}

// phase is where in its life the host is.
type phase string

const (
	phaseStarting phase = "starting"
	phaseReady    phase = "ready"
	phaseStopping phase = "stopping"
	phaseEnded    phase = "ended"
)

// answer gets the reply to a command; nil when none is wanted.
type answer func(link.Reply)

// core decides. It belongs to the loop's goroutine and does no IO but through its effects.
type core struct {
	fx         effects
	log        *slog.Logger
	session    string
	byMsg      bool // interrupts are messages, not signals
	merge      merger
	phase      phase
	began      time.Time
	queue      []*execution      // not sent yet
	current    *execution        // the kernel has it
	leaving    bool              // code has asked the kernel to exit
	known      map[string]bool   // ids of executions, the last maxKnown of them
	order      []string          // of known
	probes     map[string]bool   // ids of messages that are the host's own business
	requests   map[string]answer // by message id
	info       *link.Message     // kernel_info_reply
	live       bool              // something arrived on iopub
	probing    bool              // the channels are connected
	asked      json.RawMessage   // header of the input_request that waits; nil when none does
	stops      []answer          // who waits for the end
	idleFrom   time.Time         // since when nothing runs
	requested  bool              // a daemon asked for the end
	lateReason string            // why the host itself ended the kernel
	ipython    bool              // the kernel is an ipykernel
	silent     bool              // the heartbeat has stopped
}

func newCore(fx effects, log *slog.Logger, spec link.LaunchSpec) *core {
	return &core{
		fx: fx, log: log, session: fx.newID(), byMsg: spec.InterruptMode == "message",
		phase: phaseStarting, began: fx.now(), idleFrom: fx.now(),
		known: map[string]bool{}, probes: map[string]bool{}, requests: map[string]answer{},
	}
}

// emit hands an event out, after the stream text that came before it.
func (c *core) emit(e link.Event) {
	c.flush()
	e.At = c.fx.now()
	c.fx.emit(e)
}

// message makes a Jupyter message of ours.
func (c *core) message(id, typ string, content any) jmsg.Message {
	raw, ok := content.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(content); err != nil {
			c.log.Error("cannot encode a message to the kernel", "type", typ, "error", err)
		}
	}
	return jmsg.Message{Content: raw, Header: jmsg.Header{
		ID: id, Session: c.session, Username: "runt", Type: typ, Version: jmsg.ProtocolVersion,
		Date: c.fx.now().UTC().Format(time.RFC3339Nano),
	}}
}

// own sends a message whose answer is for the host itself.
func (c *core) own(channel, typ string, content any) {
	id := c.fx.newID()
	c.probes[id] = true
	c.fx.send(channel, c.message(id, typ, content))
}

// connected begins to ask the kernel for a sign of life.
func (c *core) connected() {
	c.probing = true
	c.probe()
}

func (c *core) probe() {
	if c.phase != phaseStarting || c.info != nil && c.live {
		return
	}
	if c.info != nil || len(c.probes) == 0 {
		c.own(chShell, "kernel_info_request", struct{}{})
	}
	c.fx.after(probeInterval, c.probe)
}

// checkReady opens the queue once the kernel answers on shell and is heard on iopub.
func (c *core) checkReady() {
	if c.phase != phaseStarting || c.info == nil || !c.live {
		return
	}
	c.phase = phaseReady
	c.tune(c.info)
	c.emit(link.Event{Kind: link.EventReady, Message: c.info})
	c.next()
}

// command does what the daemon asks.
func (c *core) command(cmd link.Command, reply answer) {
	switch cmd.Op {
	case link.OpExecute:
		c.execute(cmd.Execute, reply)
	case link.OpCancel:
		c.cancel(cmd.ExecutionID, reply)
	case link.OpInterrupt:
		c.interrupt(cmd.ExecutionID, reply)
	case link.OpInput:
		c.input(cmd.Text, reply)
	case link.OpRequest:
		c.request(cmd.Channel, cmd.Message, reply)
	case link.OpComm:
		c.comm(cmd.Message, reply)
	case link.OpShutdown:
		c.shutdown(reply)
	default:
		refuse(reply, "operation "+string(cmd.Op)+" is not known to this kernel host")
	}
}

func refuse(reply answer, why string) {
	if reply != nil {
		reply(link.Reply{Error: why})
	}
}

func accept(reply answer) {
	if reply != nil {
		reply(link.Reply{})
	}
}

// alive refuses what needs a kernel when there is none any more.
func (c *core) alive(reply answer) bool {
	if c.phase == phaseStarting || c.phase == phaseReady {
		return true
	}
	refuse(reply, "the kernel is "+map[phase]string{phaseStopping: "shutting down", phaseEnded: "gone"}[c.phase])
	return false
}

func (c *core) request(channel string, m *link.Message, reply answer) {
	if !c.alive(reply) {
		return
	}
	if m == nil || channel != chShell && channel != chControl {
		refuse(reply, "a request needs a message, and shell or control as its channel")
		return
	}
	if !c.probing {
		refuse(reply, "the kernel is still starting")
		return
	}
	id := c.fx.newID()
	if reply != nil {
		c.requests[id] = reply
	}
	c.fx.send(channel, c.message(id, m.Type, m.Content))
}

func (c *core) comm(m *link.Message, reply answer) {
	if !c.alive(reply) {
		return
	}
	if m == nil || !c.probing {
		refuse(reply, "a comm message needs a started kernel")
		return
	}
	id := m.ID
	if id == "" {
		id = c.fx.newID()
	}
	out := c.message(id, m.Type, m.Content)
	out.Metadata, out.Buffers = m.Metadata, m.Buffers
	c.fx.send(chShell, out)
	accept(reply)
}

func (c *core) input(text string, reply answer) {
	if !c.alive(reply) {
		return
	}
	if c.asked == nil {
		refuse(reply, "the kernel is not waiting for input")
		return
	}
	m := c.message(c.fx.newID(), "input_reply", map[string]string{"status": "ok", "value": text})
	m.RawParent, c.asked = c.asked, nil
	c.fx.send(chStdin, m)
	accept(reply)
}

// welcome tells a daemon where the host stands.
func (c *core) welcome() *link.Welcome {
	w := &link.Welcome{Version: link.Version, Phase: string(c.phase)}
	if c.current != nil {
		w.Running = c.current.ID
	}
	for _, x := range c.queue {
		w.Queued = append(w.Queued, x.ID)
	}
	return w
}

// busy says whether an execution runs or waits.
func (c *core) busy() bool { return c.current != nil || len(c.queue) > 0 }

// answered hands a reply on shell or control to who asked for it.
func (c *core) answered(m jmsg.Message) bool {
	reply, ok := c.requests[m.Parent.ID]
	if ok {
		delete(c.requests, m.Parent.ID)
		reply(link.Reply{Message: toLink(m)})
	}
	return ok
}

func toLink(m jmsg.Message) *link.Message {
	return &link.Message{Type: m.Header.Type, ID: m.Header.ID, ParentID: m.Parent.ID,
		Content: m.Content, Metadata: m.Metadata, Buffers: m.Buffers}
}

// shellMessage takes what comes on shell.
func (c *core) shellMessage(m jmsg.Message) {
	switch {
	case c.probes[m.Parent.ID]:
		if m.Header.Type == "kernel_info_reply" && c.info == nil {
			c.info = toLink(m)
			c.checkReady()
		}
	case c.current != nil && m.Parent.ID == c.current.ID && m.Header.Type == "execute_reply":
		c.executeReply(m)
	default:
		c.answered(m)
	}
}

// stdinMessage takes what comes on stdin.
func (c *core) stdinMessage(m jmsg.Message) {
	if m.Header.Type != "input_request" {
		return
	}
	c.asked = slices.Clone(m.RawHeader)
	id := ""
	if c.known[m.Parent.ID] {
		id = m.Parent.ID
	}
	c.emit(link.Event{Kind: link.EventInputRequest, ExecutionID: id, Message: toLink(m)})
}
