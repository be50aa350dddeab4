package manage

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/secret"
)

func TestSecretsAreSetByWhoMayWriteScriptsAndUsedByWhoMayEdit(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		sealing, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		b := setup(t, pool, func(c *Config) { c.Secrets = secret.NewStore(sealing) })
		with := func(r auth.Rights) auth.Principal {
			return auth.NewPrincipal(9, "bob", auth.RoleUser, "").Grant(b.group, r)
		}
		runner, editor, writer, both := with(auth.RightRun), with(auth.RightEdit), with(auth.RightRun|auth.RightGlue), with(auth.RightEdit|auth.RightGlue)
		set := func(p auth.Principal, group int64, name, value string) string {
			return kind(b.Secrets.Set(ctx, p, group, name, value))
		}
		for name, got := range map[string][2]string{
			"who runs":             {set(runner, b.group, "A", "value"), "403"},
			"who edits":            {set(editor, b.group, "A", "value"), "403"},
			"who writes scripts":   {set(writer, b.group, "A", "value"), "403"},
			"in another group":     {set(both, b.closed, "A", "value"), "404 problem.group.gone"},
			"an odd name":          {set(both, b.group, "A-B", "value"), "422 name:secret.error.name"},
			"a short value":        {set(both, b.group, "A", "abc"), "422 value:secret.error.short"},
			"edits and scripts":    {set(both, b.group, "db_password", "value one"), "ok"},
			"in place of one":      {set(both, b.group, "DB_PASSWORD", "value two"), "ok"},
			"who edits deletes":    {kind(b.Secrets.Delete(ctx, editor, b.group, "DB_PASSWORD")), "403"},
			"what does not exist":  {kind(b.Secrets.Delete(ctx, both, b.group, "NONE")), "404 problem.secret.gone"},
			"who runs looks at it": {func() string { _, err := b.Secrets.List(ctx, runner, b.group); return kind(err) }(), "403"},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %q, want %q", name, got[0], got[1])
			}
		}
		list, err := b.Secrets.List(ctx, editor, b.group)
		if err != nil || len(list) != 1 || list[0].Name != "DB_PASSWORD" || list[0].UpdatedBy != "bob" {
			t.Errorf("list %+v, %v", list, err)
		}
		// The audit log says who, and not what.
		log, err := b.Audit.List(ctx, b.admin, AuditFilter{Kind: ObjectSecret, Group: b.group, Limit: 10})
		if err != nil || len(log.Entries) != 2 {
			t.Fatalf("audit: %d, %v", len(log.Entries), err)
		}
		for _, e := range log.Entries {
			if _, before, after, err := b.Audit.Get(ctx, b.admin, e.ID); err != nil || before != nil || after != nil || e.ObjectName != "DB_PASSWORD" {
				t.Errorf("audit entry %+v %v %v %v", e, before, after, err)
			}
		}

		// Who may only run a job does not have a secret printed by it.
		id := b.create(t, func(in *JobInput) { in.Param = "own ${{ secrets.DB_PASSWORD }}" })
		param := func(p auth.Principal, text string) string {
			_, err := b.Jobs.Trigger(ctx, p, id, RunInput{Param: &text, Type: jobspec.TriggerManual})
			return kind(err)
		}
		if got := param(runner, "echo ${{ secrets.DB_PASSWORD }}"); got != "422 param:job.error.param_secret" {
			t.Errorf("who runs, with a secret: %q", got)
		}
		for name, got := range map[string]string{"its own": param(runner, "own ${{ secrets.DB_PASSWORD }}"), "none": param(runner, "x"), "an editor": param(with(auth.RightRun|auth.RightEdit), "echo ${{ secrets.DB_PASSWORD }}")} {
			if got != "ok" {
				t.Errorf("%s: %q", name, got)
			}
		}
		// Nor does who may write scripts, but not edit jobs.
		scripted := b.create(t, func(in *JobInput) {
			in.Glue, in.Handler, in.GlueSource, in.GlueRemark = "GLUE_SHELL", "", "id", "first"
		})
		use := GlueInput{Source: "# punctual:env P=${{ secrets.DB_PASSWORD }}\nid", Remark: "uses it"}
		if got := kind(b.Jobs.SaveGlue(ctx, writer, scripted, use)); got != "422 source:job.error.source_secret" {
			t.Errorf("a script's author: %q", got)
		}
		if got := kind(b.Jobs.SaveGlue(ctx, both, scripted, use)); got != "ok" {
			t.Errorf("who may both: %q", got)
		}
		if got := kind(b.Jobs.SaveGlue(ctx, writer, scripted, GlueInput{Source: use.Source + "\ndate", Remark: "goes on"})); got != "ok" {
			t.Errorf("a script that uses it already: %q", got)
		}

		none := setupSecretsWithoutKey(pool, b)
		if got := kind(none.Set(ctx, b.admin, b.group, "A", "value")); got != "409 problem.secret.nokey" {
			t.Errorf("without a secret key: %q", got)
		}
		// A group that is deleted takes its secrets along.
		if _, err := pool.ExecContext(ctx, "DELETE FROM xxl_job_info"); err != nil {
			t.Fatal(err)
		}
		if err := b.Groups.Delete(ctx, b.admin, b.group); err != nil {
			t.Fatal(err)
		}
		if left, err := db.New().ListSecrets(ctx, pool, b.group); err != nil || len(left) != 0 {
			t.Errorf("%d secrets are left of group %s, %v", len(left), strconv.FormatInt(b.group, 10), err)
		}
		if text := strings.Join([]string{string(log.Entries[0].Action), string(log.Entries[1].Action)}, " "); text != "rotate create" {
			t.Errorf("audit: %s", text)
		}
	})
}

