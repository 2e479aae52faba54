package mcpserver

// handlers are the tools that this server performs, by name. Package toolspec
// has their arguments and texts; a test compares the two.
var handlers = map[string]handler{
	"list_notebooks":      {plain: listNotebooks},
	"connect_notebook":    {plain: connectNotebook},
	"create_notebook":     {plain: createNotebook},
	"save_notebook":       {book: saveNotebook},
	"disconnect_notebook": {plain: disconnectNotebook},
	"reconnect":           {plain: reconnect},

	"get_all_cells": {book: getAllCells},
	"get_cell":      {book: getCell},
	"search_cells":  {book: searchCells},

	"create_cell":       {book: createCell, ahead: true},
	"set_cell":          {book: setCell, ahead: true},
	"replace_match":     {book: replaceMatch, ahead: true},
	"replace_regex":     {book: replaceRegex, ahead: true},
	"edit_cells":        {book: editCells, ahead: true},
	"delete_cell":       {book: deleteCell},
	"move_cell":         {book: moveCell},
	"set_cell_metadata": {book: setCellMetadata},
	"clear_outputs":     {book: clearOutputs},

	"execute_cell":  {book: executeCell, ahead: true},
	"run_all_cells": {book: runAllCells},
	"execute_code":  {book: executeCode, ahead: true},
	"get_results":   {plain: getResults},
	"send_input":    {book: sendInput},

	"interrupt_kernel":  {book: interruptKernel},
	"restart_kernel":    {book: restartKernel},
	"list_kernels":      {plain: listKernels},
	"inspect_variables": {book: inspectVariables},
}
