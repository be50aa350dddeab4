// Package executor runs jobs for an XXL-JOB compatible admin: embed it in a program that has work to do, or use the
// ready one in app/cmd/punctual-executor.
//
//	ex, err := executor.New(executor.Config{
//		AppName: "orders", Admins: []string{"http://127.0.0.1:8080"}, Token: token, DataDir: "/var/lib/orders",
//	})
//	ex.Handle("closeDay", func(ctx context.Context, run *executor.Run) error {
//		run.Logf("closing %s", run.Param)
//		return closeDay(ctx, run.Param)
//	})
//	err = ex.Run(ctx) // until ctx ends, then a graceful drain
//
// # The life of a run
//
//	/run ─▶ admission ─▶ journal ─▶ the job's queue ─▶ handler or script ─▶ result ─▶ journal ─▶ callback ─▶ forgotten
//	          │  duplicate id, unknown handler, discarded, queue full, disk full: refused in the answer
//
// A run is answered with success only when it is in the journal (journal.go), so that it is not lost whatever happens to
// the process: after a restart, runs that had not begun are queued again, runs that had begun are reported failed at once
// (nobody can know how far they came), and results no admin has acknowledged are sent again. A log id that was accepted
// once is refused ever after ([seen]).
//
// With [Config.Mode] Pull nobody calls: the executor asks the admins for the same calls, over connections that it makes itself (pull.go), and
// answers them with a request of its own. All else is as above.
//
// # One job, one run at a time
//
// Each job has its own queue, made when a run arrives and gone when the last one ends; there are no idle threads. Block
// strategies are upstream's. Other than upstream, a changed handler or script does not end the run that is going on:
// each run carries its own handler, and the next one simply uses the new one.
//
// A time-out, a kill, COVER_EARLY and a shutdown end a run the same way: its context is cancelled (scripts get SIGTERM,
// then SIGKILL, with all their children), and its result is decided and reported at that moment, once. A handler that
// does not listen to its context keeps the job's queue waiting for [Config.OverlapGrace]; after that the next run starts
// beside it, and both run logs say so.
package executor
