package pyenv

import (
	"os/exec"
	"testing"
)

func TestPythonHasAKernel(t *testing.T) {
	argv := Argv(t)
	if out, err := exec.CommandContext(t.Context(), argv[0], "-c", "import ipykernel, zmq").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, out)
	}
	if again := Python(t); again != argv[0] {
		t.Errorf("found %s, then %s", argv[0], again)
	}
}

func TestLockExcludes(t *testing.T) {
	path := t.TempDir() + "/lock"
	unlock, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan struct{})
	go func() {
		defer close(second)
		again, err := lock(path)
		if err != nil {
			t.Error(err)
			return
		}
		again()
	}()
	select {
	case <-second:
		t.Error("two holders of one lock")
	default:
	}
	unlock()
	<-second
}
