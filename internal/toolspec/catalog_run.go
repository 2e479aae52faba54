package toolspec

// runTools run code and read what came of it.
var runTools = []Tool{
	{
		Name: "execute_cell", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Run a code cell as it stands now and return its outputs. A cell that raises is a result with status error.",
		Args: withNotebook(
			cellArg, timeoutArg(30),
			Arg{Name: "on_timeout", Type: String, Enum: []string{"continue", "interrupt"}, Default: "continue",
				Desc: "What happens to the run when the time is over or the call is cancelled."},
		),
	},
	{
		Name: "run_all_cells", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Run code cells in order, stopping at the first error. Answers with a line a cell.",
		Args: withNotebook(
			Arg{Name: "from_cell_id", Type: String, Desc: "First cell to run. Default: the first one."},
			Arg{Name: "to_cell_id", Type: String, Desc: "Last cell to run. Default: the last one."},
			timeoutArg(300),
			Arg{Name: "wait", Type: Boolean, Default: true, Desc: "false: return at once with the execution ids."},
		),
	},
	{
		Name: "execute_code", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Run code in the notebook's kernel without leaving a cell: to look at something, or install a package.",
		Args: withNotebook(
			Arg{Name: "code", Type: String, Required: true, Desc: "Code in the kernel's language."},
			timeoutArg(30),
		),
	},
	{
		Name: "get_results", ReadOnly: true, Idempotent: true, Images: true,
		Desc: "Read what an execution has given so far, or wait for its end. Works for any execution id, after restarts too.",
		Args: withNotebook(
			Arg{Name: "execution_id", Type: String, Required: true, Desc: "Id from a run's answer."},
			Arg{Name: "wait_secs", Type: Number, Default: 0, Min: num(0), Max: num(MaxWaitSecs), Desc: "Longest wait for its end."},
			fullArg,
		),
	},
	{
		Name: "send_input", Destructive: true, OpenWorld: true,
		Desc: "Answer the input() that a running cell waits for.",
		Args: withNotebook(Arg{Name: "text", Type: String, Required: true, Desc: "The line to give, without newline."}),
	},
}
