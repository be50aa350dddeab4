//go:build go1.26

package executor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestAFullExecutorRefuses(t *testing.T) {
	t.Parallel()
	h := newBlocker()
	b := setup(t, executortest.Handlers{"h": h.handle}, func(c *executor.Config) { c.MaxRuns = 2 })
	b.mustRun(t, request(1))
	b.mustRun(t, onJob(request(2), 1, wire.BlockSerial)) // waits
	answer := b.run(t, request(3))
	if answer.OK() || answer.Msg != "the executor is full: 2 runs wait or run" {
		t.Errorf("a run beyond the limit: %+v", answer)
	}
	close(h.free)
	b.wantResult(t, 1, 200, "")
	b.wantResult(t, 2, 200, "")
	waitUntilIdle(t, b, 1)
	b.mustRun(t, request(3)) // refused before, so its id is free
	b.wantResult(t, 3, 200, "")
	if stats := b.Stats(); stats.Accepted != 3 || stats.Refused != 1 || stats.Succeeded != 3 {
		t.Errorf("stats %+v", stats)
	}
}

func TestScriptsKnowTheirRun(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(41, wire.GlueShell, `printenv | grep ^PUNCTUAL_ | sort; echo "a line of its own" >> "$PUNCTUAL_LOG_FILE"`)
	req.JobID = 7
	b.mustRun(t, req)
	b.wantResult(t, 41, 200, "")
	text := b.log(t, req)
	for _, want := range []string{"PUNCTUAL_JOB_ID=7\n", "PUNCTUAL_LOG_ID=41\n", "PUNCTUAL_PARAM=a b\n", "PUNCTUAL_PLANNED_AT=" + time.UnixMilli(req.LogDateTime).Format(time.RFC3339Nano) + "\n", "PUNCTUAL_SHARD_INDEX=1\n", "PUNCTUAL_SHARD_TOTAL=3\n",
		"PUNCTUAL_LOG_FILE=" + filepath.Join(b.DataDir(), "logs"), "\na line of its own\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("log lacks %q:\n%s", want, text)
		}
	}
}

// A script that says more than anybody reads costs its limit and no more, and goes on to its end.
func TestAScriptsOutputIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	b := setup(t, nil, func(c *executor.Config) { c.MaxLogBytes = limit })
	req := script(1, wire.GlueShell, `yes "0123456789" | head -c 20000000; exit 3`)
	b.mustRun(t, req)
	b.wantResult(t, 1, 500, "script exit value(3) is failed")
	files, err := filepath.Glob(filepath.Join(b.DataDir(), "logs", "*", "1.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() < limit || info.Size() > limit+1000 {
		t.Errorf("the log has %d bytes, its limit is %d", info.Size(), limit)
	}
	text := b.log(t, req)
	if strings.Count(text, "log truncated: it reached 262144 bytes") != 1 || !strings.Contains(text, "handleMsg = script exit value(3) is failed") {
		t.Errorf("the log ends with %q", text[len(text)-500:])
	}
}
