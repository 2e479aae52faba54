package env

import "runt/internal/kernel/link"

// Launch is how to start one kernel: what kernel.StartHost takes. Its EnvSource
// is one of
//
//	venv:project     the .venv beside the notebook or above it
//	venv:active      VIRTUAL_ENV
//	conda:active     CONDA_PREFIX
//	kernelspec:NAME  an installed kernelspec
//	uv:prewarmed     the private environment for all, made by uv
//	uv:inline        a private environment for the notebook's dependencies
//
// and pip: in the place of uv: where uv could not be had.
type Launch = link.LaunchSpec
