package toolspec

// notebookTools find, open, save and let go of notebooks.
var notebookTools = []Tool{
	{
		Name: "list_notebooks", ReadOnly: true, Idempotent: true,
		Desc: "List open notebooks: id, path, who is in them, kernel state, and which ones you hold.",
		Args: []Arg{{Name: "notebook", Type: String, Desc: "Show only this notebook (id or path)."}},
	},
	{
		Name: "connect_notebook", Idempotent: true,
		Desc: "Open a notebook file, or join an open notebook by id, and make it the default of later calls. Give exactly one of path, notebook_id, notebook. Other notebooks you hold stay connected.",
		Args: []Arg{
			{Name: "path", Type: String, Desc: "Path of an .ipynb file, relative to the client's folder, or with ~."},
			{Name: "notebook_id", Type: String, Desc: "Id of a notebook, as list_notebooks shows it."},
			{Name: "notebook", Type: String, Desc: "Either of them: an id or a path."},
		},
	},
	{
		Name: "create_notebook", OpenWorld: true,
		Desc: "Create a notebook and make it the default. Its kernel starts in the background: cells can be run at once.",
		Args: []Arg{
			{Name: "path", Type: String, Desc: "Where to save it. Left out: untitled, kept until you save it."},
			{Name: "kernel", Type: String, Desc: "Kernelspec name from list_kernels. Default: Python."},
			{Name: "dependencies", Type: List, Desc: "Python packages the kernel's environment must have."},
			{Name: "working_dir", Type: String, Desc: "Folder the kernel starts in. Default: that of path, else the client's."},
			{Name: "ephemeral", Type: Boolean, Default: false, Desc: "Keep it in memory only: gone when nobody is connected."},
			{Name: "notebook", Type: String, Desc: "The same as path."},
		},
	},
	{
		Name: "save_notebook", Destructive: true, Idempotent: true,
		Desc: "Write the notebook to its file, or to a new path, which is its path from then on.",
		Args: withNotebook(
			Arg{Name: "path", Type: String, Desc: "New path. Missing folders are made."},
			Arg{Name: "overwrite", Type: Boolean, Default: false, Desc: "Replace a file that is already at path."},
		),
	},
	{
		Name: "disconnect_notebook", Destructive: true, Idempotent: true,
		Desc: "Let go of a notebook. Its kernel ends some time after the last client has left; a cell that is running is finished first.",
		Args: withNotebook(),
	},
	{
		Name: "reconnect", Idempotent: true, ProxyOnly: true,
		Desc: "Restart the link between you and the notebooks. Kernels, variables and cells are kept. Only needed when calls keep failing.",
	},
}
