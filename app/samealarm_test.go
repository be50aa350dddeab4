package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

func TestAnAlarmChannelIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_alarm_channel", "punctual_alarm_route")
		var job, second struct{ ID int64 }
		u.c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h"}`)
		u.c.json(201, &second, "POST", "/alarms/channels", `{"name":"the second","kind":"slack","url":"http://127.0.0.1:1/"}`)
		kinds := make([]string, len(alarm.Kinds()))
		for i, k := range alarm.Kinds() {
			kinds[i] = string(k.Kind)
		}
		often(t, func(r *rapid.T) bool {
			kind := rapid.SampledFrom(kinds).Draw(r, "kind")
			sent := map[string]any{"name": oddLine(64).Draw(r, "name"), "kind": kind}
			maybe(r, sent, "every_job", anyOf(true, false))
			maybe(r, sent, "enabled", anyOf(true, false))
			maybe(r, sent, "language", anyOf("", "en", "zh-CN"))
			for _, name := range []string{"quiet_from", "quiet_to"} {
				maybe(r, sent, name, anyOf("", "00:00", "22:00", "07:05"))
			}
			maybe(r, sent, "quiet_mode", anyOf("queue", "count"))
			maybe(r, sent, "subject", oddLine(200))
			maybe(r, sent, "text", odd())
			if kind == "mail" {
				sent["host"], sent["from"] = rapid.SampledFrom([]string{"smtp.example.com", " 127.0.0.1 "}).Draw(r, "host"), rapid.SampledFrom([]string{"a@example.com", `"Punctual, the \"one\"" <a@example.com>`, "准时 <a@example.com>"}).Draw(r, "from")
				maybe(r, sent, "port", anyOf(1, 25, 65535))
				maybe(r, sent, "security", anyOf("starttls", "tls", "none"))
				maybe(r, sent, "skip_verify", anyOf(true, false))
				maybe(r, sent, "recipients", anyOf([]string{}, []string{`"Smith, Ann" <ann@example.com>`, "b@example.com", "B@EXAMPLE.com"}, []string{`"x;y"@example.com`}, []string{`"a,b"@example.com`}))
				maybe(r, sent, "for_jobs", anyOf(false))
				if rapid.Bool().Draw(r, "signs in") {
					sent["username"], sent["password"] = rapid.SampledFrom([]string{"ann", " a b ", "é\"<"}).Draw(r, "username"), " p w "
				}
			} else {
				sent["url"], sent["secret"] = "http://127.0.0.1:1/?token=a b", " s "
				maybe(r, sent, "chat", oddLine(128))
				maybe(r, sent, "template", anyOf("", " ", "{\"text\": {{title}}}", "{\n \"text\":\r\n{{title}} }\n", "\n\n{\"a\":{{text}}}"))
				maybe(r, sent, "host", anyOf("", "left.example.com"))
				maybe(r, sent, "recipients", anyOf([]string{}, []string{"b@example.com"}))
			}
			ch, ok := u.make(r, "POST", "/alarms/channels", sent)
			if !ok {
				return false
			}
			defer ch.delete()
			ch.same("nothing")
			id := idOf(ch.was)
			late := ch.form("/alarms/"+id+"/edit", "/alarms/"+id)
			ch.patched("kind", "every_job")
			ch.posted("/alarms/"+id, late)

			// A rule that leads to it.
			if routes := ch.was["routes"].([]any); len(routes) > 0 { // for every job
				at := idOf(routes[0].(map[string]any))
				ch.posted("/alarms/"+id+"/routes/"+at, ch.form("/alarms/"+id+"/routes/"+at+"/edit", "/alarms/"+id+"/routes/"+at))
			}
			rule := map[string]any{"scope": "job", "scope_id": job.ID}
			if rapid.Bool().Draw(r, "of a group") {
				rule = map[string]any{"scope": "group", "scope_id": 1}
			}
			if rapid.Bool().Draw(r, "with causes") {
				rule["causes"] = rapid.SliceOfN(rapid.SampledFrom([]string{"deadline", "misfire", "failed", "recovered", "failed"}), 1, 4).Draw(r, "causes")
			}
			maybe(r, rule, "escalate_after_minutes", anyOf(0, 1, 10080))
			maybe(r, rule, "escalate_to", anyOf(second.ID))
			routed, ok := u.make(r, "POST", "/alarms/channels/"+id+"/routes", rule, ch.path)
			if !ok {
				return true
			}
			routes := routed.was["routes"].([]any)
			last := routes[len(routes)-1].(map[string]any)
			at := idOf(last)
			late = routed.form("/alarms/"+id+"/routes/"+at+"/edit", "/alarms/"+id+"/routes/"+at)
			body := map[string]any{"scope": last["scope"], "scope_id": last["scope_id"], "causes": last["causes"], "escalate_after_minutes": last["escalate_after_minutes"]}
			if to := last["escalate_to"].(float64); to > 0 {
				body["escalate_to"] = to
			}
			whole := *routed
			whole.path += "/routes/" + at
			whole.send("PUT", body)
			routed.same("PUT of the rule")
			routed.posted("/alarms/"+id+"/routes/"+at, late)
			return true
		})
	})
}

