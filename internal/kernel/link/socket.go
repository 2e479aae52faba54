package link

import (
	"runtime"

	"runt/internal/domain"
)

// MaxSocketPath is how many bytes the path of a unix socket may have here.
func MaxSocketPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

// CheckSocketPath returns an error that says what to do when path is too long for a unix socket.
func CheckSocketPath(path string) error {
	if len(path) <= MaxSocketPath() {
		return nil
	}
	return domain.Errorf(domain.CodeInvalidArgument, "the socket path %s has %d bytes, the operating system allows %d.",
		path, len(path), MaxSocketPath()).WithHint("Choose a shorter state folder, for example by setting XDG_RUNTIME_DIR.")
}
