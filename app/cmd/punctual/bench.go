package main

import (
	"context"

	"github.com/punctual-job/punctual/app/cmd/punctual/bench"
)

type benchCmd struct{ bench.Settings }

// Run measures this machine. Nothing of an installation is touched: databases are temporary, or empty and given.
func (c *benchCmd) Run(ctx context.Context, s streams) error {
	return bench.Run(ctx, c.Settings, buildVersion(), s.out)
}
