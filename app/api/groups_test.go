package api

import (
	"fmt"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestTheListOfGroupsIsReadAtOnce, however many there are: what is decided for each was read once for each.
func TestTheListOfGroupsIsReadAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx, sent := t.Context(), dbtest.Watch(t, pool)
		for i := range 5 {
			name := fmt.Sprintf("group%d", i)
			if _, err := db.New().InsertGroup(ctx, pool, db.InsertGroupParams{AppName: name, Title: name}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.New().SetGroupOptions(ctx, pool, db.SetGroupOptionsParams{AppName: "group3", MaxRunning: 7}); err != nil {
			t.Fatal(err)
		}
		a := &API{Config: Config{Manage: manage.New(manage.Config{Pool: pool})}}
		list, err := a.listGroups(ctx, auth.Principal{Admin: true}, Page{Limit: 50})
		if err != nil || len(list.Body.Items) != 5 || list.Body.Items[3].MaxRunning != 7 || list.Body.Items[2].MaxRunning != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		if n := len(sent.Transactions("ListGroupOptions")); n != 1 {
			t.Errorf("what is decided for five groups was read %d times", n)
		}
	})
}
