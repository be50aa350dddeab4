package client

import (
	"context"
	"net/url"
)

// UsageCmd says what the groups of executors did.
type UsageCmd struct {
	Target
	From  string `placeholder:"DAY" help:"The first day, as 2026-12-31, in the zone of the installation; default six days before the last. The last 100 are kept."`
	Until string `placeholder:"DAY" help:"The last day, which counts too; default today."`
}

// Run does it.
func (c UsageCmd) Run(ctx context.Context, s Streams) error {
	query := make(url.Values)
	setText(query, "from", c.From)
	setText(query, "until", c.Until)
	return c.get(ctx, s, "/statistics/usage", query, unpaged, []column{
		field("ID", "group_id"), field("APP NAME", "app_name"), field("TITLE", "title"), field("RUNS", "runs"), field("FAILED", "failed"), field("SKIPPED", "skipped"), field("RUN SECONDS", "run_seconds"),
	})
}
