package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// WebhookID names the webhook of an operation.
type WebhookID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the webhook."`
}

// WebhookJSON is a webhook as it is read.
type WebhookJSON struct {
	ID           int64          `json:"id" minimum:"1"`
	Name         string         `json:"name"`
	Place        string         `json:"place" doc:"Scheme and host of its address, which is not told again as it may hold a token. Empty: its settings cannot be read with this installation's key."`
	Types        []webhook.Type `json:"types" doc:"The types of events that it is told of; none: all."`
	Groups       []int64        `json:"group_ids" doc:"The groups of whose jobs it is told; none: all."`
	Tags         []string       `json:"tags" doc:"It is told of jobs with one of these tags only; none: of all."`
	State        webhook.State  `json:"state" enum:"on,off,gone" doc:"gone: its receiver said that it is gone for good (410)."`
	Waiting      int64          `json:"waiting" doc:"Events that wait to be sent, up to 10,000."`
	GivenUp      int64          `json:"given_up" doc:"Events that its receiver refused to the end, of those that are kept."`
	Oldest       *time.Time     `json:"oldest_waiting_at" doc:"When the first of those that wait happened."`
	FailingSince *time.Time     `json:"failing_since" doc:"Since when its receiver fails, or refuses whatever it is sent (last_reason is refused then); null: neither."`
	RestUntil    *time.Time     `json:"rests_until" doc:"When it is tried next."`
	LastOK       *time.Time     `json:"last_ok_at"`
	Reason       webhook.Reason `json:"last_reason" enum:",answered,refused,redirect,timeout,connect,broken,name,tls,private,sealed,gone,unsound" doc:"Why the latest try failed."`
	Status       int            `json:"last_status" doc:"The HTTP status of the latest answer; 0: there was none."`
	Dropped      int64          `json:"dropped" doc:"Events that were not kept, because too many waited or for too long."`
	MadeBy       string         `json:"made_by"`
}

// newWebhook is a webhook as somebody wants it.
type newWebhook struct {
	Name    string         `json:"name" minLength:"1" maxLength:"64"`
	URL     string         `json:"url" minLength:"1" maxLength:"2000" doc:"Where events are posted: http or https."`
	Types   []webhook.Type `json:"types,omitempty" maxItems:"20" doc:"The types of events that it is told of; none: all."`
	Groups  []int64        `json:"group_ids,omitempty" maxItems:"200" doc:"The groups of whose jobs it is told; none: all."`
	Tags    []string       `json:"tags,omitempty" maxItems:"50" doc:"It is told of jobs with one of these tags only; none: of all."`
	Enabled *bool          `json:"enabled,omitempty" doc:"Without it, yes."`
}

// webhookPatch is a part of one.
type webhookPatch struct {
	Name    *string         `json:"name,omitempty" minLength:"1" maxLength:"64"`
	URL     *string         `json:"url,omitempty" minLength:"1" maxLength:"2000" doc:"Where events are posted: http or https."`
	Types   *[]webhook.Type `json:"types,omitempty" maxItems:"20" doc:"The types of events that it is told of; none: all."`
	Groups  *[]int64        `json:"group_ids,omitempty" maxItems:"200" doc:"The groups of whose jobs it is told; none: all."`
	Tags    *[]string       `json:"tags,omitempty" maxItems:"50" doc:"It is told of jobs with one of these tags only; none: of all."`
	Enabled *bool           `json:"enabled,omitempty" doc:"Whether events are kept for it and sent."`
}

type webhookAnswer struct {
	ETag string `header:"ETag"`
	Body WebhookJSON
}

// webhookSecret is a webhook with the secret that it has now.
type webhookSecret struct {
	WebhookJSON
	Secret string `json:"secret" doc:"With which Standard Webhooks' libraries verify what is sent. It is told this once."`
}

type webhookCreated struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     webhookSecret
}

// deliveryJSON is an event on its way to a webhook.
type deliveryJSON struct {
	ID       int64          `json:"id" doc:"The number of the delivery."`
	Event    string         `json:"event_id" doc:"What the receiver knows the event by: its id, and webhook-id."`
	Type     string         `json:"type"`
	Job      int64          `json:"job_id"`
	JobName  string         `json:"job" doc:"Empty when it has been deleted."`
	Group    int64          `json:"group_id"`
	Run      int64          `json:"run_id"`
	At       *time.Time     `json:"happened_at"`
	State    string         `json:"state" enum:"waiting,taken,given_up"`
	Tries    int64          `json:"tries"`
	NextAt   *time.Time     `json:"next_at" doc:"When it is tried again, where its receiver refused it."`
	TriedAt  *time.Time     `json:"tried_at" doc:"The latest try."`
	Status   int64          `json:"status" doc:"The HTTP status of the latest answer; 0: there was none."`
	Reason   webhook.Reason `json:"reason" enum:",answered,refused,redirect,timeout,connect,broken,name,tls,private,sealed,gone,unsound" doc:"Why the latest try failed."`
	Answered string         `json:"answer" doc:"The beginning of the latest answer."`
}

