package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/problem"
)

// liveList says in the document what a stream of a list sends, whose items are called name.
func liveList(path, id, tag, summary, name string) op {
	return op{
		method: http.MethodGet, path: path, id: id, tag: tag, media: eventStream, summary: summary,
		text: "Server-sent events: " + name + " for each item of the list at the beginning, and then whenever one is new or has changed; gone with the id of one that is in the list no more. " +
			"The list is read anew every 2s. A beat comes every 5s.",
	}
}

// liveLists are the streams of lists whose items change by themselves, as the console's pages of them do.
func (a *API) liveLists() {
	add(a, liveList("/jobs/live", "watchJobs", "jobs", "Follow jobs, with their state and next time", "job"),
		func(ctx context.Context, p auth.Principal, in *jobQuery) (*huma.StreamResponse, error) {
			return watchList(ctx, a, p, "job", func(j job) any { return j.id }, func(ctx context.Context, p auth.Principal) (*listOf[job], error) {
				return a.listJobs(ctx, p, in)
			})
		})
	add(a, liveList("/groups/{id}/addresses/live", "watchAddresses", "groups", "Follow how the addresses of a group stand", "address"),
		func(ctx context.Context, p auth.Principal, in *GroupID) (*huma.StreamResponse, error) {
			return watchList(ctx, a, p, "address", func(s addressState) any { return s.Address }, func(ctx context.Context, p auth.Principal) (*listOf[addressState], error) {
				return a.addressesOf(ctx, p, in.ID)
			})
		})
	add(a, liveList("/jobs/{id}/backfills/live", "watchBackfills", "backfills", "Follow the newest backfills of a job", "backfill"),
		func(ctx context.Context, p auth.Principal, in *JobID) (*huma.StreamResponse, error) {
			return watchList(ctx, a, p, "backfill", func(b backfillState) any { return b.ID }, func(ctx context.Context, p auth.Principal) (*listOf[backfillState], error) {
				return a.listBackfills(ctx, p, in.ID)
			})
		})
	add(a, liveList("/nodes/live", "watchNodes", "nodes", "Follow the admins of the cluster", "node"),
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*huma.StreamResponse, error) {
			return watchList(ctx, a, p, "node", func(n node) any { return n.ID }, a.listNodes)
		})
	add(a, liveList("/alarms/messages/live", "watchAlarmMessages", "alarms", "Follow the messages that were sent or wait", "message"),
		func(ctx context.Context, p auth.Principal, in *messageQuery) (*huma.StreamResponse, error) {
			r := requestOf(ctx)
			return watchList(ctx, a, p, "message", func(m alarmMessage) any { return m.ID }, func(ctx context.Context, p auth.Principal) (*listOf[alarmMessage], error) {
				return a.listMessages(ctx, r, p, in)
			})
		})
}

// listWatch is what a stream of a list has sent so far.
type listWatch[T any] struct {
	who   auth.Principal
	name  string // of the event of an item
	id    func(T) any
	read  func(context.Context, auth.Principal) (*listOf[T], error)
	shown map[any]string // the item as it was sent
}

// watchList answers with a stream of a list that is refused as the list itself would be.
func watchList[T any](ctx context.Context, a *API, p auth.Principal, name string, id func(T) any, read func(context.Context, auth.Principal) (*listOf[T], error)) (*huma.StreamResponse, error) {
	if _, err := read(ctx, p); err != nil {
		return nil, err
	}
	return a.stream(requestOf(ctx), p, nil, func() {}, &listWatch[T]{who: p, name: name, id: id, read: read, shown: make(map[any]string)})
}

// As narrows or widens what is seen.
func (w *listWatch[T]) As(_ context.Context, p auth.Principal) error {
	w.who = p
	return nil
}

// Look sends what is new, has changed or is gone. It is the end of a list that is not to be seen any more.
func (w *listWatch[T]) Look(ctx context.Context, s *live.Stream) (ended bool, next time.Duration, err error) {
	found, err := w.read(ctx, w.who)
	if err != nil {
		if k := problem.From(err).Kind; k == problem.NotFound || k == problem.Forbidden {
			return true, 0, nil
		}
		return false, 0, err
	}
	listed := make(map[any]bool, len(found.Body.Items))
	for _, item := range found.Body.Items {
		id := w.id(item)
		listed[id] = true
		data, err := json.Marshal(item)
		if err != nil {
			return false, 0, err
		}
		if w.shown[id] == string(data) {
			continue
		}
		if err := s.Send(w.name, "", data); err != nil {
			return false, 0, err
		}
		w.shown[id] = string(data)
	}
	for id := range w.shown {
		if listed[id] {
			continue
		}
		if err := sendJSON(s, "gone", "", map[string]any{"id": id}); err != nil {
			return false, 0, err
		}
		delete(w.shown, id)
	}
	return false, live.PaceMax, nil
}
