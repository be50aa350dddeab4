package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The sample shows a newcomer within a minute what the program does: a real executor on its own port, registered over HTTP
// like any other, and jobs that succeed, print, take long, and fail. Whether an installation has it is a setting of the
// database, so that a later start brings the executor back for the jobs that are still there.
const (
	sampleAppName = manage.SampleAppName
	sampleTitle   = "Sample executor"
	sampleAuthor  = manage.SampleAuthor
	sampleOn      = "on"
	sampleDrain   = 3 * time.Second // nobody waits for a sample
)

const sampleScript = `#!/bin/bash
# Everything printed here appears in the run's output while it runs.
echo "Hello from a shell script, run $PUNCTUAL_LOG_ID of job $PUNCTUAL_JOB_ID"
date
for i in 1 2 3; do
  echo "step $i of 3"
  sleep 1
done
`

// sampleFlow asks a person from three orders on, which are its parameter; it goes on by itself when nobody answers for an hour.
const sampleFlow = `# Five steps: collect orders, pack each, ask a person when they are worth much, ship, and tell of a failure.
# Run it with 2 as the parameter, and nobody is asked.
steps:
  - id: collect
    job: {app_name: ` + sampleAppName + `, description: Go · orders}
    parameter: ${{ flow.param }}
  - id: pack
    needs: collect
    job: {app_name: ` + sampleAppName + `, description: Go · greet}
    parameter: ${{ item }}
    foreach:
      items: fromJSON(steps.collect.output.orders)
      parallel: 2
      max: 100
  - id: approve
    needs: pack
    if: int(steps.collect.output.total) > 500
    approve:
      message: Ship orders worth ${{ steps.collect.output.total }}?
      timeout_seconds: 3600
      default: approve
  - id: ship
    needs: [pack, approve]
    if: always() && steps.pack.state == "success" && steps.approve.state in ["success", "skipped"]
    job: {app_name: ` + sampleAppName + `, description: Go · greet}
    parameter: orders worth ${{ steps.collect.output.total }}
  - id: tell
    needs: [collect, pack, approve, ship]
    if: failure()
    job: {app_name: ` + sampleAppName + `, description: Go · greet}
    parameter: nothing was shipped
outputs:
  orders: len(steps.pack.items)
  total: int(steps.collect.output.total)
`

// startSample decides about the sample, creates its jobs when it is new, and starts its executor. The executor is nil when
// there is none.
func (a *App) startSample(ctx context.Context) (*executor.Executor, error) {
	if a.opts.Sample == SampleOff {
		return nil, nil
	}
	wanted, err := a.settings.get(ctx, settingSample)
	if err != nil {
		return nil, err
	}
	if wanted == "" {
		if a.opts.Sample == SampleAuto && (!a.isNew || a.pool.Dialect() != db.SQLite) {
			return nil, nil
		}
		if err := a.createSample(ctx); err != nil {
			return nil, fmt.Errorf("create sample jobs: %w", err)
		}
		if _, err := a.settings.ensure(ctx, settingSample, func() string { return sampleOn }); err != nil {
			return nil, err
		}
	}
	ex, err := a.runSample(ctx)
	if err != nil { // a pity, and no reason not to schedule
		a.logger.Warn("the sample executor does not start", "error", err)
		return nil, nil
	}
	return ex, nil
}

// createSample makes the group and its jobs, and starts them.
func (a *App) createSample(ctx context.Context) error {
	service := a.manage
	me := auth.NewPrincipal(0, sampleAuthor, auth.RoleAdmin, "")
	group, err := service.Groups.Create(ctx, me, manage.GroupInput{AppName: sampleAppName, Title: sampleTitle})
	if err != nil {
		return err
	}
	job := func(name string, change func(*jobspec.Job)) error {
		j := jobspec.Job{
			Name: name, Author: sampleAuthor, ScheduleType: jobspec.ScheduleFixRate, Misfire: jobspec.MisfireDoNothing, Route: jobspec.RouteFirst,
			Block: wire.BlockSerial, Glue: wire.GlueBean,
		}
		change(&j)
		id, err := service.Jobs.Create(ctx, me, manage.JobInput{Job: j, Group: group})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !j.ScheduleType.Schedules() {
			return nil
		}
		return service.Jobs.Start(ctx, me, id)
	}
	var errs []error
	if a.http.address() != "" {
		errs = append(errs, a.sampleHTTP(ctx, me))
	}
	if may, _ := a.sampleScripts(); may && a.held.Glue() {
		errs = append(errs, job("Shell · 10 s", func(j *jobspec.Job) {
			j.ScheduleType, j.ScheduleConf = jobspec.ScheduleCron, "0/10 * * * * ?"
			j.Glue, j.GlueSource, j.GlueRemark = wire.GlueShell, sampleScript, "sample"
		}))
	}
	return errors.Join(append(errs,
		job("Go · greet", func(j *jobspec.Job) {
			j.ScheduleConf, j.Handler, j.Param = "30", "sampleGreet", "准时 Punctual"
		}),
		job("Go · slow", func(j *jobspec.Job) {
			j.ScheduleType, j.ScheduleConf = jobspec.ScheduleCron, "0 */5 * * * ?"
			j.Handler, j.Param, j.Block = "sampleSlow", "120", wire.BlockCoverEarly
		}),
		job("Go · retry", func(j *jobspec.Job) {
			j.ScheduleConf, j.Handler, j.Retries = "60", "sampleFlaky", 2
		}),
		job("Go · orders", func(j *jobspec.Job) {
			j.ScheduleType, j.Handler, j.Param = jobspec.ScheduleNone, "sampleOrders", "3"
		}),
		job("Flow · orders", func(j *jobspec.Job) {
			j.ScheduleType, j.ScheduleConf = jobspec.ScheduleCron, "0 0 9 * * ?"
			j.Glue, j.GlueSource, j.GlueRemark, j.Param = jobspec.GlueFlow, sampleFlow, "sample", "3"
		}))...)
}