// deliveryStates are the states of deliveries, in the order of their numbers.
var deliveryStates = []string{"waiting", "taken", "given_up"}

type deliveryQuery struct {
	WebhookID
	Page
	State string `query:"state" enum:"waiting,taken,given_up" default:"waiting" doc:"Those in this state."`
}

// sentAgain is how many deliveries wait again.
type sentAgain struct {
	Deliveries int64 `json:"deliveries" doc:"How many are sent again."`
}

// webhookNames are what a webhook's fields are called in JSON.
var webhookNames = map[string]string{manage.WebhookGroups: "group_ids"}

func readWebhook(w manage.Webhook) WebhookJSON {
	return WebhookJSON{
		ID: w.ID, Name: w.Name, Place: w.Place, Types: some(w.Types), Groups: some(w.Groups), Tags: some(w.Tags), State: w.State, Waiting: w.Waiting, GivenUp: w.GivenUp,
		Oldest: moment(w.Oldest), FailingSince: moment(w.FailingSince), RestUntil: moment(w.RestUntil), LastOK: moment(w.LastOK), Reason: w.Reason, Status: w.Status,
		Dropped: w.Dropped, MadeBy: w.MadeBy,
	}
}

// some is a list that is never null.
func some[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

func webhookVersion(w manage.Webhook) string { return strconv.FormatInt(w.Version, 10) }

func (a *API) webhookAnswer(ctx context.Context, p auth.Principal, id int64) (*webhookAnswer, error) {
	w, err := a.Manage.Webhooks.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &webhookAnswer{ETag: etag(webhookVersion(w)), Body: readWebhook(w)}, nil
}

func (a *API) webhookWithSecret(ctx context.Context, p auth.Principal, id int64, secret string) (*webhookCreated, error) {
	answer, err := a.webhookAnswer(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return &webhookCreated{Location: address("webhooks", id), ETag: answer.ETag, Body: webhookSecret{WebhookJSON: answer.Body, Secret: secret}}, nil
}

func (a *API) webhooks() {
	const tag = "webhooks"
	add(a, op{method: http.MethodGet, path: "/webhooks", id: "listWebhooks", tag: tag, summary: "List the webhooks that programs are told by, by name",
		text: "They are the administrators'."},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*listOf[WebhookJSON], error) {
			rows, err := a.Manage.Webhooks.List(ctx, p)
			return listed(rows, err, readWebhook)
		})
	add(a, op{method: http.MethodGet, path: "/webhooks/{id}", id: "getWebhook", tag: tag, summary: "Get a webhook"},
		func(ctx context.Context, p auth.Principal, in *WebhookID) (*webhookAnswer, error) {
			return a.webhookAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/webhooks", id: "createWebhook", tag: tag, summary: "Make a webhook", status: http.StatusCreated, names: webhookNames,
		text: "Events are CloudEvents 1.0 in the structured mode, signed as Standard Webhooks says. Each is sent at least once, those about the same run in the order in which they happened."},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			Body newWebhook
		}) (*webhookCreated, error) {
			b := in.Body
			id, secret, err := a.Manage.Webhooks.Create(ctx, p, manage.WebhookInput{Name: b.Name, URL: b.URL, Types: b.Types, Groups: b.Groups, Tags: b.Tags, Off: b.Enabled != nil && !*b.Enabled})
			if err != nil {
				return nil, err
			}
			did(ctx)
			return a.webhookWithSecret(ctx, p, id, secret)
		})
	add(a, op{method: http.MethodPatch, path: "/webhooks/{id}", id: "patchWebhook", tag: tag, summary: "Change fields of a webhook", names: webhookNames,
		text: "What it failed with is forgotten: it is tried at once."},
		func(ctx context.Context, p auth.Principal, in *struct {
			WebhookID
			IfMatch
			Body webhookPatch `contentType:"application/merge-patch+json"`
		}) (*webhookAnswer, error) {
			w, err := a.Manage.Webhooks.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			if _, err := in.current(webhookVersion(w)); err != nil {
				return nil, err
			}
			want := manage.WebhookInput{Name: w.Name, Types: w.Types, Groups: w.Groups, Tags: w.Tags, Off: w.State != webhook.On}
			set(&want.Name, in.Body.Name)
			set(&want.URL, in.Body.URL)
			set(&want.Types, in.Body.Types)
			set(&want.Groups, in.Body.Groups)
			set(&want.Tags, in.Body.Tags)
			if in.Body.Enabled != nil {
				want.Off = !*in.Body.Enabled
			}
			if err := a.Manage.Webhooks.Update(ctx, p, in.ID, w.Version, want); err != nil {
				return nil, in.changed(err)
			}
			did(ctx)
			return a.webhookAnswer(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodDelete, path: "/webhooks/{id}", id: "deleteWebhook", tag: tag, summary: "Delete a webhook with what waits for it"},
		func(ctx context.Context, p auth.Principal, in *struct {
			WebhookID
			IfMatch
			DryRun
		}) (*deletionAnswer, error) {
			w, err := a.Manage.Webhooks.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			return in.delete(in.IfMatch, webhookVersion(w), deletion{ID: in.ID, Name: w.Name}, func(version string) error {
				if version == "" {
					return a.Manage.Webhooks.Delete(ctx, p, in.ID)
				}
				return a.Manage.Webhooks.DeleteVersion(ctx, p, in.ID, w.Version)
			})
		})
	add(a, op{method: http.MethodPost, path: "/webhooks/{id}/secret", id: "rotateWebhookSecret", tag: tag, summary: "Give a webhook a new secret",
		text: "What is sent within a day is signed with the one before it too."},
		func(ctx context.Context, p auth.Principal, in *struct {
			WebhookID
			IfMatch
		}) (*webhookCreated, error) {
			w, err := a.Manage.Webhooks.Get(ctx, p, in.ID)
			if err != nil {
				return nil, err
			}
			if _, err := in.current(webhookVersion(w)); err != nil {
				return nil, err
			}
			secret, err := a.Manage.Webhooks.Rotate(ctx, p, in.ID, w.Version)
			if err != nil {
				return nil, in.changed(err)
			}
			did(ctx)
			return a.webhookWithSecret(ctx, p, in.ID, secret)
		})
	add(a, op{method: http.MethodPost, path: "/webhooks/{id}/test", id: "testWebhook", tag: tag, summary: "Send a test event", text: "It goes the way of every other, behind what waits: look at the deliveries.", status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *WebhookID) (*struct{}, error) {
			return nil, a.Manage.Webhooks.Test(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodGet, path: "/webhooks/{id}/deliveries", id: "listDeliveries", tag: tag, summary: "List the deliveries of a webhook, the newest first",
		text: "Those that were taken or given up are kept up to 10,000 of each."},
		func(ctx context.Context, p auth.Principal, in *deliveryQuery) (*listOf[deliveryJSON], error) {
			below, err := in.after()
			if err != nil {
				return nil, err
			}
			state := int64(0)
			for i, name := range deliveryStates {
				if name == in.State {
					state = int64(i)
				}
			}
			rows, err := a.Manage.Webhooks.Deliveries(ctx, p, in.ID, state, below, in.Limit+1)
			if err != nil {
				return nil, err
			}
			items := madeOf(rows, func(d manage.Delivery) deliveryJSON {
				return deliveryJSON{
					ID: d.ID, Event: webhook.EventID(d.ID, d.HappenedAt), Type: d.Type, Job: d.JobID, JobName: d.Job, Group: d.JobGroup, Run: d.LogID, At: momentOf(d.HappenedAt), State: deliveryStates[d.State],
					Tries: d.Tries, NextAt: momentOf(d.NextAt), TriedAt: momentOf(d.TriedAt), Status: d.Status, Reason: webhook.Reason(d.Reason), Answered: d.Answer,
				}
			})
			return cut(items, in.Limit, func(d deliveryJSON) int64 { return d.ID }), nil
		})
	add(a, op{method: http.MethodPost, path: "/webhooks/{id}/deliveries/{delivery}/again", id: "sendDeliveryAgain", tag: tag, summary: "Send a delivery again that was taken or given up", text: "It bears the same id."},
		func(ctx context.Context, p auth.Principal, in *struct {
			WebhookID
			Delivery int64 `path:"delivery" minimum:"1" doc:"The number of the delivery."`
		}) (*struct{ Body sentAgain }, error) {
			n, err := a.Manage.Webhooks.SendAgain(ctx, p, in.ID, in.Delivery)
			return &struct{ Body sentAgain }{sentAgain{n}}, err
		})
	add(a, op{method: http.MethodPost, path: "/webhooks/{id}/deliveries/again", id: "sendGivenUpAgain", tag: tag, summary: "Send all deliveries again that were given up"},
		func(ctx context.Context, p auth.Principal, in *WebhookID) (*struct{ Body sentAgain }, error) {
			n, err := a.Manage.Webhooks.SendAgain(ctx, p, in.ID, 0)
			return &struct{ Body sentAgain }{sentAgain{n}}, err
		})
}