// TestTheAuditLogTellsWhatIsSecretOfAChannel is given anew or taken away, and nothing of it; and what a rule was before.
func TestTheAuditLogTellsWhatIsSecretOfAChannel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		var ch struct {
			ID     int64
			Routes []struct{ ID int64 }
		}
		c.json(201, &ch, "POST", "/alarms/channels", `{"name":"ops","kind":"dingtalk","url":"http://127.0.0.1:1/a","secret":"hush-1","every_job":true}`)
		at := fmt.Sprintf("/alarms/channels/%d", ch.ID)
		for _, change := range []struct{ body, after string }{
			{`{"url":"http://127.0.0.1:1/b"}`, `{"given":"url"}`},
			{`{"secret":"hush-2"}`, `{"given":"secret"}`},
			{`{"url":"http://127.0.0.1:1/b","secret":"hush-2","name":"ops 2"}`, `{"name":"ops 2"}`}, // as they were
			{`{"secret":""}`, `{"removed":"secret"}`},
		} {
			c.json(200, &struct{}{}, "PATCH", at, change.body)
			if _, after := auditOf(t, a, manage.ObjectChannel); after != change.after {
				t.Errorf("%s: the audit log says %s", change.body, after)
			}
		}
		var mail struct{ ID int64 }
		c.json(201, &mail, "POST", "/alarms/channels", `{"name":"mail","kind":"mail","host":"127.0.0.1","from":"a@example.com","username":"ann","password":"hush"}`)
		c.json(200, &struct{}{}, "PATCH", fmt.Sprintf("/alarms/channels/%d", mail.ID), `{"username":"bob","skip_verify":true}`)
		if before, after := auditOf(t, a, manage.ObjectChannel); !strings.Contains(after, `"username":"bob"`) || !strings.Contains(before, `"skip_verify":false`) {
			t.Errorf("of the mail server: %s, %s", before, after)
		}

		// What is about a channel of a group is about the group.
		var own struct{ ID int64 }
		c.json(201, &own, "POST", "/alarms/channels", `{"name":"orders","kind":"slack","url":"http://127.0.0.1:1/o","group_id":1}`)
		at1 := fmt.Sprintf("/alarms/channels/%d", own.ID)
		c.json(201, &struct{}{}, "POST", at1+"/routes", `{"scope":"all","causes":["lost"]}`)
		c.json(200, &struct{}{}, "PATCH", at1, `{"name":"orders 2"}`)
		c.json(200, &struct{}{}, "DELETE", at1, "")
		var log struct{ Items []struct{ Action string } }
		if c.json(200, &log, "GET", "/audit?object_kind=channel&group_id=1", ""); len(log.Items) != 4 {
			t.Errorf("the audit log has %+v of the channel of a group", log.Items)
		}

		rule := fmt.Sprintf("/alarms/%d/routes/%d", ch.ID, ch.Routes[0].ID)
		late := formTo(t, root.get(rule+"/edit").document(t), rule)
		c.json(200, &ch, "PUT", fmt.Sprintf("%s/routes/%d", at, ch.Routes[0].ID), `{"scope":"all","causes":["lost"]}`, "If-Match", "*")
		if before, after := auditOf(t, a, manage.ObjectChannel); !strings.Contains(before, "failed") || after != `{"causes":"lost"}` {
			t.Errorf("of the rule: %s, %s", before, after)
		}
		if got := root.post(rule, late); got.status != http.StatusUnprocessableEntity || got.document(t).Find(`form[action="`+rule+`"]`).Length() != 1 {
			t.Errorf("a form of the rule as it was before is taken, or does not come back: %d", got.status)
		}
		if _, after := auditOf(t, a, manage.ObjectChannel); after != `{"causes":"lost"}` {
			t.Errorf("a form of the rule as it was before is taken: %s", after)
		}
	})
}
