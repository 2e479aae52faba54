package automerge

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func toBase64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// interopSeeds is how many random histories are tried against JavaScript;
// RUNT_INTEROP_SEEDS overrides it, and makes Node a must.
const interopSeeds = 40

// TestInteropWithJavaScript lets two documents here and one of
// @automerge/automerge be edited and synced in random order. Afterwards heads and
// contents must be the same, and each side must load the other's save.
func TestInteropWithJavaScript(t *testing.T) {
	seeds, required := interopSeeds, false
	if s := os.Getenv("RUNT_INTEROP_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		seeds, required = n, true
	}
	n := startNode(t, required)
	if n == nil {
		return
	}
	t.Logf("against %s", n.call(request{Op: "info"}).Release)
	misread := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n.t = t
			misread += interopRun(t, n, seed)
		})
	}
	t.Logf("%d of %d times the JavaScript view differed from its own document", misread, seeds)
}

// jsLink is a connection between a document here and one in Node.
type jsLink struct {
	t      testing.TB
	n      *node
	doc    string
	p      *Peer
	to, in [][]byte // on their way to Node, and from it
}

func (l *jsLink) pump() bool {
	l.t.Helper()
	msg, err := l.p.Generate()
	must(l.t, err)
	if msg != nil {
		l.to = append(l.to, msg)
	}
	theirs := l.n.call(request{Op: "generate", Doc: l.doc, Sync: l.doc}).Bytes
	if len(theirs) > 0 {
		l.in = append(l.in, theirs)
	}
	return msg != nil || len(theirs) > 0
}

func (l *jsLink) deliver(toNode bool) bool {
	l.t.Helper()
	if toNode {
		if len(l.to) == 0 {
			return false
		}
		l.n.call(request{Op: "receive", Doc: l.doc, Sync: l.doc, Bytes: l.to[0]})
		l.to = l.to[1:]
		return true
	}
	if len(l.in) == 0 {
		return false
	}
	_, err := l.p.Receive(l.in[0], ReceiveOptions{})
	must(l.t, err)
	l.in = l.in[1:]
	return true
}

// interopRun returns 1 when the JavaScript library shows something else than
// what its document says after a save and a load.
func interopRun(t *testing.T, n *node, seed int) int {
	r := rand.New(rand.NewPCG(uint64(seed), 11))
	ds := seeded(t, 2)
	saved, err := ds[0].Save()
	must(t, err)
	name := fmt.Sprint("doc", seed)
	n.call(request{Op: "load", Doc: name, Actor: "javascript", Bytes: saved})
	defer n.call(request{Op: "free", Doc: name, Sync: name})
	js := &jsLink{t: t, n: n, doc: name, p: ds[0].NewPeer()}
	here := newLink(ds[0], ds[1])
	for range 60 {
		switch r.IntN(9) {
		case 0, 1:
			randomChange(t, r, ds[r.IntN(2)])
		case 2, 3:
			n.call(request{Op: "edit", Doc: name, Seed: r.Uint32(), N: 1 + r.IntN(3)})
		case 4:
			here.pump(t)
			here.deliver(t, r.IntN(2) == 0)
		case 5:
			js.deliver(true)
		case 6:
			js.deliver(false)
		default:
			js.pump()
		}
	}
	for range 500 {
		busy := js.pump()
		busy = js.deliver(true) || busy
		busy = js.deliver(false) || busy
		busy = here.pump(t) || busy
		_, toA := here.deliver(t, true)
		_, toB := here.deliver(t, false)
		if !busy && !toA && !toB {
			break
		}
	}
	sameState(t, ds...)
	return compareWithNode(t, n, name, ds[0])
}

func compareWithNode(t *testing.T, n *node, name string, d *Doc) int {
	t.Helper()
	theirs := n.call(request{Op: "state", Doc: name})
	if !SameHeads(theirs.Heads, d.Heads()) {
		t.Fatalf("heads %v, JavaScript has %v", d.Heads(), theirs.Heads)
	}
	v, _ := d.Get()
	ours := plain(v)
	if diff := cmp.Diff(theirs.Fresh, ours); diff != "" {
		t.Fatalf("contents (-JavaScript +Go):\n%s", diff)
	}
	loaded, err := newShard(t).Load(theirs.Bytes, "loader")
	must(t, err)
	if diff := cmp.Diff(ours, plain(truth(t, loaded))); diff != "" || !SameHeads(loaded.Heads(), d.Heads()) {
		t.Fatalf("JavaScript's save loaded here:\n%s", diff)
	}
	saved, err := d.Save()
	must(t, err)
	back := name + "-saved-here"
	n.call(request{Op: "load", Doc: back, Actor: "loader", Bytes: saved})
	defer n.call(request{Op: "free", Doc: back, Sync: back})
	again := n.call(request{Op: "state", Doc: back})
	if diff := cmp.Diff(again.JSON, ours); diff != "" || !SameHeads(again.Heads, d.Heads()) {
		t.Fatalf("our save loaded by JavaScript:\n%s", diff)
	}
	if !cmp.Equal(theirs.JSON, theirs.Fresh) {
		return 1
	}
	return 0
}
