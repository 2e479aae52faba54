package toolspec

// Arguments that several tools share.
var (
	notebookArg = Arg{Name: "notebook", Type: String, Desc: "Notebook id or path. Default: the one connected or created last."}
	cellArg     = Arg{Name: "cell_id", Type: String, Required: true, Desc: "Id of the cell."}
	andRunArg   = Arg{Name: "and_run", Type: Boolean, Default: false, Desc: "Run the cell afterwards and return its outputs."}
	typeArg     = Arg{Name: "cell_type", Type: String, Enum: []string{"code", "markdown", "raw"}}
	fullArg     = Arg{Name: "full_output", Type: Boolean, Default: false, Desc: "Outputs without the 8 kB limit, tracebacks whole."}
)

func timeoutArg(def int) Arg {
	return Arg{Name: "timeout_secs", Type: Number, Default: def, Min: num(0), Max: num(MaxTimeoutSecs),
		Desc: "Longest wait. The run goes on afterwards; get_results has the rest. 0: return at once with the execution id."}
}

func afterArg(desc string) Arg {
	return Arg{Name: "after_cell_id", Type: String, Nullable: true, Desc: desc}
}

func num(v float64) *float64 { return &v }

func withNotebook(args ...Arg) []Arg { return append(args, notebookArg) }

func withDefault(a Arg, def any) Arg {
	a.Default = def
	return a
}
