package executor_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/executor"
)

// A program with a job of its own.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ex, err := executor.New(executor.Config{
		AppName: "orders",
		Admins:  []string{"http://127.0.0.1:8080"},
		Token:   os.Getenv("ORDERS_JOB_TOKEN"),
		DataDir: "/var/lib/orders/executor",
	})
	if err != nil {
		log.Fatal(err)
	}
	ex.Handle("closeDay", func(ctx context.Context, run *executor.Run) error {
		run.Logf("closing %s, slice %d of %d", run.Param, run.Shard.Index, run.Shard.Total)
		// Work that stops when ctx does.
		run.SetResult(fmt.Sprintf("%s is closed", run.Param))
		return nil
	})
	if err := ex.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A handler whose parameter is typed.
func ExampleHandleJSON() {
	ex, err := executor.New(executor.Config{AppName: "orders", Token: os.Getenv("ORDERS_JOB_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	type closing struct {
		Branch string `json:"branch"`
		Force  bool   `json:"force"`
	}
	// The job's parameter is {"branch": "north"}.
	executor.HandleJSON(ex, "closeBranch", func(ctx context.Context, run *executor.Run, param closing) error {
		run.Logf("closing %s for %s", param.Branch, run.Planned.Format(time.DateOnly)) // the day it was planned for, also when it is late
		return nil
	})
}

// Something around every run.
func ExampleExecutor_Use() {
	ex, err := executor.New(executor.Config{AppName: "orders", Token: os.Getenv("ORDERS_JOB_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	ex.Use(func(next executor.Handler) executor.Handler {
		return func(ctx context.Context, run *executor.Run) error {
			began := time.Now()
			err := next(ctx, run)
			slog.Info("run", "handler", run.Handler, "log_id", run.LogID, "took", time.Since(began), "error", err)
			return err
		}
	})
}

// What a program logs with slog can go to the run's log.
func ExampleRun_Logger() {
	var handler executor.Handler = func(ctx context.Context, run *executor.Run) error {
		logger := run.Logger().With("shard", run.Shard.Index)
		logger.Info("closing", "branch", run.Param)
		return nil
	}
	_ = handler
}

// A handler whose runs share something that must be opened and closed.
func ExampleExecutor_HandleWith() {
	ex, err := executor.New(executor.Config{AppName: "orders", Token: os.Getenv("ORDERS_JOB_TOKEN")})
	if err != nil {
		log.Fatal(err)
	}
	var warehouse *os.File
	ex.HandleWith("countStock", executor.HandlerSpec{
		Init: func(context.Context) (err error) {
			warehouse, err = os.Open("/var/lib/orders/stock")
			return err
		},
		Run: func(ctx context.Context, _ *executor.Run) error {
			return count(ctx, warehouse)
		},
		Destroy: func(context.Context) error { return warehouse.Close() },
	})
}

// count is somewhere deep in the program, and finds the run's log by its context.
func count(ctx context.Context, _ *os.File) error {
	if run, ok := executor.FromContext(ctx); ok {
		run.Logf("counting slice %d of %d", run.Shard.Index, run.Shard.Total)
	}
	return nil
}
