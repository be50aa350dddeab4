package app

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPausesOfAProgram pauses a job and a tag by the API, sees it on the jobs, their times and their list, and ends the pauses.
func TestPausesOfAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		type pause struct {
			ID     int64      `json:"id"`
			Scope  string     `json:"scope"`
			State  string     `json:"state"`
			Name   string     `json:"name"`
			Until  *time.Time `json:"until"`
			Reason string     `json:"reason"`
		}
		type held struct {
			ID     int64      `json:"pause_id"`
			Until  *time.Time `json:"until"`
			By     string     `json:"made_by"`
			Reason string     `json:"reason"`
		}
		var ids []int64
		for _, tags := range []string{`["night"]`, `["day"]`, `[]`} {
			var job struct {
				ID int64 `json:"id"`
			}
			c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0 0 2 * * ?","tags":`+tags+`}`)
			c.json(200, &job, "POST", "/jobs/"+strconv.FormatInt(job.ID, 10)+"/start", "")
			ids = append(ids, job.ID)
		}
		path := func(i int) string { return "/jobs/" + strconv.FormatInt(ids[i], 10) }
		paused := func() (list []int64) {
			var page struct {
				Items []struct {
					ID     int64 `json:"id"`
					Paused *held `json:"paused"`
				} `json:"items"`
			}
			c.json(200, &page, "GET", "/jobs?state=paused", "")
			for _, j := range page.Items {
				if list = append(list, j.ID); j.Paused == nil {
					t.Errorf("job %d is listed as paused and does not say so", j.ID)
				}
			}
			return list
		}
		if got := paused(); len(got) != 0 {
			t.Errorf("%v are paused by nothing", got)
		}

		// What is wrong is said of the field, as it is called here.
		for field, body := range map[string]string{
			"length_seconds": `{"scope":"all","strategy":"skip","reason":"x","cron":"0 0 22 * * ?"}`, "time_zone": `{"scope":"all","strategy":"skip","reason":"x","time_zone":"Mars/Olympus"}`,
			"reason": `{"scope":"all","strategy":"skip","reason":" "}`, "target": `{"scope":"job","target":4711,"strategy":"skip","reason":"x"}`, "tag": `{"scope":"tag","strategy":"skip","reason":"x"}`,
			"until": `{"scope":"all","strategy":"skip","reason":"x","until":"2020-01-01T00:00:00Z"}`, "scope": `{"scope":"galaxy","strategy":"skip","reason":"x"}`,
		} {
			if got := c.do("POST", "/pauses", body); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", field, got.status, got.body)
			}
		}

		until := time.Now().AddDate(0, 0, 3).UTC().Truncate(time.Second)
		var made, same, tagged pause
		body := `{"scope":"job","target":` + strconv.FormatInt(ids[0], 10) + `,"strategy":"once","reason":"database moves","until":"` + until.Format(time.RFC3339) + `"}`
		answer := c.json(201, &made, "POST", "/pauses", body, "Idempotency-Key", "p1")
		if made.State != "active" || made.Name != "close" || made.Until == nil || !made.Until.Equal(until) || answer.header.Get("Location") == "" {
			t.Errorf("made %+v, %v", made, answer.header)
		}
		if c.json(201, &same, "POST", "/pauses", body, "Idempotency-Key", "p1"); same.ID != made.ID {
			t.Errorf("the same key made %d and %d", made.ID, same.ID)
		}
		c.json(201, &tagged, "POST", "/pauses", `{"scope":"tag","tag":"day","strategy":"skip","reason":"inventory"}`)
		if got := paused(); len(got) != 2 || got[0] != ids[1] || got[1] != ids[0] {
			t.Errorf("%v are paused, want %v", got, ids[:2])
		}
		type jobBody struct {
			Paused *held `json:"paused"`
		}
		read := func(method, path string) (job jobBody) {
			c.json(200, &job, method, path, "")
			return job
		}
		if job := read("GET", path(0)); job.Paused == nil || job.Paused.ID != made.ID || job.Paused.Until == nil || !job.Paused.Until.Equal(until) || job.Paused.Reason != "database moves" || job.Paused.By == "" {
			t.Errorf("job 0 says %+v", job.Paused)
		}
		if job := read("GET", path(1)); job.Paused == nil || job.Paused.ID != tagged.ID || job.Paused.Until != nil {
			t.Errorf("job 1 says %+v", job.Paused)
		}
		if job := read("GET", path(2)); job.Paused != nil {
			t.Errorf("job 2 says %+v", job.Paused)
		}
		var next struct {
			Times []time.Time `json:"times"`
			Held  []struct {
				At       time.Time  `json:"at"`
				Until    *time.Time `json:"until"`
				Strategy string     `json:"strategy"`
			} `json:"held"`
		}
		c.json(200, &next, "GET", path(0)+"/next?count=10", "")
		for i, at := range next.Times {
			in := i < len(next.Held)
			if in != at.Before(until) || in && (!next.Held[i].At.Equal(at) || next.Held[i].Strategy != "once" || !next.Held[i].Until.Equal(until)) {
				t.Errorf("time %d: %v, held %+v", i, at, next.Held)
			}
		}
		if len(next.Times) != 10 || len(next.Held) == 0 {
			t.Errorf("%+v", next)
		}

		type pauses struct {
			Items []pause `json:"items"`
			Next  string  `json:"next"`
		}
		var list, second, theirs pauses
		if c.json(200, &list, "GET", "/pauses?limit=1", ""); len(list.Items) != 1 || list.Items[0].ID != tagged.ID || list.Next == "" {
			t.Fatalf("%+v", list)
		}
		if c.json(200, &second, "GET", "/pauses?limit=1&cursor="+list.Next, ""); len(second.Items) != 1 || second.Items[0].ID != made.ID || second.Next != "" {
			t.Errorf("%+v", second)
		}

		end := "/pauses/" + strconv.FormatInt(made.ID, 10) + "/end"
		if got := c.do("POST", end, "", "If-Match", `"7"`); got.status != http.StatusPreconditionFailed {
			t.Errorf("another version: %d %s", got.status, got.body)
		}
		if c.json(200, &made, "POST", end, "", "If-Match", answer.header.Get("ETag")); made.State != "over" {
			t.Errorf("ended: %+v", made)
		}
		if got := c.do("POST", end, ""); got.status != http.StatusConflict {
			t.Errorf("ended twice: %d %s", got.status, got.body)
		}
		if got := c.do("POST", end, "", "If-Match", answer.header.Get("ETag")); got.status != http.StatusPreconditionFailed {
			t.Errorf("ended twice with the old version: %d %s", got.status, got.body)
		}
		if got := paused(); len(got) != 1 || got[0] != ids[1] {
			t.Errorf("%v are paused, want %d", got, ids[1])
		}
		job := read("POST", path(1)+"/stop")
		if got := paused(); len(got) != 0 || job.Paused != nil {
			t.Errorf("a stopped job is paused: %v %+v", got, job.Paused)
		}

		// Somebody of another group learns of the pause of everything alone.
		root := open(t, a).mustLogin()
		if got := root.post("/executors", url.Values{"app_name": {"others"}, "title": {"others"}, "type": {"manual"}, "addresses": {"http://others:1/"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		var all pause
		c.json(201, &all, "POST", "/pauses", `{"scope":"all","strategy":"all","reason":"the move"}`)
		c.json(201, &pause{}, "POST", "/pauses", `{"scope":"group","target":1,"strategy":"all","reason":"ours alone"}`)
		if got := root.post("/users", url.Values{"name": {"olga"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"2.schedule"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		olga := open(t, a)
		olga.login("olga", testPassword)
		other := &caller{t, c.base, makeToken(t, olga, url.Values{"name": {"t"}, "scope": {"schedule"}, "days": {"7"}})}
		if got := other.json(200, &theirs, "GET", "/pauses", ""); len(theirs.Items) != 1 || theirs.Items[0].ID != all.ID {
			t.Errorf("the other sees %s", got.body)
		}
		for _, id := range []int64{made.ID, tagged.ID} {
			one := "/pauses/" + strconv.FormatInt(id, 10)
			if got := other.do("GET", one, ""); got.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", one, got.status, got.body)
			}
			if got := other.do("POST", one+"/end", ""); got.status != http.StatusNotFound {
				t.Errorf("end %s: %d %s", one, got.status, got.body)
			}
		}
	})
}
