package app

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
)

// TestADeletedWebhookLeavesRoomForAnother, also while what waits for it is being cleared away: nothing is, of an installation that does not run.
func TestADeletedWebhookLeavesRoomForAnother(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
		admin := auth.NewPrincipal(1, "admin", auth.RoleAdmin, "")
		made := int64(0)
		add := func(n int) error {
			id, _, err := a.manage.Webhooks.Create(t.Context(), admin, manage.WebhookInput{Name: fmt.Sprint("hook ", n), URL: "http://127.0.0.1:1/"})
			made = max(made, id)
			return err
		}
		const most = 50
		for n := range most {
			if err := add(n); err != nil {
				t.Fatal(err)
			}
		}
		err = add(most)
		if refused, ok := errors.AsType[*problem.Error](err); !ok || refused.Key != "problem.webhook.many" {
			t.Errorf("one more than there may be: %v", err)
		}
		if err := a.manage.Webhooks.Delete(t.Context(), admin, made); err != nil {
			t.Fatal(err)
		}
		if err := add(most); err != nil {
			t.Errorf("one in the place of another: %v", err)
		}
	})
}
