package executor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

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
