package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/openapi"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// On a copy of a production's database an admin must not do what that one's did: run its jobs, send its alarms, answer its executors, delete
// what it kept. So a database can be held. The admins that start on it serve pages and API v1 for whoever looks and sets right, and begin with
// the rest, which is [App.begin], when somebody says go; in the meantime the engine is not started, so that there is nothing to hold back.

// goEvery is how often an admin that is held looks whether it may begin.
const goEvery = 100 * time.Millisecond

// goAgain is how long it waits before it tries again to begin, which the database has just not let it.
const goAgain = 2 * time.Second

// awaitGo begins when the hold has ended.
func (a *App) awaitGo(loop context.Context, end func()) {
	a.logger.Warn("this database is held: no job runs, and nothing is sent or deleted, until an administrator says go on the nodes page, or punctual hold end does")
	var again time.Time // the next try
	for range tick.Every(loop, goEvery) {
		if _, held := a.held.Hold(); held || time.Now().Before(again) || !a.mu.TryLock() { // who has it may be about to stop, and waits for this
			continue
		}
		err := a.tryGo(loop, end)
		a.mu.Unlock()
		if err == nil {
			return
		}
		a.logger.Error("begin after the hold, and try again", "error", err)
		again = time.Now().Add(goAgain)
	}
}

// tryGo begins, unless the admin has stopped. With an error it is held as before.
func (a *App) tryGo(loop context.Context, end func()) error {
	if a.state != stateStarted {
		return nil
	}
	err := a.engine.Arrive(loop) // for as long as it was held nobody took beats of executors
	if err == nil {
		err = a.begin(context.WithoutCancel(loop), loop, end)
	}
	if err != nil {
		a.engine.Hold()
		return err
	}
	a.logger.Info("the hold has ended")
	return nil
}

// heldBack refuses, while the database is held, executors and whoever reports to this admin: they keep what they have, and come again.
func (a *App) heldBack(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.Path
		if _, protocol := openapi.Name(path); a.engine.Held() && (protocol || strings.HasPrefix(path, httpPath+"/") || strings.HasPrefix(path, callbackPath)) {
			c.Response().Header().Set("Retry-After", "30")
			return c.String(http.StatusServiceUnavailable, "held\n")
		}
		return next(c)
	}
}

// livesWithin is how long ago an admin that lives has beaten at most, as this machine's clock says.
const livesWithin = 15 * time.Second

// Hold has the admins that start on a database from now on hold still. It refuses one on which an admin works: that one would go on.
func Hold(ctx context.Context, o Options, reason string) error {
	return withService(ctx, o, func(service *manage.Service, by auth.Principal, pool *db.Pool) error {
		if pool.Dialect() == db.SQLite { // its lock has refused that
			return service.Settings.SetHold(ctx, by, reason)
		}
		nodes, err := db.New().ListNodes(ctx, pool)
		if err != nil {
			return db.Error(err)
		}
		for _, n := range nodes {
			if age := time.Since(time.UnixMilli(n.BeatAt)).Abs(); n.State == 1 && age < livesWithin {
				return wrong("the admin %s works on this database: a hold is for a copy, before an admin starts on it. If it does not, as in a copy that was made a moment ago, wait %s", n.Name, livesWithin)
			}
		}
		return service.Settings.SetHold(ctx, by, reason)
	})
}

// EndHold lets the admins that wait begin; ownStore as in [manage.Settings.EndHold].
func EndHold(ctx context.Context, o Options, ownStore bool) error {
	return withService(ctx, o, func(service *manage.Service, by auth.Principal, _ *db.Pool) error {
		return service.Settings.EndHold(ctx, by, ownStore)
	})
}
