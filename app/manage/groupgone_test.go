package manage

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// TestADeletedGroupIsInNoListAnyMore: what was for several groups is for the others; what was for it alone ends, and does not become one for all.
// A group that is given its id again is nobody's.
func TestADeletedGroupIsInNoListAnyMore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := tokenBundle(t, pool)
		ctx := t.Context()
		service, err := webhook.New(webhook.Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Key: make([]byte, 32)})
		if err != nil {
			t.Fatal(err)
		}
		b.Groups.cfg.Webhooks = service
		gone, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "gone-soon", Title: "g"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "UPDATE xxl_job_user SET permission = ? WHERE id = ?", fmt.Sprintf("%d, %d,1%d", b.group, gone, gone), b.user.UserID); err != nil {
			t.Fatal(err)
		}
		alone := b.token(t, b.admin, APITokenInput{Name: "alone", Groups: []int64{gone}})
		both := b.token(t, b.admin, APITokenInput{Name: "both", Groups: []int64{b.group, gone}})
		every := b.token(t, b.admin, APITokenInput{Name: "every"})
		hooks := map[string]string{"only": fmt.Sprint(gone), "two": fmt.Sprintf("%d,%d", gone, b.group), "all": ""}
		for name, groups := range hooks {
			_, err := db.New().InsertWebhook(ctx, pool, db.InsertWebhookParams{Name: name, Config: "c", Types: "punctual.run.finished", GroupIds: groups, State: "on", MadeBy: "root", UpdatedAt: b.now.UnixMilli()})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Groups.Delete(ctx, b.admin, gone); err != nil {
			t.Fatal(err)
		}

		u, err := db.New().GetUser(ctx, pool, b.user.UserID)
		if want := fmt.Sprintf("%d,1%d", b.group, gone); err != nil || string(u.Permission) != want {
			t.Errorf("the user may use %q, %v; want %q", u.Permission, err, want)
		}
		list, err := b.APITokens.List(ctx, b.admin, true)
		if err != nil {
			t.Fatal(err)
		}
		type standing struct {
			Groups  string
			Revoked bool
		}
		got := make(map[int64]standing)
		for _, token := range list {
			got[token.ID] = standing{db.IDList(token.Groups), token.State == APITokenRevoked}
		}
		want := map[int64]standing{alone.ID: {fmt.Sprint(gone), true}, both.ID: {fmt.Sprint(b.group), false}, every.ID: {"", false}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
		rows, err := db.New().ListWebhooks(ctx, pool)
		if err != nil {
			t.Fatal(err)
		}
		left := make(map[string]string)
		for _, r := range rows {
			left[r.Name] = r.State + " " + r.GroupIds
		}
		if diff := cmp.Diff(map[string]string{"only": "off " + fmt.Sprint(gone), "two": "on " + fmt.Sprint(b.group), "all": "on "}, left); diff != "" {
			t.Errorf("webhooks (-want +got):\n%s", diff)
		}
		said := 0
		entries, err := b.Audit.List(ctx, b.admin, AuditFilter{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries.Entries {
			if e.ObjectKind == ObjectAPIToken && e.Action == string(ActionDelete) || e.ObjectKind == ObjectWebhook && e.Action == string(ActionUpdate) {
				said++
			}
		}
		if said != 3 {
			t.Errorf("%d entries of what ended with the group; want 3", said)
		}
	})
}

// TestADeletedGroupLeavesTheOthersToAUser whom somebody gives another one at the same moment.
func TestADeletedGroupLeavesTheOthersToAUser(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets them in one after the other
	b, ctx := tokenBundle(t, pool), t.Context()
	gone, err := b.Groups.Create(ctx, b.admin, GroupInput{AppName: "gone-soon", Title: "g"})
	if err != nil {
		t.Fatal(err)
	}
	permit := func(tx db.DBTX, groups ...int64) {
		if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_user SET permission = ? WHERE id = ?", db.IDList(groups), b.user.UserID); err != nil {
			t.Error(err)
		}
	}
	permit(pool, b.group, gone)
	deleted := make(chan error, 1)
	err = pool.InTurn(ctx, ObjectUser, func(_ context.Context, tx *sql.Tx) error {
		permit(tx, b.group, gone, b.closed)
		dbtest.Hold(t, pool, tx)
		go func() { deleted <- b.Groups.Delete(db.Patient(ctx), b.admin, gone) }()
		dbtest.AwaitStatement(t, pool, "UPDATE xxl_job_user SET", "INTO punctual_turn")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	u, err := db.New().GetUser(ctx, pool, b.user.UserID)
	if want := db.IDList([]int64{b.group, b.closed}); err != nil || string(u.Permission) != want {
		t.Errorf("the user may use %q, %v; want %q", u.Permission, err, want)
	}
}