func setupSecretsWithoutKey(pool *db.Pool, b *bundle) *Secrets {
	return New(Config{Pool: pool, Engine: b.engine}).Secrets
}

// TestNoSecretIsLeftInAGroupThatIsGone: whoever sets one in a group that is deleted at that moment is refused, or it goes with the group. Nor are
// there more than a group may have where several are set at once.
func TestNoSecretIsLeftInAGroupThatIsGone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := db.Patient(t.Context()) // or one of them is told that the row is locked, where the other takes seconds
		sealing, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		b := setup(t, pool, func(c *Config) { c.Secrets = secret.NewStore(sealing) })
		for range 40 {
			group, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "short-lived", Title: "s"})
			if err != nil {
				t.Fatal(err)
			}
			var both sync.WaitGroup
			var gone, set error
			both.Go(func() { gone = b.Groups.Delete(ctx, b.admin, group) })
			both.Go(func() { set = b.Secrets.Set(ctx, b.admin, group, "KEY", "value") })
			both.Wait()
			if got := kind(gone) + ", " + kind(set); got != "ok, ok" && got != "ok, 404 problem.group.gone" {
				t.Fatal(got)
			}
			if left, err := db.New().ListSecrets(ctx, pool, group); err != nil || len(left) != 0 {
				t.Fatalf("%d secrets are left of a group that is gone, %v", len(left), err)
			}
		}
		for i := range maxSecrets - 1 {
			if err := b.Secrets.Set(ctx, b.admin, b.group, "K"+strconv.Itoa(i), "value"); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					if got := kind(b.Secrets.Set(ctx, b.admin, b.group, "LAST"+strconv.Itoa(i), "value")); got != "ok" && got != "409 problem.secret.many" {
						t.Error(got)
					}
				})
			}
			all.Wait()
			if left, err := db.New().ListSecrets(ctx, pool, b.group); err != nil || len(left) != maxSecrets {
				t.Fatalf("there are %d secrets, %v", len(left), err)
			}
			if _, err := pool.ExecContext(ctx, "DELETE FROM punctual_secret WHERE name LIKE 'LAST%'"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
