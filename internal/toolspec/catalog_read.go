package toolspec

// readTools look at cells without changing them.
var readTools = []Tool{
	{
		Name: "get_all_cells", ReadOnly: true, Idempotent: true,
		Desc: "Read the notebook. Starts as a map with one line a cell; long answers come in pages and say how to get the next.",
		Args: withNotebook(
			Arg{Name: "view", Type: String, Enum: []string{"map", "source", "outputs"}, Default: "map",
				Desc: "map: one line a cell. source: whole sources. outputs: sources and outputs."},
			Arg{Name: "start", Type: Integer, Default: 0, Min: num(0), Desc: "Index of the first cell to show."},
			Arg{Name: "count", Type: Integer, Min: num(1), Desc: "How many cells. Default: as many as fit."},
			Arg{Name: "errors_only", Type: Boolean, Default: false, Desc: "Only cells whose last run raised."},
		),
	},
	{
		Name: "get_cell", ReadOnly: true, Idempotent: true, Images: true,
		Desc: "Read one cell: source, status of its last run, outputs, images.",
		Args: withNotebook(
			cellArg,
			Arg{Name: "outputs", Type: Boolean, Default: true, Desc: "Show outputs."},
			Arg{Name: "images", Type: Boolean, Default: true, Desc: "Return images as images."},
			fullArg,
		),
	},
	{
		Name: "search_cells", ReadOnly: true, Idempotent: true,
		Desc: "Find text in sources or outputs. Answers with cell ids and the lines that match.",
		Args: withNotebook(
			Arg{Name: "pattern", Type: String, Required: true, Desc: "Text to find; case counts."},
			Arg{Name: "regex", Type: Boolean, Default: false, Desc: "pattern is a regular expression (RE2)."},
			Arg{Name: "in", Type: String, Enum: []string{"source", "outputs", "both"}, Default: "source", Desc: "Where to look."},
		),
	},
}
