package automerge

import (
	"strings"
	"testing"
)

// TestAMessageIsFound: in a change just made, in a long one that is compressed,
// in one that came with a time before 1970, and in what was loaded from a save.
func TestAMessageIsFound(t *testing.T) {
	s := newShard(t)
	d, err := s.New("user:a")
	if err != nil {
		t.Fatal(err)
	}
	for text, o := range map[string][]ApplyOption{
		"short":   {WithMessage("short")},
		"long":    {WithMessage("long")},
		"ancient": {WithMessage("ancient"), WithTime(-1234567890)},
		"none":    nil,
	} {
		b := NewBatch()
		value := text
		if text == "long" {
			value = strings.Repeat("much text ", 1000)
		}
		b.Put(b.Root(), text, value)
		if _, err := d.Apply(b, o...); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := d.Save()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(saved, "user:b")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []*Doc{d, loaded} {
		for text, want := range map[string]bool{"short": true, "long": true, "ancient": true, "none": false, "never": false} {
			if got, err := doc.Said(text); err != nil || got != want {
				t.Errorf("Said(%q) = %v, %v; want %v", text, got, err, want)
			}
		}
	}
}
