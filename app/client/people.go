package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// TokensCmd looks after API tokens.
type TokensCmd struct {
	List   tokensList   `cmd:"" default:"withargs" help:"List your API tokens."`
	Create tokensCreate `cmd:"" help:"Make an API token; it takes a token with the scope admin."`
	Revoke tokensRevoke `cmd:"" help:"Revoke API tokens for good."`
}

var tokenColumns = []column{
	field("ID", "id"), field("NAME", "name"), field("OWNER", "owner"), field("SCOPE", "scope"), field("STATE", "state"), field("EXPIRES", "expires_at"), field("USED", "used_at"),
	wideField("FROM", "used_from"), wideField("GROUPS", "group_ids"), wideField("BEGINS WITH", "hint"), wideField("CREATED", "created_at"),
}

type tokensList struct {
	Target
	All bool `help:"Everybody's, which takes an administrator."`
}

func (c tokensList) Run(ctx context.Context, s Streams) error {
	query := make(url.Values)
	if c.All {
		query.Set("all", "true")
	}
	return c.get(ctx, s, "/tokens", query, unpaged, tokenColumns)
}

type tokensCreate struct {
	Target
	Name  string     `arg:"" help:"What it is for."`
	Scope []string   `required:"" help:"The rights that it has at most: view, run, schedule, edit, glue (scripts) or admin; may be repeated."`
	Group []groupRef `placeholder:"GROUP" complete:"groups" help:"A group that it is for, by its number or its app name; may be repeated. Without it, all of its owner's."`
	Days  int        `default:"90" help:"How many days it counts; 0: until it is revoked."`
}