// sampleHTTP makes a job that needs no executor; what it calls is inside.
func (a *App) sampleHTTP(ctx context.Context, me auth.Principal) error {
	groups, err := a.manage.Groups.ByAppName(ctx, manage.HTTPAppName)
	if err != nil || len(groups) == 0 {
		return err
	}
	id, err := a.manage.Jobs.Create(ctx, me, manage.JobInput{Group: groups[0].ID, Job: jobspec.Job{
		Name: "HTTP · hello", Author: sampleAuthor, ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "30", Misfire: jobspec.MisfireDoNothing,
		Route: jobspec.RouteFirst, Block: wire.BlockSerial, Glue: wire.GlueBean, Handler: httpcall.Handler,
		Param: httpcall.Call{URL: "http://" + httpInside + "/hello", Method: http.MethodPost, Data: `{"from":"a sample"}`, Text: "hello"}.String(),
	}})
	if err != nil {
		return fmt.Errorf("HTTP job: %w", err)
	}
	return a.manage.Jobs.Start(ctx, me, id)
}

// runSample starts the sample executor, which reaches this admin the way any executor would.
func (a *App) runSample(ctx context.Context) (_ *executor.Executor, err error) {
	scripts, runAs := a.sampleScripts()
	if scripts && runAs != "" {
		// Its user gets no further than to here.
		if err := os.Chmod(a.opts.DataDir, 0o700); err != nil {
			a.logger.Warn("close the data directory", "error", err)
			scripts = false
		}
	}
	if !scripts {
		a.logger.Info("the sample executor runs no scripts: they could reach the admin's data", "listen", a.listener.Addr().String())
	}
	listener := a.sampleListener(ctx)
	defer func() {
		if err != nil && listener != nil {
			_ = listener.Close() // the executor may have closed it
		}
	}()
	calls, err := wire.TLSOptions{Insecure: a.opts.TLSCert != ""}.Config() // of this very process, whose certificate is for another name
	if err != nil {
		return nil, err
	}
	token := a.tokens.For(sampleAppName)
	ex, err := executor.New(executor.Config{
		AppName: sampleAppName, Admins: []string{a.localURL(a.listener.Addr().String(), "127.0.0.1")}, Token: token,
		HTTPClient:      &http.Client{Transport: freshToken{wire.NewHTTPClient(8, wire.WithTLS(calls)).Transport, a.tokens}},
		InsecureNoToken: a.opts.NoAccessToken,
		// Only this machine may call it, since it runs scripts; port 0 is the first free one from 9999 upwards.
		Listen: "127.0.0.1:0", Listener: listener, DataDir: filepath.Join(a.opts.DataDir, "executor"), GlueEnabled: scripts && (a.opts.Glue == nil || *a.opts.Glue), RunAs: runAs,
		LogRetentionDays: 7, NoSync: true, Logger: a.logger.With("part", "sample executor"),
	})
	if err != nil {
		return nil, err
	}
	ex.Handle("sampleGreet", sampleGreet)
	ex.Handle("sampleSlow", sampleSlow)
	ex.Handle("sampleOrders", sampleOrders)
	ex.Handle("sampleFlaky", sampleFlaky())
	if err := ex.Start(ctx); err != nil {
		return nil, err
	}
	a.sample.Store(&sampleAt{ex.Address(), token})
	a.welcome.Sample = ex.Address()
	if err := a.settings.set(ctx, settingSampleListen, ex.Addr().String()); err != nil {
		a.logger.Warn("remember where the sample executor listens", "error", err)
	}
	// It registers by itself within the next moments. Done here as well, it is there before the first run looks for it.
	if err := a.engine.RegisterWith(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: sampleAppName, RegistryValue: ex.Address(), TakesEnvironment: true}, auth.Fingerprint(a.tokens.For(sampleAppName))); err != nil {
		a.logger.Warn("register the sample executor", "error", err)
	}
	return ex, nil
}

