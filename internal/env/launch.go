package env

// Launch is how to start one kernel.
type Launch struct {
	KernelName    string            // kernelspec name, as shown to users
	DisplayName   string            // human name
	Language      string            // language of the cells
	Argv          []string          // command; {connection_file} stands for the path of the connection file
	Env           map[string]string // set on top of the daemon's own environment
	Dir           string            // working folder of the kernel
	InterruptMode string            // "signal" or "message"
	EnvSource     string            // which environment this is, such as "venv:project" or "uv:prewarmed"
	Transport     string            // "ipc", or "tcp" for kernels that know nothing else
}
