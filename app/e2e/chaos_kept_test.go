package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/db"
)

// keepAll has every run of a load write a line, and its output be kept. Call it before the first admin starts.
func (l *load) keepAll(t *testing.T) {
	t.Helper()
	l.writes = true
	l.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		_, err := pool.ExecContext(ctx, "UPDATE xxl_job_info SET keep_output = 'ALL'")
		return err
	})
}

// accountOutputs checks that there is a copy of what each run wrote that has ended, once, and that nothing else is left to be done.
func (l *load) accountOutputs(t *testing.T) {
	t.Helper()
	d := l.database
	eventually(t, "that all outputs are copied", func() error {
		if n := d.count(t, "SELECT COALESCE(SUM(runs), 0) FROM punctual_output_ended"); n > 0 {
			return fmt.Errorf("%d runs are noted", n)
		}
		if n := d.count(t, "SELECT COUNT(*) FROM punctual_output WHERE state = 0"); n > 0 {
			return fmt.Errorf("%d runs were put off", n)
		}
		return nil
	})
	ended := d.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 200")
	kept := d.count(t, "SELECT COUNT(*) FROM xxl_job_log l JOIN punctual_output o ON o.log_id = l.id WHERE l.handle_code = 200 AND o.state = 2 AND o.object_id > 0 AND o.text_size > 0 AND o.left_lines = 0")
	pushed := d.count(t, "SELECT COUNT(*) FROM punctual_output WHERE pushed = 1")
	if kept != ended || kept == 0 {
		t.Errorf("of %d runs that have ended the output of %d is kept", ended, kept)
	}
	if n := d.count(t, "SELECT COUNT(*) FROM punctual_output_object o WHERE o.live <> (SELECT COUNT(*) FROM punctual_output p WHERE p.object_id = o.id)"); n > 0 {
		t.Errorf("%d objects do not know how many outputs they hold", n)
	}
	t.Logf("the output of %d runs is kept, %d of them as it was pushed", kept, pushed)
}
