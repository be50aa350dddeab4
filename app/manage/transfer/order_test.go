package transfer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhatIsDueSoonIsChangedLast: whoever claims a job that an import has changed waits for the end of the whole import.
func TestWhatIsDueSoonIsChangedLast(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		file := func(retries int, jobs ...string) string {
			text := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n"
			for _, job := range jobs {
				text += fmt.Sprintf("      - {author: ann, handler: h, retries: %d, %s}\n", retries, job)
			}
			return text
		}
		soon, late := "description: soon, schedule: CRON, cron: '0 7 5 * * ?', time_zone: UTC, state: running", "description: late, schedule: CRON, cron: '0 0 5 * * ?', time_zone: UTC, state: running"
		stopped, old := "description: stopped, schedule: CRON, cron: '0 7 5 * * ?'", "description: old, schedule: NONE"
		opts := Options{FileStates: true, Source: "git/jobs", Prune: true}
		b.apply(t, b.admin, read(t, file(0, soon, late, stopped, old)), opts)
		before := len(b.bundleAudit(t))
		b.apply(t, b.admin, read(t, file(1, soon, late, stopped, "description: new, schedule: NONE")), opts)
		said := entries(t, b.bundleAudit(t))
		done := said[:len(said)-before]
		slices.Reverse(done) // the newest come first
		if diff := cmp.Diff([]string{"update stopped", "create new", "update late", "update soon", "delete old"}, done); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAnApplyNotesTheRevisionOfEveryJob: also of those that stay as they are, and of those alone that are the source's.
func TestAnApplyNotesTheRevisionOfEveryJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool)
		text := yamlOf() + "      - {description: open the day, author: ann, schedule: NONE, handler: h}\n      - {description: script, author: ann, schedule: NONE, kind: GLUE_SHELL, script: echo one}\n"
		kept := func(source string) string {
			t.Helper()
			rows, err := db.New().ListFileJobsOfSource(t.Context(), pool, source)
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, row := range rows {
				list = append(list, fmt.Sprintf("%s %v", row.Revision, row.Version != ""))
			}
			return strings.Join(list, ", ")
		}
		for _, revision := range []string{"one", "two", "two", "three"} {
			b.apply(t, b.admin, read(t, text), Options{Source: "git/jobs", Revision: revision})
			if got, want := kept("git/jobs"), strings.TrimSuffix(strings.Repeat(revision+" true, ", 3), ", "); got != want {
				t.Errorf("after %s: %s, want %s", revision, got, want)
			}
		}
		done := b.apply(t, b.admin, read(t, yamlOf("retries: 3")), Options{Source: "git/jobs", Revision: "four"})
		if got, want := kept("git/jobs"), "four true, three true, three true"; got != want {
			t.Errorf("after a part of them: %s, want %s", got, want)
		}
		if _, changed, err := b.Jobs.InFiles(t.Context(), done.Items[0].ID); err != nil || changed {
			t.Errorf("what was applied has changed since: %v, %v", changed, err)
		}
	})
}
