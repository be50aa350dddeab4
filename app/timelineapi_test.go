package app

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestATimelineForPrograms: what ran and what is due in a time, by jobs and by executors, as the console draws it.
func TestATimelineForPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var job struct {
			ID int64 `json:"id"`
		}
		var ran struct {
			Runs []int64 `json:"runs"`
		}
		minute := time.Now().Add(30 * time.Minute).Minute() // of each hour, and none comes while the test goes on
		c.json(201, &job, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0 %d * * * ?"}`, minute))
		path := "/jobs/" + strconv.FormatInt(job.ID, 10)
		c.json(200, new(struct{}), "POST", path+"/start", "")
		c.json(201, &ran, "POST", path+"/trigger", "{}")
		type row struct {
			Job     int64  `json:"job_id"`
			Name    string `json:"name"`
			Address string `json:"address"`
			Runs    []struct {
				ID int64 `json:"id"`
			} `json:"runs"`
			Due []struct {
				From time.Time `json:"from"`
				Runs int       `json:"runs"`
			} `json:"due"`
		}
		var found struct {
			Rows []row `json:"rows"`
			More bool  `json:"more"`
		}
		now := time.Now()
		between := func(from, until time.Duration) string {
			return url.Values{"from": {now.Add(from).Format(time.RFC3339)}, "until": {now.Add(until).Format(time.RFC3339)}}.Encode()
		}
		c.json(200, &found, "GET", "/timeline?"+between(-time.Hour, 150*time.Minute), "")
		if len(found.Rows) != 1 || found.More {
			t.Fatalf("found %+v", found)
		}
		r := found.Rows[0]
		if r.Job != job.ID || r.Name != "close" || len(r.Runs) != 1 || r.Runs[0].ID != ran.Runs[0] {
			t.Errorf("the row is %+v, want runs %v of job %d", r, ran.Runs, job.ID)
		}
		if n := len(r.Due); n != 2 && n != 3 || r.Due[0].Runs != 1 || r.Due[0].From.Minute() != minute || !r.Due[0].From.After(now.Add(-time.Minute)) {
			t.Errorf("due are %+v, want the next hours at minute %d", r.Due, minute)
		}
		c.json(200, &found, "GET", "/timeline?by=executors", "")
		if len(found.Rows) != 1 || found.Rows[0].Job != 0 || found.Rows[0].Address == "" || len(found.Rows[0].Runs) != 1 || len(found.Rows[0].Due) != 0 {
			t.Errorf("by executors: %+v, want the one that was tried", found.Rows)
		}
		c.json(200, &found, "GET", "/timeline?job_id="+strconv.FormatInt(job.ID, 10)+"&"+between(-48*time.Hour, -47*time.Hour), "")
		if len(found.Rows) != 1 || len(found.Rows[0].Runs) != 0 || len(found.Rows[0].Due) != 0 {
			t.Errorf("two days ago there was %+v", found.Rows)
		}
		if got := c.do("GET", "/timeline?job_id=99999", ""); got.status != 404 {
			t.Errorf("of a job that there is not: %d %s", got.status, got.body)
		}
		for _, wrong := range []string{between(time.Hour, 0), between(-15*24*time.Hour, 0)} {
			if got := c.do("GET", "/timeline?"+wrong, ""); got.status != 422 {
				t.Errorf("%s: %d %s", wrong, got.status, got.body)
			}
		}
	})
}

// TestAlarmWordsArePreviewed: words of a channel are drawn without being kept, and what is wrong with them is said of the field.
func TestAlarmWordsArePreviewed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		var channel struct {
			ID      int64  `json:"id"`
			Subject string `json:"subject"`
		}
		c.json(201, &channel, "POST", "/alarms/channels", `{"name":"chat","kind":"slack","url":"http://127.0.0.1:1/hook","subject":"now: {{jobName}}","language":"en"}`)
		var drawn struct {
			Subject string     `json:"subject"`
			Text    string     `json:"text"`
			Of      *time.Time `json:"message_at"`
		}
		of := `"channel_id":` + strconv.FormatInt(channel.ID, 10)
		for _, tc := range [][2]string{
			{`{` + of + `}`, "now: Nightly settlement (an example)"},
			{`{` + of + `,"subject":"{{causeName}} of {{jobName}}"}`, "Failed of Nightly settlement (an example)"},
			{`{"kind":"mail","language":"en","subject":"{{jobName}}!"}`, "Nightly settlement (an example)!"},
		} {
			c.json(200, &drawn, "POST", "/alarms/preview", tc[0])
			if drawn.Subject != tc[1] || drawn.Text == "" || drawn.Of != nil {
				t.Errorf("%s: %+v, want %q", tc[0], drawn, tc[1])
			}
		}
		c.json(200, &channel, "GET", "/alarms/channels/"+strconv.FormatInt(channel.ID, 10), "")
		if channel.Subject != "now: {{jobName}}" {
			t.Errorf("the preview was kept: %q", channel.Subject)
		}
		if got := c.do("POST", "/alarms/preview", `{"text":"{{nothing}}"}`); got.status != 422 || !strings.Contains(got.body, `"field":"text"`) {
			t.Errorf("an unknown placeholder: %d %s", got.status, got.body)
		}
	})
}
