package toolspec

// kernelTools look after the kernel.
var kernelTools = []Tool{
	{
		Name: "interrupt_kernel", Destructive: true, Idempotent: true,
		Desc: "Stop the running cell. Variables are kept. Says what really happened.",
		Args: withNotebook(),
	},
	{
		Name: "restart_kernel", Destructive: true, OpenWorld: true,
		Desc: "Restart the kernel: variables are lost, cells and outputs stay. Works in every kernel state.",
		Args: withNotebook(Arg{Name: "run_all", Type: Boolean, Default: false, Desc: "Then run all cells."}),
	},
	{
		Name: "list_kernels", ReadOnly: true, Idempotent: true,
		Desc: "List the kernelspecs and Python environments found, and where each comes from.",
		Args: []Arg{{Name: "notebook", Type: String, Desc: "Look beside this notebook too (id or path). Default: the default notebook."}},
	},
	{
		Name: "inspect_variables", ReadOnly: true, Idempotent: true, Images: false,
		Desc: "List variables of a Python kernel: name, type, shape or length, short value.",
		Args: withNotebook(Arg{Name: "names", Type: List, Desc: "Only these. Default: all that the notebook made."}),
	},
}