// sampleAt is where the sample executor is, and the token that it began with. It has no other until it is started anew, and nobody can give it
// one where tokens are rotated: so it is called with this one, and calls with the one of the moment.
type sampleAt struct{ address, token string }

// freshToken shows the admin the sample executor's token of the moment.
type freshToken struct {
	http.RoundTripper
	tokens *auth.Tokens
}

func (t freshToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := t.tokens.For(sampleAppName); token != "" {
		r = r.Clone(r.Context())
		r.Header.Set(wire.HeaderToken, token)
	}
	return t.RoundTripper.RoundTrip(r)
}

// sampleUser owns nothing, and so reaches nothing of the admin's.
const sampleUser = "nobody"

// sampleScripts says whether the sample executor runs scripts, and as whom. Its scripts share a machine with the admin's data: the
// database with its sessions and keys. So they run as a user who cannot open it, which takes root; or as the admin's own where
// nobody but the people of this machine can write one.
func (a *App) sampleScripts() (may bool, runAs string) {
	if os.Geteuid() == 0 {
		if _, err := osuser.Lookup(sampleUser); err == nil {
			return true, sampleUser
		}
	}
	return isLoopback(a.listener.Addr()) && !a.opts.behindProxy(), ""
}

func isLoopback(addr net.Addr) bool {
	at, err := netip.ParseAddrPort(addr.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// sampleListener listens where the sample executor did before, because the output of its runs is asked for there. It is nil
// when there was no before, or somebody else has the port now.
func (a *App) sampleListener(ctx context.Context) net.Listener {
	last, err := a.settings.get(ctx, settingSampleListen)
	if err != nil || last == "" {
		return nil
	}
	l, err := net.Listen("tcp", last)
	if err != nil {
		return nil
	}
	if !isLoopback(l.Addr()) { // a row that somebody else wrote
		_ = l.Close()
		return nil
	}
	return l
}

// stopSample drains the sample executor. Runs that take longer are cut short and reported as failed, now or after the next
// start; that is no failure of the stop.
func (a *App) stopSample(ctx context.Context, ex *executor.Executor) {
	if ex == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sampleDrain)
	defer cancel()
	if err := ex.Drain(ctx); err != nil {
		a.logger.Info("the sample executor was cut short", "error", err)
	}
}

// sampleGreet shows a parameter and a result.
func sampleGreet(_ context.Context, run *executor.Run) error {
	run.Logf("the parameter is %q", run.Param)
	run.SetResult("hello, " + run.Param)
	return nil
}

// sampleOrders gives as many orders as its parameter says to the steps of a flow that come after it, and what they are worth.
func sampleOrders(_ context.Context, run *executor.Run) error {
	count := 3
	if _, err := fmt.Sscan(run.Param, &count); err != nil {
		run.Logf("%q is no number of orders; taking %d", run.Param, count)
	}
	count = min(max(count, 0), 100)
	orders := make([]string, count)
	for i := range orders {
		orders[i] = fmt.Sprintf("order %d", i+1)
		run.Logf("%s is worth 200", orders[i])
	}
	list, err := json.Marshal(orders)
	if err != nil {
		return err
	}
	return errors.Join(run.SetOutput("orders", string(list)), run.SetOutput("total", strconv.Itoa(200*count)))
}

// sampleSlow counts seconds up to its parameter, and can be killed.
func sampleSlow(ctx context.Context, run *executor.Run) error {
	seconds := 120
	if _, err := fmt.Sscan(run.Param, &seconds); err != nil {
		run.Logf("%q is no number of seconds; taking %d", run.Param, seconds)
	}
	seconds = min(max(seconds, 1), 3600)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range seconds {
		select {
		case <-ctx.Done():
			run.Logf("ended early: %v", context.Cause(ctx))
			return context.Cause(ctx)
		case <-tick.C:
			run.Logf("%d of %d s", i+1, seconds)
		}
	}
	return nil
}

// sampleFlaky fails two times out of three, so that retries can be seen.
func sampleFlaky() executor.Handler {
	var calls atomic.Int64
	return func(_ context.Context, run *executor.Run) error {
		if n := calls.Add(1); n%3 != 0 {
			run.Logf("attempt %d of 3 fails on purpose", n%3)
			return errors.New("fails on purpose; the retry comes at once")
		}
		run.Logf("the third attempt succeeds")
		return nil
	}
}
