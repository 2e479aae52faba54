package toolspec

// editTools change cells.
var editTools = []Tool{
	{
		Name: "create_cell", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Add a cell, and run it with and_run. Several at once: edit_cells.",
		Args: withNotebook(
			Arg{Name: "source", Type: String, Default: "", Desc: "Text of the cell."},
			withDefault(typeArg, "code"),
			afterArg("Id of the cell to put it after. Left out: last. null: first."),
			andRunArg, timeoutArg(30),
		),
	},
	{
		Name: "set_cell", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Replace a cell's source or change its type. Answers with a diff. For a small change in a long cell use replace_match.",
		Args: withNotebook(
			cellArg,
			Arg{Name: "source", Type: String, Desc: "The whole new text."},
			typeArg,
			Arg{Name: "expected_hash", Type: String, Desc: "Hash that get_cell showed: refused if the source changed since then."},
			andRunArg, timeoutArg(30),
		),
	},
	{
		Name: "replace_match", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Replace one exact piece of a cell's text. It must be there exactly once; context_before and context_after tell equal ones apart.",
		Args: withNotebook(
			cellArg,
			Arg{Name: "match", Type: String, Required: true, Desc: "Text to replace, exactly as it is in the cell."},
			Arg{Name: "content", Type: String, Required: true, Desc: "Text to put there."},
			Arg{Name: "context_before", Type: String, Desc: "Text that stands right before match."},
			Arg{Name: "context_after", Type: String, Desc: "Text that stands right after match."},
			andRunArg, timeoutArg(30),
		),
	},
	{
		Name: "replace_regex", Destructive: true, OpenWorld: true, Images: true,
		Desc: "Replace the one place in a cell that a regular expression matches (RE2; ^ and $ match at lines).",
		Args: withNotebook(
			cellArg,
			Arg{Name: "pattern", Type: String, Required: true, Desc: "Regular expression that matches exactly once."},
			Arg{Name: "content", Type: String, Required: true, Desc: "New text; $1 and ${name} stand for groups, $$ for a dollar sign."},
			andRunArg, timeoutArg(30),
		),
	},
	{
		Name: "edit_cells", Destructive: true,
		Desc: "Several edits in one step: all of them are made, or none. Later ones may name cells that earlier ones made as \"$0\", \"$1\" (number of the operation).",
		Args: withNotebook(Arg{Name: "operations", Type: List, Required: true, Desc: "What to do, in order.", Items: []Arg{
			{Name: "op", Type: String, Required: true, Enum: []string{"create", "set", "delete", "move"}},
			{Name: "cell_id", Type: String, Desc: "Cell to set, delete or move."},
			{Name: "source", Type: String},
			typeArg,
			afterArg("For create and move, as in create_cell and move_cell."),
		}}),
	},
	{
		Name: "delete_cell", Destructive: true,
		Desc: "Delete a cell. Answers with the order around its place.",
		Args: withNotebook(cellArg),
	},
	{
		Name: "move_cell", Idempotent: true,
		Desc: "Move a cell after another one. Answers with the order around its new place.",
		Args: withNotebook(cellArg, afterArg("Id of the cell to put it after. null or left out: first.")),
	},
	{
		Name: "set_cell_metadata", Idempotent: true,
		Desc: "Add or remove a cell's tags, or hide its source or outputs.",
		Args: withNotebook(
			cellArg,
			Arg{Name: "add_tags", Type: List},
			Arg{Name: "remove_tags", Type: List},
			Arg{Name: "source_hidden", Type: Boolean},
			Arg{Name: "outputs_hidden", Type: Boolean},
		),
	},
	{
		Name: "clear_outputs", Destructive: true, Idempotent: true,
		Desc: "Clear outputs of some cells, or of all.",
		Args: withNotebook(Arg{Name: "cell_ids", Type: List, Desc: "Default: all cells."}),
	},
}
