package client

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAPauseIsAskedForAsItWasSaid: what the admin would refuse is not left out, since without it the pause would be for good.
func TestAPauseIsAskedForAsItWasSaid(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	all := func(more map[string]any) map[string]any {
		body := map[string]any{"scope": "all", "reason": "moves", "strategy": "skip"}
		for name, value := range more {
			body[name] = value
		}
		return body
	}
	for name, tt := range map[string]struct {
		cmd  pausesCreate
		want map[string]any
	}{
		"for two hours":               {pausesCreate{For: 2 * time.Hour}, all(map[string]any{"until": now.Add(2 * time.Hour)})},
		"for less than nothing":       {pausesCreate{For: -time.Hour}, all(map[string]any{"until": now.Add(-time.Hour)})},
		"windows":                     {pausesCreate{Cron: "0 0 22 * * ?", Length: time.Hour}, all(map[string]any{"cron": "0 0 22 * * ?", "length_seconds": int64(3600)})},
		"a length and no windows":     {pausesCreate{Length: 2 * time.Hour}, all(map[string]any{"length_seconds": int64(7200)})},
		"windows that have no length": {pausesCreate{Cron: "0 0 22 * * ?"}, all(map[string]any{"cron": "0 0 22 * * ?"})},
	} {
		tt.cmd.Reason, tt.cmd.Strategy = "moves", "skip"
		if diff := cmp.Diff(tt.want, tt.cmd.body(0, 0, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