func (c tokensCreate) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	body := map[string]any{"name": c.Name, "scope": c.Scope, "days": c.Days}
	groups, err := findGroups(ctx, a, c.Group)
	if err != nil {
		return err
	}
	if len(groups) > 0 {
		body["group_ids"] = groups
	}
	raw, err := a.do(ctx, http.MethodPost, "/tokens", nil, body)
	if err != nil {
		return err
	}
	if c.Output != "table" && c.Output != "wide" {
		return (printer{s.Out, c.Output}).one(raw, tokenColumns)
	}
	var made struct {
		ID    int64  `json:"id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	fmt.Fprintf(s.Err, "token %d: it is told this once\n", made.ID)
	_, err = fmt.Fprintln(s.Out, made.Token)
	return err
}

type tokensRevoke struct {
	Target
	IDs []int64 `arg:"" name:"id" help:"The numbers of the tokens."`
}

func (c tokensRevoke) Run(ctx context.Context, s Streams) error {
	return c.each(ctx, s, c.IDs, "token", http.MethodDelete, "/tokens/%d", nil, "revoked")
}

// UsersCmd lists users.
type UsersCmd struct {
	Target
	Limit limit `default:"100" help:"How many at most; 0 for all."`
}

// Run does it.
func (c UsersCmd) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/users", make(url.Values), int(c.Limit), []column{
		field("ID", "id"), field("NAME", "name"), field("ROLE", "role"), field("STATE", "state"), field("SERVICE", "service"), field("SIGNED IN", "login_at"), wideField("PROVIDER", "provider"),
	})
}

// AlarmsCmd shows where alarms go.
type AlarmsCmd struct {
	Messages alarmsMessages `cmd:"" default:"withargs" help:"List the messages that were sent or wait, the newest first."`
	Channels alarmsChannels `cmd:"" help:"List the channels."`
	Retry    alarmsRetry    `cmd:"" help:"Send messages that wait, or were given up, at once."`
	Open     alarmsOpen     `cmd:"" help:"List the jobs whose alarms have not recovered, and who looks after them."`
	Ack      alarmsAck      `cmd:"" help:"Say that you look after the alarms of jobs, or take it back."`
}

type alarmsMessages struct {
	Target
	State string `enum:"waiting,sending,sent,given_up,any" default:"any" help:"waiting, sending, sent, given_up or any."`
	Limit limit  `default:"50" help:"How many at most; 0 for all."`
}

func (c alarmsMessages) Run(ctx context.Context, s Streams) error {
	query := make(url.Values)
	if c.State != "any" {
		query.Set("state", c.State)
	}
	return c.get(ctx, s, "/alarms/messages", query, int(c.Limit), []column{
		field("ID", "id"), field("STATE", "state"), field("CAUSE", "cause"), field("JOB", "job"), field("CHANNEL", "channel"), field("CREATED", "created_at"), wideField("RUN", "run_id"),
		wideField("TO", "recipient"), wideField("TRIES", "tries"), field("ERROR", "error"),
	})
}

type alarmsChannels struct{ Target }

func (c alarmsChannels) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/alarms/channels", make(url.Values), unpaged, []column{
		field("ID", "id"), field("NAME", "name"), field("KIND", "kind"), field("ENABLED", "enabled"), field("LAST SENT", "last_ok_at"), wideField("LAST FAILED", "last_error_at"), field("ERROR", "last_error"),
	})
}

type alarmsRetry struct {
	Target
	IDs []int64 `arg:"" name:"id" help:"The numbers of the messages."`
}

func (c alarmsRetry) Run(ctx context.Context, s Streams) error {
	return c.each(ctx, s, c.IDs, "message", http.MethodPost, "/alarms/messages/%d/retry", nil, "is being sent")
}

// objectOf names what something was done to; what has no name by its number.
func objectOf(i item) string {
	if name, _ := i["object_name"].(string); name != "" {
		return name
	}
	return i.text("object_id")
}

// AuditLogCmd lists what people and programs did.
type AuditLogCmd struct {
	Target
	User   string    `help:"Only what this user did."`
	Action string    `help:"Only this action, such as update or login."`
	Kind   string    `help:"Only what was done to objects of this kind, such as job or user."`
	Object int64     `placeholder:"ID" help:"Only what was done to the object with this number."`
	Since  time.Time `placeholder:"TIME" help:"Only what was done at this moment or later, as in 2026-12-31T23:30:00+08:00."`
	Limit  limit     `default:"50" help:"How many at most; 0 for all."`
}

// Run does it.
func (c AuditLogCmd) Run(ctx context.Context, s Streams) error {
	query := make(url.Values)
	for name, value := range map[string]string{"user": c.User, "action": c.Action, "object_kind": c.Kind} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Object != 0 {
		query.Set("object_id", strconv.FormatInt(c.Object, 10))
	}
	if !c.Since.IsZero() {
		query.Set("since", c.Since.Format(time.RFC3339))
	}
	return c.get(ctx, s, "/audit", query, int(c.Limit), []column{
		field("ID", "id"), field("AT", "at"), field("USER", "user"), field("ACTION", "action"), field("KIND", "object_kind"), {title: "OBJECT", value: objectOf}, wideField("OBJECT ID", "object_id"), wideField("FROM", "from"),
	})
}

type alarmsOpen struct {
	Target
	Limit limit `default:"100" help:"How many at most; 0 for all."`
}

var openAlarmColumns = []column{
	field("JOB ID", "job_id"), field("JOB", "job"), {title: "CAUSES", value: alarmCauses}, {title: "SINCE", value: alarmText("since")}, {title: "LOOKED AFTER BY", value: alarmText("acknowledged_by")},
	{title: "REMARK", value: alarmText("remark"), wide: true}, wideField("GROUP", "group_id"),
}

// alarmsOf are the open alarms of a job as they are read.
func alarmsOf(i item) []item {
	list, _ := i["alarms"].([]any)
	out := make([]item, 0, len(list))
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func alarmCauses(i item) string {
	var causes []string
	for _, o := range alarmsOf(i) {
		causes = append(causes, o.text("cause"))
	}
	return strings.Join(causes, ",")
}

// alarmText is a field of the first alarm of a job.
func alarmText(name string) func(i item) string {
	return func(i item) string {
		if list := alarmsOf(i); len(list) > 0 {
			return list[0].text(name)
		}
		return ""
	}
}

func (c alarmsOpen) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/alarms/open", make(url.Values), int(c.Limit), openAlarmColumns)
}

type alarmsAck struct {
	Target
	Jobs   []jobRef `arg:"" name:"job" complete:"jobs" help:"Their jobs: numbers, or whole descriptions."`
	Remark string   `help:"What whoever sees the job reads."`
	Undo   bool     `help:"Take it back: the alarms are told again."`
}

func (c alarmsAck) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	way, said := "acknowledge", "acknowledged"
	var body any = map[string]any{"remark": c.Remark}
	if c.Undo {
		way, said, body = "unacknowledge", "not acknowledged any more", nil
	}
	ids := make([]int64, len(c.Jobs))
	for i, job := range c.Jobs {
		if ids[i], err = job.find(ctx, a); err != nil {
			return err
		}
	}
	return c.each(ctx, s, ids, "job", http.MethodPost, "/alarms/open/%d/"+way, body, said)
}
