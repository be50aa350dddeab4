package bench

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// plain is an executor that does no more than XXL-JOB's protocol asks for, as those of others are: it takes a run a request, answers when it
// has read it, and reports from one thread all that has ended since. It keeps nothing, so that what is measured is the admin's.
type plain struct {
	admins  *wire.AdminClient
	handle  map[string]executor.Handler // by name; what has none ends well
	results chan wire.Callback
}

// done is its answer to what it has done.
var done = wire.AppendAnswer(nil, wire.CodeSuccess, "", nil)

func newPlain(admins []string, token string, handle map[string]executor.Handler) *plain {
	return &plain{admins: wire.NewAdminClient(wire.NewHTTPClient(2), admins, token, "bench", 30*time.Second), handle: handle,
		results: make(chan wire.Callback, 1_000_000)}
}

// run serves and reports until ctx ends.
func (p *plain) run(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go p.register(ctx, "http://"+l.Addr().String()+"/")
	go p.report(ctx)
	server := &http.Server{Handler: p}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// register says every half a minute that the executor lives, and at once until an admin has heard it.
func (p *plain) register(ctx context.Context, address string) {
	for ctx.Err() == nil {
		pause := 30 * time.Second
		if err := p.admins.Registry(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "bench", RegistryValue: address}); err != nil {
			pause = 100 * time.Millisecond
		}
		if wait(ctx, pause) != nil {
			return
		}
	}
}

func (p *plain) report(ctx context.Context) {
	for {
		var ended []wire.Callback
		select {
		case first := <-p.results:
			ended = append(ended, first)
		case <-ctx.Done():
			return
		}
		for more := len(p.results); more > 0; more-- {
			ended = append(ended, <-p.results)
		}
		if err := p.admins.Callback(ctx, ended); err != nil && ctx.Err() == nil {
			slog.Warn("report", "error", err, "results", len(ended))
		}
	}
}

// ServeHTTP takes runs, and says that it lives.
func (p *plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received, answer := time.Now(), done
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	switch r.URL.Path {
	case "/run":
		var req wire.RunRequest
		if req, err = wire.DecodeRun(body); err == nil {
			p.end(r.Context(), &req, received)
		}
	case "/beat", "/idleBeat":
	default: // by which an admin knows of which releases its paths are (docs/compat.md §1.7)
		answer = wire.AppendAnswer(nil, wire.CodeFail, "invalid request, uri-mapping("+r.URL.Path+") not found.", nil)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// end does what there is to do and has the result reported.
func (p *plain) end(ctx context.Context, req *wire.RunRequest, received time.Time) {
	result := wire.Callback{LogID: req.LogID, LogDateTim: req.LogDateTime, HandleCode: wire.CodeSuccess}
	if handle := p.handle[req.ExecutorHandler]; handle != nil {
		err := handle(ctx, &executor.Run{JobID: req.JobID, LogID: req.LogID, Handler: req.ExecutorHandler, Param: req.ExecutorParams,
			Planned: time.UnixMilli(req.LogDateTime), Received: received})
		if err != nil {
			result.HandleCode, result.HandleMsg = wire.CodeFail, err.Error()
		}
	}
	p.results <- result
}
