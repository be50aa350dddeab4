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
