package automerge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seeds returns how many seeds a property test tries: n, or what the
// environment variable RUNT_AUTOMERGE_SEEDS says.
func seeds(t *testing.T, n int) int {
	t.Helper()
	if s := os.Getenv("RUNT_AUTOMERGE_SEEDS"); s != "" {
		m, err := strconv.Atoi(s)
		must(t, err)
		return m
	}
	return n
}

// After any local, remote or historical change the mirror must equal the
// document as the machine has it.
func TestMirrorEqualsTheDocumentAfterRandomChanges(t *testing.T) {
	for seed := range seeds(t, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			ds := seeded(t, 3)
			var heads [][]Hash
			for range 60 {
				i := r.IntN(len(ds))
				d := ds[i]
				switch n := r.IntN(10); {
				case n == 0 && len(heads) > 0:
					if old := heads[r.IntN(len(heads))]; d.Has(old...) {
						editAt(t, r, d, old)
					}
				case n < 4:
					exchange(t, d, ds[r.IntN(len(ds))])
				default:
					randomChange(t, r, d)
				}
				heads = append(heads, d.Heads())
				checkMirror(t, d)
			}
		})
	}
}

// exchange gives to all the changes of from that it lacks.
func exchange(t testing.TB, to, from *Doc) {
	t.Helper()
	raw, err := from.ChangesSince(nil)
	must(t, err)
	_, err = to.ApplyChanges(raw)
	must(t, err)
}

func editAt(t testing.TB, r *rand.Rand, d *Doc, heads []Hash) {
	t.Helper()
	v, ok, err := d.GetAt(heads)
	must(t, err)
	if !ok {
		t.Fatal("no root at old heads")
	}
	b := NewBatch()
	randomOp(r, b, v.(map[string]any))
	if _, err := d.Apply(b, WithAtHeads(heads)); err != nil {
		t.Fatalf("edit at old heads: %v", err)
	}
}
