package main

import (
	"bytes"
	"net"
	"testing"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/executor/executortest"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:"+executortest.FreePort(t)) // that nobody else has when it is stopped
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Options{DataDir: t.TempDir(), Listener: listener, Sample: app.SampleOff, HTTPJobs: app.SampleOff, UnsafeDB: true})
	if err == nil {
		err = a.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	health := func(args ...string) int {
		var out bytes.Buffer
		return run(append([]string{"health", "--timeout", executortest.Patience.String(), "--listen", listener.Addr().String()}, args...), &out, &out)
	}
	if code := health(); code != 0 {
		t.Errorf("of one that runs: %d", code)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := health("--ready"); code != 1 {
		t.Errorf("of one that does not: %d", code)
	}
}
